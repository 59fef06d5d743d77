//! The adjoint is the transpose of the operator: `<L m, d> = <m, L' d>` for random set-ups, in both precisions; and the
//! reverse sweep gives the same bits for every amount of memory.

use crate::bench::{Case, Random, dot, plain, records};
use crate::shots::magnitude;
use fourier::time_dispersion::{Reading, Sampling, TimeDispersion};
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::Quantity;
use kernels::methods::velocity_stress::born::{CheckpointSchedule, ImageRequest, Kind, Number, Parameters};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// The difference of the two dot products, relative to the first.
fn apart<T: Number>(case: &Case, seed: u64) -> f64 {
    let (shot, mut random) = (case.shot(), Random(seed));
    let born = case.born::<T>(&shot, case.medium());
    let model = case.perturbation(&born, &mut random);
    let [_, change] = records(&born, Some(&model));
    let most = magnitude(change.iter().map(|x| x.f64()));
    // The data resemble the model's, with random numbers added, so that the product does not vanish by chance.
    let mix = |x: &T| T::of(x.f64() / most + 0.5 * random.next());
    let data: Vec<T> = change.iter().map(mix).collect();
    let schedule =
        CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
    let back = born.adjoint(&data, &schedule).expect("the reverse sweep");
    let (forward, adjoint) = (dot(&change, &data), dot(&model, &back));
    (forward - adjoint).abs() / forward.abs()
}

fn cases() -> impl Strategy<Value = Case> {
    let mechanisms = prop_oneof![
        3 => Just(None),
        2 => (1usize..=4).prop_map(|n| Some(Mechanisms::Everywhere(n))),
        1 => Just(Some(Mechanisms::Coarse)),
    ];
    let quantity = prop_oneof![
        Just(Quantity::Velocity),
        Just(Quantity::Displacement),
        Just(Quantity::Acceleration),
        Just(Quantity::Pressure),
        Just(Quantity::Strain),
        Just(Quantity::Rotation),
    ];
    let parameters = prop_oneof![
        Just(Parameters::Speeds),
        Just(Parameters::Lame),
        Just(Parameters::Impedances),
        Just(Parameters::Stiffness),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let numbers = (
        2usize..=3,
        prop_oneof![Just(2usize), Just(4), Just(8)],
        0usize..=5,
        1usize..=3,
    );
    let places = (-0.5f32..0.5, 0.6f32..6.0);
    (numbers, flags, mechanisms, quantity, parameters, places).prop_map(
        |(numbers, flags, mechanisms, quantity, parameters, places)| {
            let ((ndim, order, frame, jdata), (sponge, surface, fluid, anisotropic)) = (numbers, flags);
            Case {
                order,
                sponge,
                frame,
                surface,
                mechanisms,
                fluid,
                anisotropic: anisotropic && parameters == Parameters::Stiffness,
                quantity,
                parameters,
                jdata,
                off: places.0,
                depth: places.1,
                ..plain(ndim)
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/adjoint.txt"))), ..ProptestConfig::default() })]

    #[test]
    fn products_are_equal(case in cases(), seed in any::<u64>()) {
        let (double, single) = (apart::<f64>(&case, seed), apart::<f32>(&case, seed));
        println!("{double:.1e}, in single precision {single:.1e}");
        prop_assert!(double <= 1e-12, "{double:e} {case:?}");
        prop_assert!(single <= 1e-5, "single precision: {single:e} {case:?}");
    }
}

/// Applies `change` to each trace of records `[record][number]`.
fn by_traces<T: Number>(records: &[T], numbers: usize, change: impl Fn(&[f64]) -> Vec<f64>) -> Vec<T> {
    let trace = |k: usize| -> Vec<f64> {
        let samples = records.iter().skip(k).step_by(numbers);
        change(&samples.map(|x| x.f64()).collect::<Vec<_>>())
    };
    let traces: Vec<Vec<f64>> = (0..numbers).map(trace).collect();
    let count = traces[0].len();
    (0..count)
        .flat_map(|it| traces.iter().map(move |trace| T::of(trace[it])))
        .collect()
}

/// The operator followed by the correction of records to exact time has an adjoint that is exact, too.
fn apart_in_exact_time<T: Number>(case: &Case, seed: u64) -> f64 {
    let (shot, mut random) = (case.shot(), Random(seed));
    let born = case.born::<T>(&shot, case.medium());
    let model = case.perturbation(&born, &mut random);
    let (steps, numbers) = (born.records(), born.values());
    let plan = TimeDispersion::new(Sampling {
        samples: steps - 8,
        steps,
        every: case.jdata as f64,
        first: case.quantity.first_time(),
    });
    let [_, change] = records(&born, Some(&model));
    let change = by_traces(&change, numbers, |trace| plan.to_time(trace, Reading::OfOneTime));
    let most = magnitude(change.iter().map(|x| x.f64()));
    let mix = |x: &T| T::of(x.f64() / most + 0.5 * random.next());
    let data: Vec<T> = change.iter().map(mix).collect();
    let given = by_traces(&data, numbers, |trace| {
        plan.to_time_adjoint(trace, Reading::OfOneTime)
    });
    let schedule =
        CheckpointSchedule::choose(case.nt, born.sizes(), usize::MAX / 4).expect("unlimited memory");
    let back = born.adjoint(&given, &schedule).expect("the reverse sweep");
    let (forward, adjoint) = (dot(&change, &data), dot(&model, &back));
    (forward - adjoint).abs() / forward.abs()
}

#[test]
fn exact_time_keeps_the_adjoint() {
    for (ndim, jdata, quantity) in [
        (2, 1, Quantity::Velocity),
        (2, 2, Quantity::Pressure),
        (3, 1, Quantity::Strain),
    ] {
        let case = Case {
            surface: true,
            order: 8,
            jdata,
            quantity,
            ..plain(ndim)
        };
        let errors = [
            apart_in_exact_time::<f64>(&case, 5),
            apart_in_exact_time::<f32>(&case, 5),
        ];
        println!("{errors:?} {case:?}");
        assert!(errors[0] <= 1e-12 && errors[1] <= 1e-5, "{errors:?} {case:?}");
    }
}

#[test]
fn any_memory_gives_the_same_bits() {
    let case = Case {
        surface: true,
        mechanisms: Some(Mechanisms::Everywhere(2)),
        quantity: Quantity::Displacement,
        jdata: 2,
        ..plain(2)
    };
    let (shot, mut random) = (case.shot(), Random(7));
    let born = case.born::<f32>(&shot, case.medium());
    let data: Vec<f32> = (0..born.records() * born.values())
        .map(|_| random.next() as f32)
        .collect();
    let [state, tape] = born.sizes();
    let back = |memory: usize| {
        let schedule = CheckpointSchedule::choose(case.nt, [state, tape], memory).expect("it fits");
        println!("{schedule:?}: {} additional steps", schedule.extra(case.nt));
        assert!(schedule.bytes([state, tape]) <= memory);
        born.adjoint(&data, &schedule).expect("the reverse sweep")
    };
    let all = back(2 * state + case.nt * tape);
    assert!(all.iter().any(|&x| x != 0.0));
    for share in [2, 5, 12] {
        assert_eq!(
            all,
            back(2 * state + case.nt * tape / share),
            "1/{share} of the steps"
        );
    }
    assert_eq!(all, back(4 * state + tape), "two checkpoints");
    assert_eq!(all, back(2 * state + tape), "the least");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let request = ImageRequest {
        kinds: vec![Kind::Pp, Kind::Ps, Kind::Sp, Kind::Ss, Kind::Energy],
        lags: vec![[0; 3], [1, -1, 0]],
    };
    for (ndim, mechanisms) in [(2, None), (2, Some(Mechanisms::Everywhere(2))), (3, None)] {
        let case = Case {
            surface: true,
            mechanisms,
            nt: 36 / ndim,
            ..plain(ndim)
        };
        let all = |threads: usize| {
            let born = case.born_with::<f32>(&case.shot(), case.medium(), threads);
            let model = case.perturbation(&born, &mut Random(13));
            let [background, change] = records(&born, Some(&model));
            let schedule = |sizes: [usize; 2]| {
                CheckpointSchedule::choose(case.nt, sizes, 4 * sizes[0] + (case.nt / 2) * sizes[1])
                    .expect("it fits")
            };
            let mut back = vec![schedule(born.sizes())];
            back.extend(
                born.boundary_sizes()
                    .map(|(sizes, _)| schedule(sizes).with_boundary_saving()),
            );
            let images = born.images(&change, &schedule(born.sizes_of_images(&request)), &request);
            let mut results: Vec<Vec<f32>> = vec![background];
            for schedule in &back {
                results.push(born.adjoint(&change, schedule).expect("the reverse sweep"));
            }
            let images = images.expect("images").into_iter();
            results.extend(images.flat_map(|picture| [picture.image, picture.light]));
            results.push(change);
            results
        };
        let one = all(1);
        assert_eq!(one.len(), 13 + usize::from(mechanisms.is_none()));
        assert!(one.iter().all(|numbers| numbers.iter().any(|&x| x != 0.0)));
        for threads in [2, 3] {
            assert!(all(threads) == one, "{ndim}-D {mechanisms:?}, {threads} threads");
        }
    }
}

/// The gradient of a misfit is the adjoint applied to its residual, whether all steps are kept in memory or not.
#[test]
fn gradients_bring_the_residual_back() {
    let case = Case {
        surface: true,
        jdata: 2,
        ..plain(2)
    };
    let (shot, mut random) = (case.shot(), Random(11));
    let born = case.born::<f32>(&shot, case.medium());
    let [modelled, _] = records(&born, None);
    let observed: Vec<f32> = modelled.iter().map(|x| x * random.next() as f32).collect();
    let rest =
        |modelled: &[f32]| -> Vec<f32> { modelled.iter().zip(&observed).map(|(a, b)| a - b).collect() };
    let [state, tape] = born.sizes();
    let all =
        CheckpointSchedule::choose(case.nt, [state, tape], 2 * state + case.nt * tape).expect("it fits");
    let few = CheckpointSchedule::choose(case.nt, [state, tape], 4 * state + 9 * tape).expect("it fits");
    assert!(all.segments == 1 && few.segments > 1);
    let expected = born.adjoint(&rest(&modelled), &all).expect("the reverse sweep");
    for schedule in [all, few] {
        let mut residual = |modelled: &[f32]| Ok(rest(modelled));
        let got = born.gradient(&mut residual, &schedule).expect("a gradient");
        assert_eq!(got, expected);
    }
}

/// After a change to another shot, the operator is the same as one that was made for that shot.
#[test]
fn the_next_shot_is_one_of_its_own() {
    let case = Case {
        surface: true,
        ..plain(2)
    };
    let first = case.shot();
    let mut second = case.shot();
    second
        .sources
        .iter_mut()
        .for_each(|source| source.point[1] += 2.3);
    second.receivers.iter_mut().for_each(|point| point[1] += 1.7);
    let mut born = case.born::<f32>(&first, case.medium());
    let [before, _] = records(&born, None);
    born.next_shot(&second).expect("another shot");
    let [after, _] = records(&born, None);
    let [expected, _] = records(&case.born::<f32>(&second, case.medium()), None);
    assert!(after == expected && after != before);
    let mut far = second.clone();
    far.receivers[0] = [1000.0, 0.0, 0.0];
    assert!(born.next_shot(&far).is_err());
}
