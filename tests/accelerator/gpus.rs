//! Tests on the GPUs of this machine. Slabs are dealt to the GPUs in turn, so that several slabs also share one GPU.

use crate::cases::{World, difference, settings};
use crate::real;
use crate::runs::{How, Machines, prepare, record, skip};
use crate::shots::{Tape, medium, shot};
use crate::tiles::listed;
use kernels::device::accelerator::{Accelerator, Properties};
use kernels::device::cuda::{Cuda, probe};
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness, Symmetry};
use kernels::methods::displacement::gpu::tile::Tile;
use kernels::methods::displacement::{Shot, Snapshots};
use std::sync::{Arc, LazyLock};

/// The contexts of the devices, kept open while tests open and close devices; empty if there is no GPU.
static HELD: LazyLock<Vec<Cuda>> = LazyLock::new(|| match real::gpus("every test of gpus") {
    0 => Vec::new(),
    _ => {
        let properties = probe().expect("devices were found a moment ago");
        let open = |device: &Properties| Cuda::open(device.number).expect("a device that was found opens");
        properties.iter().map(open).collect()
    }
});

fn machines(_test: &str) -> Option<Machines<Cuda>> {
    let open = |k: usize| {
        let number = HELD[k % HELD.len()].properties().number;
        Arc::new(Cuda::open(number).expect("a device that was found opens"))
    };
    (!HELD.is_empty()).then_some(Machines {
        open,
        quick: true,
        open_memory: false,
    })
}

on!(machines);

#[test]
fn large_snapshots_travel_in_pieces() {
    let Some(machines) = machines("large_snapshots_travel_in_pieces") else {
        return;
    };
    // A piece holds 32 MB: one slab has two of them, and the cuts of the slabs do not coincide with the cuts of the
    // pieces.
    let padded = Padded::new(&Grid::new_2d([4080, 2080], [0.0; 2], [1.0, 1.0]), 10);
    let rock = Stiffness::isotropic(Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: 2.0,
    });
    let mut shot = shot(
        0.06,
        vec![1.0; 2 * 4],
        vec![[5.0, 1040.0, 0.0]],
        vec![[9.0, 1040.0, 0.0]],
    );
    shot.snapshots = Some(Snapshots {
        every: 2,
        window: padded.n.map(|n| 0..n),
    });
    let cpu = crate::shots::run_on(&shot, medium::<f32>(&padded, |_| (rock, 2.0)), 4, &[]).expect("it runs");
    for slabs in [&[][..], &[1000, 1100], &[700, 1300, 100]] {
        let gpu = crate::runs::record(
            &machines,
            &shot,
            &medium(&padded, |_| (rock, 2.0)),
            crate::runs::on(slabs),
        );
        let apart = crate::runs::misfit(&cpu, &gpu);
        assert!(apart < 1e-5, "{slabs:?}: {apart:.1e}");
    }
}

/// As many blocks run as a device can hold, and every cell moves; twenty runs give the same bits.
#[test]
fn a_full_device_gives_the_same_bits_every_time() {
    let Some(machines) = machines("a_full_device_gives_the_same_bits_every_time") else {
        return;
    };
    let rock = Stiffness::isotropic(Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: 2.0,
    });
    let grids = [
        Grid::new_2d([2900, 2100], [0.0; 2], [1.0, 1.0]),
        Grid::new_3d([200, 180, 170], [0.0; 3], [1.0, 1.0, 1.0]),
    ];
    for grid in grids {
        let padded = Padded::new(&grid, 20);
        let mut shot = shot(0.06, vec![1.0; 41 * grid.ndim], vec![[50.0; 3]], vec![[60.0; 3]]);
        let mut window = padded.n.map(|n| 0..n);
        // The window takes a third of the planes, and the whole grid along the other axes.
        window[grid.ndim - 1] = padded.planes() / 3..2 * padded.planes() / 3;
        shot.snapshots = Some(Snapshots { every: 40, window });
        shot.absorbing = true;
        let medium = medium::<f32>(&padded, |_| (rock, 2.0));
        for symmetry in [Symmetry::Isotropic, Symmetry::Orthorhombic] {
            let how = How {
                symmetry,
                ..How::PLAIN
            };
            let (mut simulation, _devices) = prepare(&machines, &shot, &medium, how).expect("a valid shot");
            let mut first = None;
            for turn in 0..20 {
                let mut seed = 1u32;
                let mut noise = move || {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 8) as f32 * 1e-8
                };
                let (nz, pitch) = (padded.n[0], padded.pitch());
                let fill = |_: usize, _: usize, plane: &mut [f32]| {
                    let rows = plane.chunks_mut(pitch);
                    rows.for_each(|row| row[..nz].iter_mut().for_each(|x| *x = noise()));
                };
                simulation.start_from(fill).expect("the fields fit");
                let mut tape = Tape::default();
                simulation.run(&mut tape).expect("the shot runs");
                let first = first.get_or_insert_with(|| tape.clone());
                let first_difference = difference(first, &tape);
                assert_eq!(
                    first_difference, None,
                    "{}-D {symmetry:?}, turn {turn}",
                    grid.ndim
                );
            }
        }
    }
}

/// Blocks that share halos of stress give the same bits as single blocks, for any number of rows.
#[test]
fn clusters_of_blocks_give_the_same_bits() {
    let name = "clusters_of_blocks_give_the_same_bits";
    let Some(machines) = machines(name) else {
        return;
    };
    let tiles = listed::<f32, _>(&machines, 3);
    let Some(pair) = tiles.into_iter().find(|t| t.cluster > 1) else {
        return skip(
            name,
            "this GPU has no clusters, or too little shared memory for them",
        );
    };
    let alone = Tile { cluster: 1, ..pair };
    // Numbers of rows of the padded grid: less than one tile (the other block is idle), exactly two tiles, one row more
    // (three tiles and an idle block), a last tile that is thinner than the halo, many tiles.
    for rows in [
        10,
        2 * pair.rows,
        2 * pair.rows + 1,
        3 * pair.rows + 3,
        9 * pair.rows - 2,
    ] {
        let mut world = World::tiny(&[31, rows - 8, 35]);
        world.steps = 30;
        for (k, symmetry) in [
            (0, Symmetry::Orthorhombic),
            (4, Symmetry::Triclinic),
            (7, Symmetry::Orthorhombic),
        ] {
            let shot = Shot {
                nbell: 1,
                ..world.shot(settings()[k])
            };
            let earth = match symmetry {
                Symmetry::Triclinic => world.oblique(),
                _ => world.medium(),
            };
            let of = |tile, slabs| How {
                slabs,
                symmetry,
                tile: Some(tile),
            };
            let one: Tape<f32> = record(&machines, &shot, &earth, of(alone, &[]));
            assert!(one.peak() > 0.0, "something is recorded");
            for slabs in [&[][..], &[20, 23], &[9, 17, 8, 9]] {
                let first_difference = difference(&one, &record(&machines, &shot, &earth, of(pair, slabs)));
                assert_eq!(
                    first_difference,
                    None,
                    "{rows} rows, {symmetry} {:?}, slabs {slabs:?}",
                    settings()[k]
                );
            }
        }
    }
}
