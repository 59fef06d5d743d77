//! The memory and speed of a device are predicted before a run; the prediction of memory must equal the memory that the
//! run uses.

use crate::emulator::Emulator;
use crate::shots::{Ricker, shot};
use crate::thread_ranks::{Capabilities, thread_ranks};
use kernels::communicator::Communicator;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Destination, Symmetry};
use kernels::methods::displacement::SLABS;
use kernels::methods::displacement::Transport;
use kernels::methods::displacement::gpu::{Simulation, Upload, bytes, calibrate, host_bytes};
use kernels::methods::displacement::{Shot, Snapshots};
use kernels::parallel::slabs::Slab;
use std::sync::Arc;
use std::time::Instant;

/// Memory that the driver uses itself, and the largest number of bytes that rounding to pages adds to an array.
const OWN: usize = 32 << 20;
const PAGE: usize = 2 << 20;
/// Memory of the emulated device.
const ALL: usize = 4 << 30;

fn large(ndim: usize) -> (Padded, Shot) {
    let grid = match ndim {
        3 => Grid::new_3d([90, 80, 70], [0.0; 3], [1.0; 3]),
        _ => Grid::new_2d([900, 800], [0.0; 2], [1.0; 2]),
    };
    let padded = Padded::new(&grid, 16);
    let sources: Vec<_> = (0..40).map(|k| [20.0, 10.0 + k as f32, 30.0]).collect();
    let wavelet = Ricker::starting_at_zero(0.1).samples(300, 0.1, &vec![1.0; 40 * ndim]);
    let receivers = (0..2000).map(|k| [1.0, 0.03 * k as f32, 40.0]).collect();
    let window = [0..padded.n[0], 0..padded.n[1], 0..padded.n[2]];
    let shot = Shot {
        snapshots: Some(Snapshots { every: 10, window }),
        ..shot(0.1, wavelet, sources, receivers)
    };
    (padded, shot)
}

/// A run on these devices, with the class of its model known before (`first`) or found later (`last`), and the memory
/// of each device that reading the model used.
fn prepared(
    (padded, shot): (&Padded, &Shot),
    machines: Vec<(Arc<Emulator>, Slab)>,
    (first, last): (Symmetry, Symmetry),
) -> (Simulation<f32, Emulator>, Vec<usize>) {
    let shims: Vec<_> = machines.iter().map(|(emulator, _)| emulator.clone()).collect();
    let mut upload =
        Upload::<f32, _>::of_class(padded, machines, shot.surface, shot.dt, first).expect("room");
    let lines = padded.model.cells() / padded.model.n[0];
    let step = upload.lines(lines);
    for line in (0..lines).step_by(step) {
        let count = step.min(lines - line);
        upload.block(count).expect("a block").fill(1.0);
        upload.commit(line, count).expect("it is sent");
    }
    let reading = shims.iter().map(|emulator| used(emulator)).collect();
    let simulation = Simulation::new(shot, upload, last, None).expect("a valid shot");
    (simulation, reading)
}

/// The bytes of a device that are in use.
fn used(emulator: &Emulator) -> usize {
    use kernels::device::accelerator::Accelerator;
    emulator.properties().memory_bytes - emulator.free_bytes().expect("it reports its memory")
}

/// The peak memory of a run on `slabs` devices on each of them.
fn taken(padded: &Padded, shot: &Shot, slabs: usize, classes: (Symmetry, Symmetry)) -> Vec<usize> {
    let layouts = SLABS
        .partition(padded.planes(), slabs)
        .expect("the grid is thick enough");
    let shims: Vec<_> = (0..slabs)
        .map(|k| Arc::new(Emulator::new().numbered(k).with_memory(ALL)))
        .collect();
    let machines = shims.iter().cloned().zip(layouts).collect();
    let (simulation, reading) = prepared((padded, shot), machines, classes);
    let running: Vec<usize> = shims.iter().map(|emulator| used(emulator)).collect();
    // The simulation reports all its memory, except for tables of a few bytes.
    let (reported, all) = (simulation.bytes(), running.iter().sum::<usize>());
    assert!(
        reported <= all && all - reported <= PAGE * slabs,
        "{reported} bytes are reported, {all} taken"
    );
    reading.into_iter().zip(running).map(|(a, b)| a.max(b)).collect()
}

#[test]
fn a_run_takes_what_was_predicted() {
    if !Emulator::ready() {
        return;
    }
    use Symmetry::{Isotropic, Orthorhombic, Vti};
    for ndim in [2, 3] {
        let (padded, shot) = large(ndim);
        for (slabs, known, class) in [
            (1, Isotropic, Isotropic),
            (1, Vti, Vti),
            (1, Orthorhombic, Orthorhombic),
            (1, Orthorhombic, Isotropic),
            (3, Orthorhombic, Vti),
        ] {
            let layouts = SLABS
                .partition(padded.planes(), slabs)
                .expect("the grid is thick enough");
            for (layout, taken) in layouts.iter().zip(taken(&padded, &shot, slabs, (known, class))) {
                let predicted = bytes(&shot, &padded, layout, known, 0);
                println!("{ndim}-D {slabs} slabs {known} {class}: predicted {predicted}, taken {taken}");
                assert!(
                    taken + OWN <= predicted,
                    "{taken} bytes were taken, {predicted} predicted"
                );
                // Each of the arrays, levels, staging memory, sources and records may end in the middle of a page. If
                // the class that is known beforehand is wider than the class found, the prediction is made for the
                // wider class.
                if known == class {
                    let spare = predicted - OWN - taken;
                    assert!(spare <= 16 * PAGE, "{spare} bytes too many are predicted");
                }
            }
        }
    }
}

/// Messages that are sent from devices are part of the prediction; if they do not fit on one device, all ranks report
/// it.
#[test]
fn messages_of_ranks_are_predicted_and_refused_together() {
    if !Emulator::ready() {
        return;
    }
    let class = Symmetry::Isotropic;
    // The grid is so long that the fields need more memory than the blocks in which the model is sent.
    let grid = Grid::new_3d([120, 60, 360], [0.0; 3], [1.0; 3]);
    let padded = Padded::new(&grid, 16);
    let wavelet = Ricker::starting_at_zero(0.1).samples(30, 0.1, &[1.0; 3]);
    let shot = shot(0.1, wavelet, vec![[20.0; 3]], vec![[30.0; 3]]);
    let layouts = SLABS
        .partition(padded.planes(), 3)
        .expect("the grid is thick enough");
    let talents = Capabilities {
        reach_devices: true,
        apart: true,
    };
    let predicted = |k: usize, outer: usize| bytes(&shot, &padded, &layouts[k], class, outer);
    let met = |room: [usize; 3]| {
        thread_ranks(3, talents, |ranks| {
            let k = ranks.rank();
            let emulator = Arc::new(Emulator::new().numbered(k).with_memory(room[k]));
            let machines = vec![(emulator.clone(), layouts[k].clone())];
            let (mut simulation, reading) = prepared((&padded, &shot), machines, (class, class));
            let before = used(&emulator);
            assert!(
                reading[0] <= before,
                "the model is read in {}, kept in {before}",
                reading[0]
            );
            let outcome = simulation.connect(ranks, Transport::Auto);
            let after = used(&emulator);
            simulation.disconnect(ranks).expect("the neighbours disconnect");
            (outcome, before, after)
        })
    };
    for (k, (outcome, before, after)) in met([ALL; 3]).into_iter().enumerate() {
        let ways = outcome.expect("the neighbours connect");
        let outer = ways.len();
        assert!(ways.iter().all(|way| *way == Transport::CudaAware));
        let (predicted, silent) = (predicted(k, outer), predicted(k, 0));
        println!("rank {k}: predicted {predicted}, {after} taken, {before} before");
        assert!(outer > 0 && after > before && after + OWN <= predicted && predicted > silent);
        assert!(predicted - OWN - after <= 16 * PAGE);
        // Messages in the memory of the host need no device memory, but at least as much memory of the host.
        let here = &layouts[k..k + 1];
        assert!(host_bytes(&shot, &padded, here, outer) >= host_bytes(&shot, &padded, here, 0));
    }
    // The device of the middle rank has room only for its fields.
    let before = met([ALL; 3])[1].1;
    let short = met([ALL, before + PAGE, ALL]);
    let words: Vec<String> = short
        .iter()
        .map(|(outcome, ..)| outcome.as_ref().expect_err("no room").to_string())
        .collect();
    assert!(
        words[0].starts_with("rank 1 on host1: ") && words[0].contains("out of device memory"),
        "{words:?}"
    );
    assert!(words.iter().all(|other| *other == words[0]), "{words:?}");
}

/// Messages to and from neighbours on other ranks have separate memory, for eight planes of every component.
#[test]
fn messages_are_predicted_to_the_byte() {
    // There are many neighbours, so that no other part of the memory is larger.
    let many = 5000;
    for (ndim, plane) in [(2, 944), (3, 112 * 128)] {
        let (padded, shot) = large(ndim);
        let layouts = SLABS
            .partition(padded.planes(), 2)
            .expect("the grid is thick enough");
        // Lines begin at multiples of 16 numbers, which determines the length of a plane.
        assert_eq!(padded.plane_len(), plane);
        let message = ndim * 8 * plane * 4;
        let host = |outer: usize| host_bytes(&shot, &padded, &layouts, outer);
        assert_eq!(host(many + 7) - host(many), 7 * 2 * message);
        let predicted = |outer: usize| bytes(&shot, &padded, &layouts[0], Symmetry::Isotropic, outer);
        let paged = message.div_ceil(PAGE) * PAGE;
        assert_eq!(predicted(many + 7) - predicted(many), 7 * 2 * paged);
    }
}

/// The measured speed counts all points of all steps: it is at least that of the whole measurement, which also prepares
/// the run.
#[test]
fn a_small_device_is_calibrated_too() {
    if !Emulator::ready() {
        return;
    }
    for (ndim, steps) in [(2, 200), (3, 40)] {
        let grid = match ndim {
            3 => Grid::new_3d([20, 18, 22], [0.0; 3], [5.0; 3]),
            _ => Grid::new_2d([60, 50], [0.0; 2], [5.0; 2]),
        };
        let (padded, device) = (
            Padded::new(&grid, 8),
            Arc::new(Emulator::new().with_memory(300 << 20)),
        );
        let measure = || calibrate(&padded, &device, Symmetry::Vti).expect("it runs");
        // The first measurement compiles the kernels.
        measure();
        let begun = Instant::now();
        let rate = measure();
        let least = (padded.cells() * steps) as f64 / begun.elapsed().as_secs_f64();
        println!("{ndim}-D {rate:.0} points per second, at least {least:.0}");
        assert!(rate >= least && rate.is_finite());
    }
}
