//! Ranks that each hold only their part of the model give the same bits as one process. Data, snapshots and maps of
//! peaks are gathered on rank 0. The cuts pass through the frame and through both sources.

use crate::cuts::{grid, layers, ready};
use crate::desk::{frame, isotropic, layer, lengths, shot};
use crate::shots::{Tape, magnitude, medium, part};
use crate::thread_ranks::{Capabilities, thread_ranks};
use kernels::Error;
use kernels::communicator::Communicator;
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::SLABS;
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, Shot, Simulation, bytes};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::ParallelOptions;
use kernels::parallel::rank_halo::Overlap;

/// Thicknesses of the slabs of each rank.
type Parts = &'static [&'static [usize]];

/// 57 planes, of which the model has 11 to 43; the sources are on planes 20 and 24, and their nodes extend two and
/// three planes further.
const PLANE: [Parts; 5] = [
    &[&[20], &[37]],
    &[&[9], &[15, 9], &[24]],
    &[&[8], &[14, 10], &[10], &[15]],
    &[&[8], &[8], &[8], &[9], &[8], &[8], &[8]],
    &[&[22, 27], &[8]],
];
/// 58 planes, of which the model has 18 to 39; the sources are on planes 29 and 31.
const VOLUME: [Parts; 4] = [
    &[&[30], &[28]],
    &[&[16], &[13, 9], &[20]],
    &[&[9], &[20, 9], &[11], &[9]],
    &[&[8], &[8], &[8], &[9], &[8], &[8], &[9]],
];

/// The frame is thicker at both ends of the slowest axis in 3-D, so that there is room for seven ranks.
fn faces(ndim: usize, absorber: Absorber) -> Frame {
    let mut faces = frame(9, absorber);
    faces.cells[0] = [0, 5];
    faces.cells[1] = [7, 9];
    if ndim == 3 {
        faces.cells[2] = [14, 14];
    }
    faces
}

/// Quality factors that differ from cell to cell.
fn lossy(ndim: usize, mechanisms: Mechanisms) -> Option<Attenuation> {
    let cells = grid(ndim).cells();
    Some(Attenuation {
        qp: (0..cells).map(|k| 40.0 + (k % 37) as f32).collect(),
        qs: (0..cells).map(|k| 25.0 + (k % 29) as f32).collect(),
        mechanisms,
        band: [0.05, 0.5],
        reference: 0.2,
    })
}

/// The records and the map of peaks of a run in one process.
fn alone(shot: &Shot, ndim: usize) -> (Tape<f32>, Vec<f32>) {
    let padded = shot.frame.around(&grid(ndim));
    let slabs = SLABS.partition(padded.planes(), 1).expect("one slab fits");
    let raw = medium::<f32>(&padded, layers);
    let mut simulation =
        Simulation::new(shot, raw, Symmetry::Isotropic, Cpu::new(1).unwrap(), slabs).expect("a valid shot");
    let mut tape = Tape::default();
    simulation.run(&mut tape).expect("the shot runs");
    tape.assert_lengths(lengths(shot, ndim));
    (tape, simulation.peaks())
}

/// The records of every rank, its map of peaks, its result, the bytes that it uses, and the bytes that were predicted.
type Ended = (Tape<f32>, Vec<f32>, Result<(), Error>, [usize; 2]);

fn among(
    shot: &Shot,
    grid: &Grid,
    cell: impl Fn([f64; 3]) -> (Stiffness, f64) + Sync,
    (parts, options): (Parts, ParallelOptions),
) -> Vec<Ended> {
    let padded = shot.frame.around(grid);
    let layouts = SLABS
        .cut(padded.planes(), &parts.concat())
        .expect("the slabs fit");
    let whole = medium::<f32>(&padded, cell);
    thread_ranks(parts.len(), Capabilities::default(), |ranks| {
        let first: usize = parts[..ranks.rank()].iter().map(|p| p.len()).sum();
        let slabs = layouts[first..first + parts[ranks.rank()].len()].to_vec();
        let own = slabs[0].own.start..slabs[slabs.len() - 1].own.end;
        let (raw, cpu) = (part(&whole, &own), Cpu::new(1).unwrap());
        let predicted = bytes(&padded, shot, &slabs, Symmetry::Isotropic);
        let mut simulation =
            Simulation::new(shot, raw, Symmetry::Isotropic, cpu, slabs).expect("a valid shot");
        let mut tape = Tape::default();
        let result = simulation.run_among(ranks, &mut tape, options);
        let peaks = match &result {
            Ok(()) => simulation.peaks_among(ranks).expect("maps are exchanged"),
            Err(_) => Vec::new(),
        };
        // The memory is counted after the run, when the message buffers exist.
        (tape, peaks, result, [simulation.bytes(), predicted])
    })
}

fn same_bits(shot: &Shot, ndim: usize, (parts, options): (Parts, ParallelOptions)) {
    let (whole, peaks) = alone(shot, ndim);
    assert!(whole.peak() > 0.0 && whole.snapshots.len() == 3);
    let all = among(shot, &grid(ndim), layers, (parts, options));
    let what = format!(
        "{ndim}-D order {} {:?}, ranks {parts:?}",
        shot.order, shot.quantity
    );
    for (_, _, result, [taken, predicted]) in &all {
        assert!(result.is_ok(), "{what}: {result:?}");
        // An empty array occupies a byte; while the medium is prepared, more memory may be in use than at the end.
        assert!(
            taken <= &(predicted + 64) && *predicted < 2 * taken,
            "{what}: {taken} bytes are taken, {predicted} were predicted"
        );
    }
    assert!(all[0].0 == whole, "{what}");
    assert!(
        all[0].1 == peaks && peaks.iter().any(|&x| x > 0.0),
        "peaks of {what}"
    );
    assert!(
        all[1..].iter().all(|(tape, peaks, ..)| {
            tape.steps.is_empty() && tape.snapshots.is_empty() && peaks.is_empty()
        })
    );
}

/// Every quantity, both absorbers, all orders, elastic and attenuating with both kinds of mechanisms.
fn settings(ndim: usize) -> Vec<Shot> {
    let layers = faces(ndim, layer(3.5, 0.5));
    let sponge = faces(ndim, Absorber::Sponge(0.9));
    let list = [
        (4, layers, Quantity::Velocity, None),
        (8, layers, Quantity::Pressure, None),
        (2, sponge, Quantity::Displacement, None),
        (4, layers, Quantity::Acceleration, lossy(ndim, Mechanisms::Coarse)),
        (
            8,
            layers,
            Quantity::Velocity,
            lossy(ndim, Mechanisms::Everywhere(2)),
        ),
    ];
    let make = |(order, faces, quantity, attenuation)| {
        let mut s = ready(shot(0.12, 41, faces), ndim);
        (s.order, s.quantity, s.attenuation) = (order, quantity, attenuation);
        (s.surface, s.peaks) = (true, true);
        s
    };
    list.into_iter().map(make).collect()
}

/// Rank 0 takes all snapshots.
fn first(overlap: Overlap) -> ParallelOptions {
    ParallelOptions {
        snapshots: SnapshotWriter::Root,
        overlap,
        ..ParallelOptions::default()
    }
}

#[test]
fn ranks_of_a_plane_give_the_same_bits() {
    for (k, s) in settings(2).iter().enumerate() {
        for (j, parts) in PLANE.into_iter().enumerate() {
            let overlap = [Overlap::Overlapped, Overlap::Blocking][(j + k) % 2];
            same_bits(s, 2, (parts, first(overlap)));
        }
    }
}

#[test]
fn ranks_of_a_volume_give_the_same_bits() {
    for (k, s) in settings(3).iter().enumerate() {
        // There are two partitions each; every one is used.
        for j in [k, k + 2] {
            same_bits(s, 3, (VOLUME[j % VOLUME.len()], first(Overlap::Overlapped)));
        }
    }
}

#[test]
fn every_rank_keeps_its_own_planes_of_a_snapshot() {
    let mut s = settings(2).swap_remove(0);
    // The window includes no planes of the first and the last rank.
    s.snapshots.as_mut().expect("the case has snapshots").window = [4..20, 12..40, 0..1];
    let (whole, _) = alone(&s, 2);
    assert!(magnitude(whole.snapshots.iter().flat_map(|(_, all)| all)) > 0.0);
    let all = among(&s, &grid(2), layers, (PLANE[2], ParallelOptions::default()));
    for (k, (step, snapshot)) in whole.snapshots.iter().enumerate() {
        let mut joined = Vec::new();
        for component in 0..2 {
            for (tape, ..) in &all {
                let Some((it, piece)) = tape.snapshots.get(k) else {
                    continue;
                };
                assert_eq!(it, step);
                let share = piece.len() / 2;
                joined.extend_from_slice(&piece[component * share..][..share]);
            }
        }
        assert!(&joined == snapshot, "step {step}");
    }
}

#[test]
fn a_fault_ends_all_ranks_and_one_reports_it() {
    let mut s = settings(2).swap_remove(0);
    (s.dt, s.jcheck) = (2.0, 5);
    let all = among(&s, &grid(2), layers, (PLANE[3], ParallelOptions::default()));
    let reporting = all
        .iter()
        .filter(|r| matches!(r.2, Err(Error::NotFinite { .. })))
        .count();
    let elsewhere = all
        .iter()
        .filter(|r| matches!(r.2, Err(Error::Elsewhere)))
        .count();
    assert_eq!((reporting, elsewhere), (1, all.len() - 1));
    assert!(!all[0].0.steps.is_empty() && all[0].0.steps.len() % 5 == 0);
}

/// A layer in which waves would grow is found by the rank whose part has the cell, and only there.
#[test]
fn cells_that_make_layers_grow_are_detected_in_parts() {
    let grid = grid(2);
    // The third medium of Becache et al. (2003) is in the lower right of the model.
    let cell = |at: [f64; 3]| {
        let (mut stiffness, rho) = isotropic(2.0, 1.1, 2.0);
        if at[0] > 12.0 && at[1] > 25.0 {
            (stiffness.c11, stiffness.c33) = (4.0, 20.0);
            (stiffness.c55, stiffness.c13) = (2.0, 7.5);
        }
        (stiffness, rho)
    };
    let s = shot(0.1, 1, faces(2, layer(5.0, 0.5)));
    let padded = s.frame.around(&grid);
    let whole = medium::<f32>(&padded, cell);
    let expected = s.frame.first_growing(&whole).expect("it grows");
    let of_slabs: Vec<_> = SLABS
        .partition(padded.planes(), 7)
        .expect("seven slabs fit")
        .iter()
        .map(|slab| s.frame.first_growing(&part(&whole, &slab.own)))
        .collect();
    assert!(of_slabs[..3].iter().all(Option::is_none) && of_slabs[6].is_some());
    let least = of_slabs.into_iter().flatten().min_by_key(Frame::order);
    assert_eq!(least, Some(expected));
}
