//! Linearised runs on processors: both wavefields use one engine alternately.

use crate::methods::spectral_elements::Number;
use rayon::prelude::*;

use super::super::Engine;
use super::super::assembly::{Homes, Stiffness, place};
use super::super::cpu::by_length;
use super::super::element::FluidForces;
use super::super::lanes::{LANES, Lanes};
use super::super::scratch::Scratch;
use super::super::shape::Tables;
use super::change::{Changes, FaceChange};
use super::linearised::Linearises;
use super::machine::Machine;
use super::processors::Processors;
use super::scattering::{InSolid, inertia};
use super::state::{Sources, State};
use crate::Error;
use crate::device::cpu::flushed;

/// Perturbations of masses and dampings at the points of elements, `[block][lane][point]`.
type Masses = Vec<[Number; 2]>;

/// A perturbation of the medium in the layout that the engine uses.
struct Scattering<const D: usize> {
    /// Perturbations of the moduli in the blocks of solids.
    moduli: Vec<Stiffness>,
    /// Relative perturbations of the contribution of memory variables, `[block][point]`; empty without attenuation.
    relative: Vec<Vec<[Lanes; 2]>>,
    /// Perturbations of one over the density of fluids.
    lightness: Vec<Stiffness>,
    /// Perturbations of masses and dampings in solids and in fluids.
    masses: [Masses; 2],
    /// Absorbing faces: whether the element is fluid, and the index of the force in the added forces.
    faces: Vec<(bool, usize, FaceChange<D>)>,
}

/// The forces that a perturbation of the medium adds to the points of elements, of solids and of fluids.
struct Added<const D: usize> {
    solid: Vec<[Number; D]>,
    fluid: Vec<[Number; 1]>,
}

/// A linearised run on processors.
pub struct LinearisedRun<const D: usize> {
    scattering: Scattering<D>,
    added: Added<D>,
    /// The wavefield outside the engine, and its sources.
    state: State<D>,
    sources: Sources<D>,
    /// The acceleration of the previous step; empty if memory variables are driven by the strain of the step itself.
    before: Vec<[Number; D]>,
}

impl<const D: usize> Scattering<D> {
    /// A perturbation of zero.
    fn none(engine: &Engine<D>, changes: &Changes<'_, '_, D>) -> Self {
        let points = engine.basis.len().pow(D as u32);
        let blocks = engine.fluid.as_ref().map_or(&[][..], |fluid| &fluid.blocks);
        Self {
            moduli: vec![
                match changes.has_constants() {
                    true => Stiffness::Anisotropic(vec![[Lanes::ZERO; 21]; points]),
                    false => Stiffness::Isotropic(vec![[Lanes::ZERO; 2]; points]),
                };
                engine.blocks.len()
            ],
            relative: match changes.setup.relaxations {
                Some(_) => vec![vec![[Lanes::ZERO; 2]; points]; engine.blocks.len()],
                None => Vec::new(),
            },
            lightness: vec![Stiffness::Fluid(vec![[Lanes::ZERO; 1]; points]); blocks.len()],
            masses: [engine.blocks.len(), blocks.len()].map(|count| vec![[0.0; 2]; count * LANES * points]),
            faces: Vec::new(),
        }
    }

    fn new(engine: &Engine<D>, changes: &Changes<'_, '_, D>) -> Self {
        let points = engine.basis.len().pow(D as u32);
        let mut own = Self::none(engine, changes);
        for element in 0..changes.setup.mesh.len() {
            let Some((fluid, home)) = home(engine, element) else {
                continue;
            };
            let change = changes.of_element(element);
            let ((block, lane), width) = (home, change.moduli.len() / points);
            for local in 0..points {
                own.masses[usize::from(fluid)][place(home, local, points)] = change.masses[local];
                let moduli = match fluid {
                    true => &mut own.lightness[block],
                    false => &mut own.moduli[block],
                };
                let lanes = match moduli {
                    Stiffness::Isotropic(all) => &mut all[local][..],
                    Stiffness::Anisotropic(all) => &mut all[local][..],
                    Stiffness::Fluid(all) => &mut all[local][..],
                };
                assert!(lanes.len() == width, "changes of another law");
                let numbers = lanes.iter_mut().zip(&change.moduli[local * width..]);
                numbers.for_each(|(lanes, x)| lanes.0[lane] = *x);
                if let Some(losses) = change.losses.get(local) {
                    let own = &mut own.relative[block][local];
                    (0..2).for_each(|k| own[k].0[lane] = losses[k]);
                }
            }
        }
        let of_face = |face: FaceChange<D>| {
            let (fluid, home) = home(engine, face.element)?;
            Some((fluid, place(home, face.local, points), face))
        };
        own.faces = changes.of_faces().into_iter().filter_map(of_face).collect();
        own
    }
}

/// Whether an element is fluid, and its block and lane.
fn home<const D: usize>(engine: &Engine<D>, element: usize) -> Option<(bool, (usize, usize))> {
    let of_fluid = || {
        let homes: &Homes = &engine.fluid.as_ref()?.homes;
        Some((true, homes.find(element)?))
    };
    let solid = engine.homes.find(element).map(|home| (false, home));
    solid.or_else(of_fluid)
}

impl<const D: usize> Added<D> {
    /// Adds the forces of the perturbed absorbing faces, which are proportional to the velocity in an engine.
    fn add_faces(&mut self, engine: &Engine<D>, faces: &[(bool, usize, FaceChange<D>)]) {
        for (in_fluid, place, face) in faces {
            if *in_fluid {
                let rate = engine
                    .fluid
                    .as_ref()
                    .map_or(0.0, |fluid| fluid.rate[face.point][0]);
                self.fluid[*place][0] -= face.damping[0] * rate;
                continue;
            }
            let (v, n) = (&engine.velocity[face.point], &face.normal);
            let normal: Number = v.iter().zip(n).map(|(v, n)| v * n).sum();
            let force = &mut self.solid[*place];
            for c in 0..D {
                let along = normal * n[c];
                force[c] -= face.damping[0] * along + face.damping[1] * (v[c] - along);
            }
        }
    }
}

/// The sources of the linearised run, all of which are in fluids.
fn sources<const D: usize>(engine: &Engine<D>, changes: &Changes<'_, '_, D>) -> Sources<D> {
    let mut sources = Sources {
        solid: vec![Vec::new(); engine.blocks.len()],
        fluid: Vec::new(),
    };
    let Some(fluid) = &engine.fluid else {
        return sources;
    };
    sources.fluid.clone_from(&fluid.sources);
    for (block, sources) in fluid.blocks.iter().zip(&mut sources.fluid) {
        for source in sources {
            changes.change_weights(block.elements[source.lane] as usize, &mut source.weights);
        }
    }
    sources
}

impl<const D: usize> Linearises<D> for Processors<D> {
    type Run = LinearisedRun<D>;

    fn linearise(&mut self, changes: &Changes<'_, '_, D>) -> Result<Self::Run, Error> {
        State::rest(&self.engine).swap(&mut self.engine);
        let scattering = Scattering::new(&self.engine, changes);
        Ok(LinearisedRun {
            added: Added {
                solid: vec![[0.0; D]; scattering.masses[0].len()],
                fluid: vec![[0.0; 1]; scattering.masses[1].len()],
            },
            scattering,
            state: State::rest(&self.engine),
            sources: sources(&self.engine, changes),
            before: Vec::new(),
        })
    }

    fn step_linearised(&mut self, run: &mut Self::Run) -> Result<(), Error> {
        let mut memories = self.engine.memories.iter().flatten();
        if memories.any(|memory| !memory.follows_now()) {
            run.before.clone_from(&self.engine.acceleration);
        }
        self.engine.step();
        self.engine
            .scattered((&run.scattering, &run.before, &mut run.added));
        run.added.add_faces(&self.engine, &run.scattering.faces);
        self.turn_to_linearised(run)?;
        self.engine.step_with(&run.added.solid, &run.added.fluid);
        self.turn_to_linearised(run)
    }

    fn turn_to_linearised(&mut self, run: &mut Self::Run) -> Result<(), Error> {
        run.state.swap(&mut self.engine);
        run.sources.swap(&mut self.engine);
        Ok(())
    }

    fn linearised_bytes(&self, constants: bool) -> usize {
        let engine = &self.engine;
        let points = engine.basis.len().pow(D as u32);
        let fluids = engine.fluid.as_ref().map_or(0, |fluid| fluid.blocks.len());
        let moduli = if constants { 21 } else { 2 };
        let solid = engine.blocks.len() * points * LANES * (4 * moduli + 8 + 4 * D);
        let fluid = fluids * points * LANES * 16;
        engine.bytes() + Machine::sizes(self)[0] + solid + fluid
    }
}

/// A perturbation of the medium, the acceleration of the previous step, and the memory of the forces.
type Scattered<'a, const D: usize> = (&'a Scattering<D>, &'a [[Number; D]], &'a mut Added<D>);

impl<const D: usize> Engine<D> {
    /// The forces of a perturbation of the medium for the wavefield of this engine.
    fn scattered(&self, step: Scattered<'_, D>) {
        compiled_here!(&self: D in [2, 3], (Engine<D>, scattered_by_length(step: Scattered<'_, D>)));
    }

    fn scattered_by_length(&self, step: Scattered<'_, D>) {
        by_length!(self, scattered_of(step));
    }

    fn scattered_of<const N: usize>(&self, (scattering, before, added): Scattered<'_, D>) {
        let tables = Tables::<N>::new(&self.basis);
        let (arch, points, square) = (self.cpu.arch(), N.pow(D as u32), (self.dt * self.dt) as Number);
        let places = LANES * points;
        let numbers = 0..self.blocks.len();
        let blocks = numbers.into_par_iter().zip(&self.blocks).zip(&self.memories);
        let changes = scattering.moduli.par_iter();
        let changes = changes.zip(scattering.masses[0].par_chunks(places));
        let all = added.solid.par_chunks_mut(places).zip(blocks).zip(changes);
        self.cpu.install(|| {
            all.for_each_init(
                || Scratch::<D>::new(points, N * N),
                |scratch, ((out, ((number, block), memory)), (change, masses))| {
                    flushed(|| {
                        arch.dispatch(InSolid {
                            block,
                            tables: &tables,
                            change,
                            relative: scattering.relative.get(number).map_or(&[], |relative| relative),
                            displacement: &self.displacement,
                            memory: memory.as_ref().map(|memory| (memory, before, square)),
                            scratch,
                            out: out.as_flattened_mut(),
                        });
                        inertia(block, masses, (&self.acceleration, &self.velocity), out);
                    });
                },
            );
        });
        let Some(fluid) = &self.fluid else { return };
        let changes = scattering.lightness.par_iter();
        let changes = changes.zip(scattering.masses[1].par_chunks(places));
        let all = added.fluid.par_chunks_mut(places).zip(&fluid.blocks).zip(changes);
        self.cpu.install(|| {
            all.for_each_init(
                || Scratch::<1>::new(points, N * N),
                |scratch, ((out, block), (stiffness, masses))| {
                    flushed(|| {
                        arch.dispatch(FluidForces {
                            block,
                            tables: &tables,
                            stiffness,
                            potential: &fluid.potential,
                            damped: None,
                            scratch,
                            out: out.as_flattened_mut(),
                        });
                        inertia(block, masses, (&fluid.second, &fluid.rate), out);
                    });
                },
            );
        });
    }
}
