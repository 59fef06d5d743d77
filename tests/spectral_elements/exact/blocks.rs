//! Blocks of elements that are bent by any function, and runs on them.

use super::shots::spoil;
use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Medium, steps};
use kernels::mesh::{Basis, Locator, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{
    Attenuation, Engine, Grain, Lumping, Pml, Quantity, Relaxation, Setup, Source, Sponge,
};

/// A block of `counts` elements: node k (counted along each axis) is at the position that `place` gives, an element
/// whose first node is k has the region that `region` gives, and the outer faces for which `absorbs` is true, by axis
/// and side, are absorbing.
pub fn block<const D: usize>(
    counts: [usize; D],
    place: impl Fn([f64; D]) -> [f64; D],
    region: impl Fn([usize; D]) -> i32,
    absorbs: impl Fn(usize, bool) -> bool,
) -> Mesh<D> {
    let split = |mut k: usize, n: [usize; D]| -> [usize; D] {
        std::array::from_fn(|c| {
            let at = k % n[c];
            k /= n[c];
            at
        })
    };
    let sizes = counts.map(|n| n + 1);
    let mut parts = Parts {
        nodes: (0..sizes.iter().product())
            .map(|k| place(split(k, sizes).map(|i| i as f64)))
            .collect(),
        per_element: Order::Linear.nodes::<D>(),
        ..Parts::default()
    };
    for element in 0..counts.iter().product() {
        let first = split(element, counts);
        for corner in 0..parts.per_element {
            let code = cell::place::<D>(corner);
            let mut number = 0;
            for c in (0..D).rev() {
                number = number * sizes[c] + first[c] + usize::from(code[c] / 2);
            }
            parts.elements.push(number as i32);
        }
        parts.regions.push(region(first));
        for number in 0..cell::faces::<D>() {
            let face = cell::face::<D>(number);
            let end = if face.high { counts[face.axis] - 1 } else { 0 };
            if first[face.axis] == end && absorbs(face.axis, face.high) {
                parts.absorbing.push([element as i32, number as i32]);
            }
        }
    }
    Mesh::new(parts).unwrap()
}

/// A mesh of degree 4 with the media of its regions, and a step that is a fraction of the largest step that is
/// certainly stable.
pub struct Body<const D: usize> {
    pub mesh: Mesh<D>,
    pub basis: Basis,
    pub media: Vec<Medium>,
    pub speeds: Vec<[f64; 2]>,
    pub dt: f64,
    pub relaxations: Option<Vec<Relaxation>>,
    pub grain: Grain,
    pub sponge: Option<Sponge>,
    pub pml: Option<Pml<D>>,
}

impl<const D: usize> Body<D> {
    /// Absorbing faces use the P and S speeds of the regions.
    pub fn new(mesh: Mesh<D>, media: Vec<Medium>, speeds: Vec<[f64; 2]>, share: f64) -> Self {
        let basis = Basis::new(4).unwrap();
        let bound = steps(&mesh, &basis, &media)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        Self {
            mesh,
            basis,
            media,
            speeds,
            dt: share * bound,
            relaxations: None,
            grain: Grain::Fine,
            sponge: None,
            pml: None,
        }
    }

    pub fn setup<'a>(&'a self, sources: &'a [Source<D>]) -> Setup<'a, D> {
        Setup {
            mesh: &self.mesh,
            basis: &self.basis,
            media: &self.media,
            speeds: &self.speeds,
            points: None,
            dt: self.dt,
            relaxations: self.relaxations.as_deref().map(|regions| Attenuation {
                grain: self.grain,
                ..Attenuation::from(regions)
            }),
            lumping: Lumping::Matrix,
            sponge: self.sponge,
            pml: self.pml.as_ref(),
            sources,
        }
    }

    pub fn engine(&self, sources: &[Source<D>]) -> Engine<D> {
        Engine::new(Cpu::new(1).unwrap(), &self.setup(sources)).unwrap()
    }

    /// The records at some points in each of `nt` steps: `[point][step]`, with step n at time n dt.
    pub fn records(
        &self,
        source: Source<D>,
        places: &[[f64; D]],
        (quantity, nt): (Quantity, usize),
    ) -> Vec<Vec<[f64; D]>> {
        let sources = [source];
        let (mut engine, locator) = (self.engine(&sources), Locator::new(&self.mesh));
        let receivers: Vec<_> = places
            .iter()
            .map(|at| {
                engine
                    .receiver("it", *at, &self.setup(&sources), &locator)
                    .unwrap()
            })
            .collect();
        let mut records = vec![Vec::with_capacity(nt); places.len()];
        for _ in 0..nt {
            engine.step();
            for (record, receiver) in records.iter_mut().zip(&receivers) {
                record.push(engine.record(receiver, quantity).map(f64::from));
            }
        }
        // If `SPOIL` requests it, the records are replaced.
        let spoil = |record| spoil::spoiled(record, ([f64::NAN; D], [0.0; D]), &spoil::ALL);
        let records: Vec<_> = records.into_iter().map(spoil).collect();
        for record in &records {
            assert_eq!(record.len(), nt, "there must be a record of every step");
        }
        records
    }
}
