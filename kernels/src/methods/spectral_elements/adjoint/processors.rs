//! Adjoints on processors: a single engine performs the forward and the adjoint run alternately.

use crate::methods::spectral_elements::Number;
use std::ops::Range;
use std::sync::Arc;

use super::super::boundary::FacePoint;
use super::super::cut::Cut;
use super::super::points::Placed;
use super::super::{Engine, Setup, Shot};
use super::correlate::Products;
use super::machine::{Machine, Seen};
use super::state::{Kept, Sources, State};
use super::{TOGETHER, Widths};
use crate::Error;
use crate::device::cpu::Cpu;
use crate::mesh::Locator;
use crate::time_loop::Sampler;

/// The engine of an adjoint, with the recorded steps and the sums.
pub struct Processors<const D: usize> {
    pub(super) engine: Engine<D>,
    faces: Vec<FacePoint<D>>,
    /// Products of solids and of fluids.
    products: [Products; 2],
    face_sums: Vec<[f64; 2]>,
    marks: Vec<State<D>>,
    recorded: Vec<Kept<D>>,
    /// The adjoint run while the forward run occupies the engine.
    reversed: Option<(State<D>, Sources<D>)>,
    /// Whether each recorded element is fluid, and its points.
    watched: Vec<(bool, Vec<u32>)>,
    largest: [Number; 2],
}

impl<const D: usize> Processors<D> {
    /// An engine for the whole mesh, with sums of `widths` products per point.
    ///
    /// # Errors
    /// Returns an error for a source or receiver outside the mesh.
    pub(super) fn new(
        cpu: Cpu,
        setup: &Setup<D>,
        shot: &Shot<D>,
        (faces, widths): (Vec<FacePoint<D>>, Widths),
    ) -> Result<Self, Error> {
        let cut = Cut::new(setup, std::slice::from_ref(&(0..setup.mesh.len())))?;
        let locator = Locator::new(setup.mesh);
        let engine = Engine::part(Arc::new(cpu), setup, shot, (&cut, &locator, 0))?;
        let points = setup.basis.len().pow(D as u32);
        let fluids = engine.fluid.as_ref().map_or(0, |fluid| fluid.blocks.len());
        Ok(Self {
            products: [
                Products::new(engine.blocks.len(), points, widths.solid),
                Products::new(fluids, points, widths.fluid),
            ],
            face_sums: vec![[0.0; 2]; faces.len()],
            faces,
            engine,
            marks: Vec::new(),
            recorded: Vec::new(),
            reversed: None,
            watched: Vec::new(),
            largest: [0.0; 2],
        })
    }

    /// Adds the products of a recorded step with the adjoint wavefield in the engine; `before` is the acceleration of
    /// the latter one step earlier.
    fn correlate(&mut self, slot: usize, before: &[[Number; D]]) {
        let (engine, kept, [solid, fluid]) = (&self.engine, &self.recorded[slot], &mut self.products);
        engine.in_blocks((kept, before, solid));
        engine.in_fluid_blocks((&kept.second, &mut fluid.sums));
        for (p, sums) in self.faces.iter().zip(&mut self.face_sums) {
            let point = p.point as usize;
            let fluid = engine.fluid.as_ref();
            if let Some(fluid) = fluid.filter(|fluid| fluid.homes.find(p.element as usize).is_some()) {
                sums[0] += f64::from(kept.second[point][0]) * f64::from(fluid.rate[point][0]);
                continue;
            }
            let (u, v) = (
                kept.displacement[point].map(f64::from),
                engine.velocity[point].map(f64::from),
            );
            let dot = |a: [f64; D], b: [f64; D]| (0..D).map(|c| a[c] * b[c]).sum::<f64>();
            let along = dot(u, p.normal) * dot(v, p.normal);
            sums[0] += along;
            sums[1] += dot(u, v) - along;
        }
    }

    /// The values of the adjoint wavefield at the recorded elements of the engine.
    fn look(&self, values: &mut Vec<Number>) {
        values.clear();
        for (is_fluid, points) in &self.watched {
            match (&self.engine.fluid, is_fluid) {
                (Some(fluid), true) => values.extend(points.iter().map(|p| fluid.second[*p as usize][0])),
                _ => values.extend(points.iter().flat_map(|p| self.engine.displacement[*p as usize])),
            }
        }
    }

    /// Swaps the forward and the adjoint run.
    fn swap(&mut self) {
        if let Some((state, sources)) = &mut self.reversed {
            state.swap(&mut self.engine);
            sources.swap(&mut self.engine);
        }
    }
}

impl<const D: usize> Machine<D> for Processors<D> {
    fn cpu(&self) -> &Cpu {
        &self.engine.cpu
    }

    fn sizes(&self) -> [usize; 2] {
        [State::bytes(&self.engine), Kept::bytes(&self.engine)]
    }

    fn bytes(&self) -> usize {
        self.engine.bytes()
            + self.sizes()[0]
            + self.products.iter().map(Products::bytes).sum::<usize>()
            + size_of_val(&self.faces[..])
            + size_of_val(&self.face_sums[..])
    }

    fn next_shot(&mut self, setup: &Setup<D>, shot: &Shot<D>) -> Result<(), Error> {
        self.engine.next_shot(setup, shot, &Locator::new(setup.mesh))
    }

    fn receivers_in_fluids(&self) -> Vec<(usize, u32)> {
        let receivers = self.engine.recording.receivers.iter();
        let in_fluids = receivers.filter(|(_, receiver)| receiver.is_in_fluid());
        in_fluids
            .map(|(number, receiver)| (*number, receiver.element))
            .collect()
    }

    fn watch(&mut self, elements: &[(u32, bool)]) -> Result<(), Error> {
        let of = |(element, is_fluid): &(u32, bool)| (*is_fluid, self.engine.points_of(*element as usize));
        self.watched = elements.iter().map(of).collect();
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        for products in &mut self.products {
            products.flush();
            products.clear();
        }
        self.face_sums.fill([0.0; 2]);
        self.largest = [0.0; 2];
        self.reversed = None;
        self.restore(0)
    }

    fn save(&mut self) -> Result<(), Error> {
        self.marks.push(State::of(&self.engine));
        Ok(())
    }

    fn restore(&mut self, mark: usize) -> Result<(), Error> {
        self.marks.truncate(mark);
        let state = self.marks.last().cloned();
        let mut state = state.unwrap_or_else(|| State::rest(&self.engine));
        state.swap(&mut self.engine);
        Ok(())
    }

    fn step(&mut self, slot: Option<usize>) -> Result<(), Error> {
        self.engine.step();
        if let Some(slot) = slot {
            if self.recorded.len() <= slot {
                self.recorded.resize(slot + 1, Kept::default());
            }
            self.recorded[slot].take(&self.engine);
        }
        Ok(())
    }

    fn sample(&mut self, records: &mut Vec<Number>) -> Result<(), Error> {
        let recording = &self.engine.recording;
        let from = records.len();
        records.resize(from + recording.count * recording.quantity.components(D), 0.0);
        self.engine.traces(&mut records[from..])
    }

    fn finish_records(&mut self, _: &mut Vec<Number>) -> Result<(), Error> {
        Ok(())
    }

    fn note_largest(&mut self) -> Result<(), Error> {
        let largest = |most: Number, all: &[Number]| all.iter().fold(most, |most, x| most.max(x.abs()));
        self.largest[0] = largest(self.largest[0], self.engine.displacement.as_flattened());
        if let Some(fluid) = &self.engine.fluid {
            self.largest[1] = largest(self.largest[1], fluid.second.as_flattened());
        }
        Ok(())
    }

    fn largest(&mut self) -> Result<[Number; 2], Error> {
        Ok(self.largest)
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        self.engine.first_non_finite()
    }

    fn turn(&mut self, setup: &Setup<D>, of_pressure: bool) -> Result<(), Error> {
        let (engine, locator) = (&self.engine, Locator::new(setup.mesh));
        let homes = (&engine.homes, engine.blocks.len());
        let mut sources = Sources {
            solid: vec![Vec::new(); engine.blocks.len()],
            fluid: vec![Vec::new(); engine.fluid.as_ref().map_or(0, |f| f.blocks.len())],
        };
        match (of_pressure, &engine.fluid) {
            (true, Some(fluid)) => {
                let homes = (&fluid.homes, fluid.blocks.len());
                sources.fluid = Placed::of_pressure(setup, &locator, homes)?;
            }
            (true, None) => {}
            _ => sources.solid = Placed::in_solid(setup, &locator, homes)?,
        }
        self.reversed = Some((State::transposed(engine), sources));
        Ok(())
    }

    fn back(&mut self, steps: Range<usize>, first: usize, seen: &mut Seen<'_>) -> Result<bool, Error> {
        self.swap();
        let memories = self.engine.memories.iter().flatten();
        let follows_before = memories.clone().any(|memory| !memory.follows_now());
        let (mut before, mut values) = (Vec::new(), Vec::new());
        for step in steps.rev() {
            if follows_before {
                before.clone_from(&self.engine.acceleration);
            }
            self.engine.step();
            self.correlate(step - first, &before);
            self.look(&mut values);
            seen(step, &values);
            if step.is_multiple_of(TOGETHER) {
                self.products.iter_mut().for_each(Products::flush);
            }
        }
        let finite = self.engine.first_non_finite()?.is_none();
        self.swap();
        Ok(finite)
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.products.iter_mut().for_each(Products::flush);
        self.marks = Vec::new();
        self.reversed = None;
        Ok(())
    }

    fn products(&self, element: usize, sums: &mut Vec<f64>) -> usize {
        sums.clear();
        let (engine, [solid, fluid]) = (&self.engine, &self.products);
        let of_solid = engine.homes.find(element).map(|home| (solid, home));
        let of_fluid = || Some((fluid, engine.fluid.as_ref()?.homes.find(element)?));
        let Some((products, home)) = of_solid.or_else(of_fluid) else {
            return 0;
        };
        let points = engine.basis.len().pow(D as u32);
        (0..points).for_each(|local| sums.extend(products.at(home, local)));
        sums.len() / points
    }

    fn face_sums(&self) -> &[[f64; 2]] {
        &self.face_sums
    }
}
