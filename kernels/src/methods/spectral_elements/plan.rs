//! Measures the speed of processors on meshes similar to the mesh of a run: a small box, for a second or two.

use std::sync::Arc;

use super::{Attenuation, PointMedium, Setup, Shot, Source, Strength, subdomains};
use crate::Error;
use crate::device::cpu::Cpu;
use crate::mesh::{Mesh, Parts};
use crate::timing::{Nothing, speed};

/// Approximate number of points of the box on processors: more than the caches hold.
const POINTS: f64 = 200_000.0;

/// Number of sources in the box, so that not all values are zero.
const SOURCES: usize = 100;

/// Measures the elements advanced per second on the processors of this machine.
pub fn calibrate<const D: usize>(setup: &Setup<D>, cpu: &Cpu) -> Result<f64, Error> {
    let shot = Shot {
        nt: 10,
        ..Shot::default()
    };
    with_box(setup, side::<D>(setup, POINTS), |setup| {
        let elements = setup.mesh.len();
        let cpu = Arc::new(cpu.another()?);
        let mut group = subdomains(cpu, setup, &shot, (std::slice::from_ref(&(0..elements)), 0..1))?;
        speed(elements * shot.nt, || group.run(&mut Nothing))
    })
}

/// Number of elements along a side of a box with about `points` points.
pub(super) fn side<const D: usize>(setup: &Setup<D>, points: f64) -> usize {
    let along = points.powf(1.0 / D as f64) / setup.basis.degree() as f64;
    (along as usize).max(2)
}

/// Passes to `work` a box of `along` elements along each side, with the medium of most elements of the mesh.
pub(super) fn with_box<const D: usize, R>(
    setup: &Setup<D>,
    along: usize,
    work: impl FnOnce(&Setup<D>) -> Result<R, Error>,
) -> Result<R, Error> {
    let region = commonest(setup);
    let (medium, speeds) = (setup.media[region].clone(), setup.speeds[region]);
    // The step is about a hundredth of the stable one, so that values stay small even with strong sources.
    let fastest = speeds[0].max(1.0);
    let (length, dt) = (1.0, 0.01 / fastest / setup.basis.degree().pow(2) as f64);
    let mesh = Mesh::new(parts::<D>(along, length))?;
    let every = mesh.len().div_ceil(SOURCES);
    let source = |element: usize| Source {
        at: mesh.centre(element),
        strength: Strength::Force([medium.density; D]),
        history: vec![1.0; 2],
    };
    let sources: Vec<_> = (0..mesh.len()).step_by(every).map(source).collect();
    let sources = if setup.is_of_fluid(region) {
        Vec::new()
    } else {
        sources
    };
    let relaxation = setup.relaxations.map(|all| (all.regions[region], all));
    let regions: Vec<_> = relaxation.iter().map(|(own, _)| *own).collect();
    let point = PointMedium {
        medium: medium.clone(),
        speeds,
        loss: None,
    };
    let points = |_: usize, _: usize, at: &[[f64; D]]| Some(vec![point.clone(); at.len()]);
    work(&Setup {
        mesh: &mesh,
        basis: setup.basis,
        media: std::slice::from_ref(&medium),
        speeds: &[speeds],
        points: setup.points.map(|_| &points as _),
        dt,
        relaxations: relaxation.map(|(_, all)| Attenuation {
            regions: &regions,
            ..all
        }),
        lumping: setup.lumping,
        sponge: None,
        pml: None,
        sources: &sources,
    })
}

/// The region with the most elements.
fn commonest<const D: usize>(setup: &Setup<D>) -> usize {
    let mut counts = vec![0usize; setup.media.len()];
    let regions = setup.mesh.regions().iter();
    regions.for_each(|region| counts[*region as usize] += 1);
    (0..counts.len())
        .max_by_key(|region| counts[*region])
        .unwrap_or(0)
}

/// A box of `along` cubes (squares) of this length along each side.
fn parts<const D: usize>(along: usize, length: f64) -> Parts<D> {
    let split = |k: usize, n: usize| -> [usize; D] { std::array::from_fn(|a| k / n.pow(a as u32) % n) };
    let join = |at: [usize; D]| at.iter().rev().fold(0, |sum, k| sum * (along + 1) + k);
    // Gmsh numbers the corners of the lower side in a circle, then the corners of the upper side.
    let corner = |k: usize| -> [usize; D] {
        let round = [[0, 0], [1, 0], [1, 1], [0, 1]][k % 4];
        std::array::from_fn(|a| if a < 2 { round[a] } else { k / 4 })
    };
    let element = |element: usize| {
        let at = split(element, along);
        (0..1 << D).map(move |k| {
            let corner = corner(k);
            join(std::array::from_fn(|a| at[a] + corner[a])) as i32
        })
    };
    let count = along.pow(D as u32);
    let nodes = 0..(along + 1).pow(D as u32);
    Parts {
        nodes: nodes
            .map(|k| split(k, along + 1).map(|at| at as f64 * length))
            .collect(),
        per_element: 1 << D,
        elements: (0..count).flat_map(element).collect(),
        regions: vec![0; count],
        absorbing: Vec::new(),
        free: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Basis;
    use crate::mesh::step::{Law, Medium};
    use crate::methods::spectral_elements::{Grain, Lumping, Relaxation};

    fn timed<const D: usize>(law: Law, vs: f64, losses: bool, grain: Grain) {
        let mesh = Mesh::<D>::new(parts(2, 30.0)).unwrap();
        let basis = Basis::new(3).unwrap();
        let relaxation = [Relaxation::constant([80.0, 120.0], [1.0, 10.0], 3.0)];
        let setup = Setup {
            mesh: &mesh,
            basis: &basis,
            media: &[Medium { density: 2000.0, law }],
            speeds: &[[3000.0, vs]],
            points: None,
            dt: 1e-3,
            relaxations: losses.then_some(Attenuation {
                grain,
                ..Attenuation::from(&relaxation[..])
            }),
            lumping: Lumping::Matrix,
            sponge: None,
            pml: None,
            sources: &[],
        };
        let rate = with_box(&setup, 3, |small| {
            assert_eq!(small.mesh.len(), 3usize.pow(D as u32));
            assert!(small.dt <= small.bound().limit);
            calibrate(small, &Cpu::new(1)?)
        });
        let rate = rate.unwrap();
        assert!(rate > 100.0 && rate < 1e9, "{rate} elements per second");
    }

    #[test]
    fn boxes_of_all_kinds_are_timed() {
        let rock = || Law::Isotropic { lambda: 6e9, mu: 6e9 };
        timed::<2>(rock(), 1732.0, false, Grain::Fine);
        timed::<2>(rock(), 1732.0, true, Grain::Coarse);
        timed::<3>(rock(), 1732.0, true, Grain::Fine);
        timed::<2>(Law::Fluid(1.8e10), 0.0, false, Grain::Fine);
    }
}
