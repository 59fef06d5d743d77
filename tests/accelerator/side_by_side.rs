//! Shots of the velocity-stress method side by side on one device: each gives the same bits as when it runs alone, even
//! in memory that other shots have previously used.

use crate::runs::Machines;
use crate::shots::{Tape, magnitude, medium};
use crate::staggered::{Case, cases, record};
use kernels::Error;
use kernels::device::accelerator::Accelerator;
use kernels::device::cpu::Cpu;
use kernels::methods::velocity_stress::gpu::{Simulation, Upload};
use kernels::methods::velocity_stress::{SLABS, Shot};
use std::sync::Arc;

/// The shot of a case without snapshots and peaks, which only single shots can have, and two more shots with other
/// sources and receivers.
fn shots(case: &Case) -> Vec<Shot> {
    let mut first = case.shot.clone();
    (first.snapshots, first.peaks) = (None, false);
    let moved = |k: usize| {
        let mut shot = first.clone();
        for source in &mut shot.sources {
            source.point[0] += 0.6 * k as f32;
            source.point[1] -= 0.4 * k as f32;
        }
        for receiver in &mut shot.receivers {
            receiver[0] += 1.3 * k as f32;
        }
        shot
    };
    (0..3).map(moved).collect()
}

/// A simulation of the first `beside` shots side by side, with room for the other shots.
fn begun<A: Accelerator>(
    device: &Arc<A>,
    case: &Case,
    (shots, beside): (&[Shot], usize),
) -> Result<Simulation<f32, A>, Error> {
    let padded = shots[0].frame.around(&case.grid);
    let raw = medium::<f32>(&padded, case.cell());
    let placed = SLABS.partition(padded.planes(), 1)?.into_iter();
    let placed = placed.map(|layout| (device.clone(), layout)).collect();
    let cpu = Cpu::new(1)?;
    let mut upload = Upload::new(&shots[0], &padded, placed, case.class, &cpu)?;
    shots[1..].iter().try_for_each(|shot| upload.keep_for(shot))?;
    upload.medium(&raw)?;
    Simulation::side_by_side(&shots[..beside], upload, case.class, None)
}

/// The records of each shot when the first `beside` shots run side by side, and the other shots after them in the same
/// memory.
fn together<A: Accelerator>(
    machines: &Machines<A>,
    case: &Case,
    (shots, beside): (&[Shot], usize),
) -> Result<Vec<Vec<f32>>, Error> {
    let device = (machines.open)(0);
    let mut simulation = begun(&device, case, (shots, beside))?;
    let mut all = Vec::new();
    for (number, company) in shots.chunks(beside).enumerate() {
        if number > 0 {
            simulation.next_shots(company)?;
        }
        let mut tape = Tape::default();
        simulation.run(&mut tape)?;
        for shot in 0..company.len() {
            let own = |record: &Vec<f32>| {
                let values = record.len() / company.len();
                record[shot * values..(shot + 1) * values].to_vec()
            };
            all.push(tape.traces.iter().flat_map(own).collect());
        }
    }
    drop(simulation);
    device.finish()?;
    Ok(all)
}

pub fn shots_side_by_side_have_their_own_bits<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        for case in cases(ndim)
            .into_iter()
            .step_by(if machines.quick || ndim == 2 { 1 } else { 5 })
        {
            let shots = shots(&case);
            let alone = shots.iter().map(|shot| {
                let case = Case {
                    shot: shot.clone(),
                    grid: case.grid.clone(),
                    class: case.class,
                    what: case.what.clone(),
                };
                let (tape, _) = record::<f32, A>(machines, &case, &[]).expect("the shot runs");
                assert!(tape.peak() > 0.0, "{}: something is recorded", case.what);
                tape.traces.concat()
            });
            let alone: Vec<Vec<f32>> = alone.collect();
            assert!(alone[0] != alone[1] && alone[1] != alone[2], "{}", case.what);
            for beside in [1, 2, 3] {
                let tapes = together(machines, &case, (&shots, beside)).expect("the shots run");
                assert!(tapes == alone, "{beside} side by side, {}", case.what);
            }
        }
    }
}

pub fn maps_of_the_next_shot_are_its_own<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        let mut case = cases(ndim).swap_remove(0);
        let mut shots = shots(&case);
        shots.iter_mut().for_each(|shot| shot.peaks = true);
        let device = (machines.open)(0);
        let mut simulation = begun(&device, &case, (&shots, 1)).expect("room for all shots");
        for (number, shot) in shots.iter().enumerate() {
            if number > 0 {
                simulation
                    .next_shots(std::slice::from_ref(shot))
                    .expect("another shot");
            }
            simulation.run(&mut Tape::default()).expect("the shot runs");
            case.shot = shot.clone();
            let (_, peaks) = record::<f32, A>(machines, &case, &[]).expect("the shot runs");
            assert!(magnitude(&peaks) > 0.0);
            assert!(
                simulation.peaks().expect("a map") == peaks,
                "{ndim}-D, shot {number}"
            );
        }
    }
}

pub fn shots_that_cannot_run_side_by_side_are_refused<A: Accelerator>(machines: &Machines<A>) {
    let case = cases(2).swap_remove(0);
    let all = shots(&case);
    let message = |change: fn(&mut Shot), beside: usize| {
        let mut all = all.clone();
        change(&mut all[1]);
        together(machines, &case, (&all, beside))
            .expect_err("a sentence")
            .to_string()
    };
    let fewer = message(|shot| shot.receivers.truncate(3), 2);
    assert!(
        fewer.contains("the same number of steps and of receivers"),
        "{fewer}"
    );
    let mut with_maps = all.clone();
    with_maps.iter_mut().for_each(|shot| shot.peaks = true);
    let words = together(machines, &case, (&with_maps, 2))
        .expect_err("a sentence")
        .to_string();
    assert!(words.contains("record no snapshots and no maps"), "{words}");
}
