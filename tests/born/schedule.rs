//! Reverse sweeps in little memory: checkpoints in a store give the same bits, and waves that run backwards the same
//! numbers to rounding.

use crate::bench::{Case, Random, plain, records, with_segments};
use crate::shots::{largest_difference, magnitude};
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::Quantity;
use kernels::methods::velocity_stress::born::{
    Born, CheckpointSchedule, CheckpointStore, ImageRequest, Kind, Number, Parameters, Room,
};
use std::io;
use std::sync::{Arc, Mutex};

/// A store in memory that counts the calls of `put`, which may fail.
#[derive(Default)]
struct Boxes {
    places: Mutex<Vec<Vec<u8>>>,
    put: Mutex<usize>,
    breaks: bool,
}

impl CheckpointStore for Boxes {
    fn put(&self, place: usize, parts: &[&[u8]]) -> io::Result<()> {
        if self.breaks {
            return Err(io::Error::other("no space left"));
        }
        let mut places = self.places.lock().unwrap();
        let most = places.len().max(place + 1);
        places.resize(most, Vec::new());
        places[place] = parts.concat();
        *self.put.lock().unwrap() += 1;
        Ok(())
    }

    fn get(&self, place: usize, parts: &mut [&mut [u8]]) -> io::Result<()> {
        let places = self.places.lock().unwrap();
        let mut bytes = &places[place][..];
        for part in parts {
            let (head, tail) = bytes.split_at(part.len());
            part.copy_from_slice(head);
            bytes = tail;
        }
        assert!(bytes.is_empty());
        Ok(())
    }
}

/// Random data, `[record][component][receiver]`.
fn data<T: Number>(born: &Born<T>) -> Vec<T> {
    let mut random = Random(5);
    let count = born.records() * born.values();
    (0..count).map(|_| T::of(random.next())).collect()
}

#[test]
fn checkpoints_in_a_store_change_no_bit() {
    for ndim in [2, 3] {
        let case = Case {
            surface: true,
            mechanisms: Some(Mechanisms::Everywhere(1)),
            quantity: Quantity::Displacement,
            ..plain(ndim)
        };
        let mut born = case.born::<f32>(&case.shot(), case.medium());
        let (data, sizes) = (data(&born), born.sizes());
        let [state, tape] = sizes;
        let all = CheckpointSchedule::choose(case.nt, sizes, 2 * state + case.nt * tape).expect("it fits");
        let expected = born.adjoint(&data, &all).expect("the reverse sweep");
        // Short segments need many checkpoints.
        let least = CheckpointSchedule {
            segment: 2,
            segments: case.nt / 2,
            checkpoints: 1,
            ..all
        };
        for in_store in [1, 2, 4] {
            let store = Arc::new(Boxes::default());
            born.set_store(store.clone());
            let schedule = CheckpointSchedule {
                in_store,
                checkpoints: least.checkpoints + in_store,
                ..least
            };
            assert_eq!(schedule.bytes(sizes), least.bytes(sizes));
            assert!(schedule.extra(case.nt) < least.extra(case.nt));
            let adjoint = born.adjoint(&data, &schedule).expect("the reverse sweep");
            assert!(adjoint == expected, "{ndim}-D, {in_store} places");
            let (put, places) = (*store.put.lock().unwrap(), store.places.lock().unwrap().len());
            println!("{ndim}-D: {put} checkpoints at {places} places");
            assert!(put >= places && places == in_store);
        }
        let room = Room {
            memory: 2 * state + 2 * tape,
            host: 0,
            store: 6 * state,
        };
        let chosen = CheckpointSchedule::choose_in(case.nt, sizes, room).expect("it fits");
        let adjoint = born.adjoint(&data, &chosen).expect("the reverse sweep");
        assert!(adjoint == expected, "{chosen:?}");
        let breaks = Boxes {
            breaks: true,
            ..Boxes::default()
        };
        born.set_store(Arc::new(breaks));
        let schedule = CheckpointSchedule {
            in_store: 1,
            checkpoints: least.checkpoints + 1,
            ..least
        };
        let why = born.adjoint(&data, &schedule).expect_err("it breaks").to_string();
        assert!(
            why.contains("a checkpoint of the reverse sweep is lost: no space left"),
            "{why}"
        );
    }
}

/// The differences of adjoint and gradient between boundary saving and whole steps, and how far the waves are from rest
/// at the end.
fn apart<T: Number>(case: &Case, segments: usize) -> [f64; 3] {
    let shot = case.shot();
    let born = case.born::<T>(&shot, case.medium());
    let (data, [state, tape]) = (data(&born), born.sizes());
    let all =
        CheckpointSchedule::choose(case.nt, [state, tape], 2 * state + case.nt * tape).expect("it fits");
    let expected = born.adjoint(&data, &all).expect("the reverse sweep");
    let ([of_state, boundary], once) = born.boundary_sizes().expect("waves that can run backwards");
    // In addition, boundary saving stores once the stresses of the waves and their velocities at two steps.
    assert!(
        of_state == state && once > tape && boundary < tape,
        "{boundary} of {tape}"
    );
    let schedule = with_segments(all, case.nt, [segments, segments.min(2) - 1]);
    let most = magnitude(expected.iter().map(|x| x.f64()));
    let off = |values: &[T]| {
        largest_difference(values.iter().map(|x| x.f64()), expected.iter().map(|x| x.f64())) / most
    };
    assert!(born.drift().is_none());
    let adjoint = born.adjoint(&data, &schedule).expect("the reverse sweep");
    let drift = born.drift().expect("waves have run backwards");
    // A gradient stores its steps while it computes the records.
    let [modelled, _] = records(&born, None);
    let mut residual = |records: &[T]| {
        assert!(records == modelled);
        Ok(data.clone())
    };
    let gradient = born.gradient(&mut residual, &schedule).expect("a gradient");
    [off(&adjoint), off(&gradient), drift]
}

/// In single precision the bound is that between devices and processors (1e-5), in double precision about a hundred times
/// the rounding of a number, because of the number of steps; the largest measured values are 3e-6 and 6e-15.
#[test]
fn waves_that_run_backwards_give_the_same_within_rounding() {
    for ndim in [2, 3] {
        let base = plain(ndim);
        let cases = [
            base.clone(),
            Case {
                order: 2,
                surface: true,
                quantity: Quantity::Displacement,
                parameters: Parameters::Lame,
                jdata: 3,
                ..base.clone()
            },
            Case {
                order: 8,
                surface: true,
                depth: 0.8,
                fluid: true,
                quantity: Quantity::Pressure,
                ..base.clone()
            },
            Case {
                sponge: true,
                surface: true,
                parameters: Parameters::Impedances,
                quantity: Quantity::Strain,
                ..base.clone()
            },
            Case {
                frame: 0,
                anisotropic: true,
                parameters: Parameters::Stiffness,
                quantity: Quantity::Acceleration,
                ..base.clone()
            },
        ];
        for case in cases {
            for segments in [1, 4] {
                let [adjoint, gradient, drift] = apart::<f32>(&case, segments);
                println!(
                    "{segments} segments, single: {adjoint:.1e} {gradient:.1e}, {drift:.1e} left: {case:?}"
                );
                assert!(adjoint <= 1e-5 && gradient <= 1e-5 && drift <= 1e-5, "{case:?}");
                let [adjoint, gradient, drift] = apart::<f64>(&case, segments);
                println!("double: {adjoint:.1e} {gradient:.1e}, {drift:.1e} left");
                assert!(
                    adjoint <= 1e-13 && gradient <= 1e-13 && drift <= 1e-13,
                    "{case:?}"
                );
            }
        }
    }
}

#[test]
fn what_cannot_run_backwards_is_reported() {
    let case = Case {
        mechanisms: Some(Mechanisms::Everywhere(2)),
        ..plain(2)
    };
    let born = case.born::<f32>(&case.shot(), case.medium());
    let why = born.boundary_sizes().expect_err("attenuation").to_string();
    assert!(why.contains("waves cannot run backwards: attenuation"), "{why}");
    // An image needs the waves of all cells.
    let case = plain(2);
    let born = case.born::<f32>(&case.shot(), case.medium());
    let request = ImageRequest {
        kinds: vec![Kind::Pp],
        lags: vec![[0; 3]],
    };
    let [state, tape] = born.sizes_of_images(&request);
    let schedule = CheckpointSchedule {
        boundary_saving: true,
        ..CheckpointSchedule::choose(case.nt, [state, tape], 2 * state + case.nt * tape).expect("it fits")
    };
    let refused = born.images(&data(&born), &schedule, &request).err();
    let why = refused.expect("boundaries are no whole steps").to_string();
    assert!(why.contains("record whole steps, not their boundaries"), "{why}");
}
