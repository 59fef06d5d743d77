//! The cut of a sweep into blocks does not change the results.

use crate::cases::{World, settings};
use crate::runs::{How, Machines, misfit, record};
use crate::shots::Tape;
use kernels::device::accelerator::Accelerator;
use kernels::device::simd::Real;
use kernels::medium::Symmetry;
use kernels::methods::displacement::gpu::tile::{Form, Terms, Tile};

/// vec, z, rows, ahead, blocks, bulk: tiles that are not used on any device, some of them of the smallest possible
/// size.
const STRANGE_PLANES: [[usize; 6]; 6] = [
    [1, 24, 1, 1, 1, 0],
    [2, 56, 1, 2, 2, 0],
    [4, 8, 1, 1, 1, 1],
    [4, 512, 1, 4, 1, 0],
    [1, 4, 1, 3, 1, 1],
    [2, 120, 1, 3, 1, 0],
];
const STRANGE_VOLUMES: [[usize; 6]; 5] = [
    [1, 16, 8, 2, 1, 0],
    [4, 16, 4, 1, 1, 0],
    [2, 16, 1, 1, 1, 1],
    [1, 4, 2, 3, 1, 0],
    [4, 32, 8, 1, 1, 1],
];

/// A tile of sweep.cu.
fn walking([vec, z, rows, ahead, blocks, bulk]: [usize; 6]) -> Tile {
    Tile {
        form: Form::Sweep,
        vec,
        z,
        rows,
        planes: 1,
        ahead,
        blocks,
        pad: 4,
        cluster: 1,
        bulk: bulk == 1,
    }
}

/// The tiles that a machine can run.
fn fitting(terms: &Terms, tiles: Vec<Tile>) -> Vec<Tile> {
    let modern = terms.architecture >= 90;
    let fits = |t: &Tile| t.fits(terms) && (modern || !t.bulk);
    tiles.into_iter().filter(fits).collect()
}

/// The terms of a small orthorhombic run on this machine.
fn terms<T, A: Accelerator>(machines: &Machines<A>, ndim: usize) -> Terms {
    let machine = (machines.open)(0);
    let properties = machine.properties();
    Terms {
        ndim,
        double: size_of::<T>() == 8,
        symmetry: Symmetry::Orthorhombic,
        cells: 1000,
        shortest: usize::MAX,
        rows: 1 << 10,
        architecture: properties.architecture,
        clusters: properties.clusters,
        shared_bytes: properties.shared_bytes,
    }
}

/// The tiles that a run on this machine can be given; on quick machines also the tiles without bulk copies.
pub fn listed<T, A: Accelerator>(machines: &Machines<A>, ndim: usize) -> Vec<Tile> {
    let terms = terms::<T, A>(machines, ndim);
    let mut tiles = Tile::all(&terms);
    let apart = |t: &Tile| machines.quick && t.bulk && t.form != Form::Relay;
    let without: Vec<_> = tiles
        .iter()
        .filter(|t| apart(t))
        .map(|t| Tile { bulk: false, ..*t })
        .collect();
    tiles.extend(without);
    fitting(&terms, tiles)
}

/// The `k`-th choice of the listed tiles; on slow machines only one tile for each form of the kernel is tested.
pub fn turn<T, A: Accelerator>(machines: &Machines<A>, ndim: usize, k: usize) -> Tile {
    let mut tiles = listed::<T, A>(machines, ndim);
    if !machines.quick {
        let mut seen = Vec::new();
        tiles.retain(|t| {
            let new = !seen.contains(&t.form);
            seen.push(t.form);
            new
        });
    }
    // The step of 7/3 does not coincide with the periods of other choices.
    tiles[7 * k / 3 % tiles.len()]
}

/// The listed tiles and the unusual ones.
fn every<T, A: Accelerator>(machines: &Machines<A>, ndim: usize) -> Vec<Tile> {
    let strange = match ndim {
        2 => machines
            .some(STRANGE_PLANES.into_iter(), 1)
            .map(walking)
            .collect(),
        _ => machines
            .some(STRANGE_VOLUMES.into_iter(), 1)
            .map(walking)
            .collect(),
    };
    let mut tiles = listed::<T, A>(machines, ndim);
    tiles.extend(fitting(&terms::<T, A>(machines, ndim), strange));
    tiles
}

fn equal<T: Real + Default, A: Accelerator>(machines: &Machines<A>, ndim: usize, limit: f64) {
    let small = World::slender(ndim);
    let tiles = every::<T, A>(machines, ndim);
    assert!(tiles.len() > 3, "only {} tiles", tiles.len());
    let chosen = if machines.quick { &[0, 5, 7][..] } else { &[5] };
    for &k in chosen {
        let (shot, earth) = (small.shot(settings()[k]), small.medium_of());
        let of = |tile, slabs| How {
            tile: Some(tile),
            slabs,
            ..How::PLAIN
        };
        let usual: Tape<T> = record(machines, &shot, &earth, How::PLAIN);
        for &tile in &tiles {
            let slabs: [&[usize]; 2] = [&[], if ndim == 2 { &[8, 14, 24] } else { &[9, 31] }];
            for slabs in slabs {
                let far = misfit(&usual, &record(machines, &shot, &earth, of(tile, slabs)));
                assert!(
                    far < limit,
                    "{ndim}-D {:?} {tile:?} {slabs:?}: {far}",
                    settings()[k]
                );
            }
        }
    }
}

pub fn every_tile_gives_the_same_numbers<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        // The forms of the sweep add in different orders.
        equal::<f32, A>(machines, ndim, 3e-6);
        if machines.quick {
            equal::<f64, A>(machines, ndim, 1e-13);
        }
    }
}

/// Warp specialisation requires compute capability 9.0; older devices use the form `Sweep`.
#[test]
fn volumes_are_swept_by_what_the_device_can() {
    let terms = |architecture: u32, double: bool| Terms {
        ndim: 3,
        double,
        symmetry: Symmetry::Orthorhombic,
        cells: 1 << 27,
        shortest: 512,
        rows: 512,
        architecture,
        clusters: architecture >= 90,
        shared_bytes: 227 << 10,
    };
    for double in [false, true] {
        for (architecture, form) in [
            (80, Form::Sweep),
            (89, Form::Sweep),
            (90, Form::Relay),
            (100, Form::Relay),
        ] {
            let tile = Tile::choose(&terms(architecture, double)).expect("a tile fits");
            assert_eq!(
                (tile.form, tile.bulk),
                (form, architecture >= 90),
                "{architecture} {double}"
            );
        }
    }
}
