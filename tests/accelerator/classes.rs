//! The kernels of a symmetry class, which keep fewer coefficients, give the same results for a medium of that class as
//! the orthorhombic kernels.

use crate::cases::{World, difference, settings};
use crate::runs::{How, Machines, misfit, record};
use crate::shots::{Tape, medium, oblique_medium, run_on};
use crate::tiles::turn;
use kernels::device::accelerator::Accelerator;
use kernels::device::simd::Real;
use kernels::medium::{Speeds, Stiffness, Symmetry, Thomsen};

const CLASSES: [Symmetry; 3] = [Symmetry::Isotropic, Symmetry::Vti, Symmetry::Hti];

/// A different medium of the class in every cell.
fn earth(class: Symmetry, [z, x, y]: [f64; 3]) -> (Stiffness, f64) {
    let wave = |k: f64| (0.6 * k * z + 0.8 * x - 0.4 * k * y + k).sin();
    let rho = 2.0 + 0.3 * wave(1.1);
    let speeds = Speeds {
        vp: 3.0 + 0.4 * wave(0.7),
        vs: 1.6 + 0.2 * wave(1.7),
        rho,
    };
    let t = Thomsen {
        epsilon: 0.15 + 0.05 * wave(0.9),
        delta: 0.08,
        gamma: 0.1 - 0.05 * wave(1.3),
    };
    let stiffness = match class {
        Symmetry::Isotropic => Ok(Stiffness::isotropic(speeds)),
        Symmetry::Vti => Stiffness::vti(speeds, t),
        _ => Stiffness::hti_permuted(speeds, t),
    };
    // Multiples of 1/256 up to 64 are exact in float32, and so are their sums.
    let c = stiffness
        .expect("a real medium")
        .planes()
        .map(|c| (256.0 * c).round() / 256.0);
    let [c11, _, c33, _, c55, c66, _, c13, _] = c;
    let c = match class {
        Symmetry::Isotropic => {
            let p = c13 + 2.0 * c55;
            [p, p, p, c55, c55, c55, c13, c13, c13]
        }
        Symmetry::Vti => [c11, c11, c33, c55, c55, c66, c11 - 2.0 * c66, c13, c13],
        _ => [c11, c33, c33, c66, c55, c55, c13, c13, c33 - 2.0 * c66],
    };
    (Stiffness::from_planes(c), rho)
}

fn equal<T: Real + Default, A: Accelerator>(
    machines: &Machines<A>,
    (classes, numbers): (&[Symmetry], &[usize]),
    limit: f64,
) {
    for (ndim, slabs) in [(2, [12, 9, 25]), (3, [12, 8, 20])] {
        let small = World::slender(ndim);
        for &class in classes {
            let earth = medium::<T>(&small.padded, |at| earth(class, at));
            for &k in numbers {
                let shot = small.shot(settings()[k]);
                let of = |symmetry, slabs| {
                    let how = How {
                        slabs,
                        symmetry,
                        tile: None,
                    };
                    record(machines, &shot, &earth, how)
                };
                let full: Tape<T> = of(Symmetry::Orthorhombic, &[]);
                let own = of(class, &[]);
                let far = misfit(&full, &own);
                println!("{ndim}-D {class} {:?}: {far:.1e}", settings()[k]);
                assert!(far < limit, "{ndim}-D {class} {:?}: {far}", settings()[k]);
                let first_difference = difference(&own, &of(class, &slabs));
                assert_eq!(
                    first_difference,
                    None,
                    "{ndim}-D {class} {:?} on slabs",
                    settings()[k]
                );
            }
        }
    }
}

pub fn a_class_equals_orthorhombic<A: Accelerator>(machines: &Machines<A>) {
    let every: Vec<usize> = (0..settings().len()).collect();
    let numbers = if machines.quick { &every[..] } else { &[0, 5] };
    equal::<f32, A>(machines, (&CLASSES, numbers), 1e-6);
}

pub fn a_class_equals_orthorhombic_in_float64<A: Accelerator>(machines: &Machines<A>) {
    // Precision does not depend on the class, so all classes are tested only where that is fast.
    let (classes, numbers) = match machines.quick {
        true => (&CLASSES[..], &[0, 3, 5][..]),
        false => (&CLASSES[1..2], &[5][..]),
    };
    equal::<f64, A>(machines, (classes, numbers), 1e-12);
}

/// A medium with all coefficients gives the results of the CPU engine on every form of the sweep, and the same bits on
/// slabs.
fn oblique<T: Real + Default, A: Accelerator>(machines: &Machines<A>, numbers: &[usize], limit: f64) {
    for (ndim, slabs) in [(2, [12, 9, 25]), (3, [12, 8, 20])] {
        let small = World::slender(ndim);
        for (n, &k) in numbers.iter().enumerate() {
            let (shot, earth) = (small.shot(settings()[k]), small.oblique::<T>());
            let cpu: Tape<T> = run_on(&shot, small.oblique(), 1, &[]).expect("the shot runs");
            let of = |slabs| How {
                slabs,
                symmetry: Symmetry::Triclinic,
                tile: Some(turn::<T, A>(machines, ndim, n)),
            };
            let whole = record(machines, &shot, &earth, of(&[]));
            let far = misfit(&cpu, &whole);
            println!("{ndim}-D triclinic {:?}: {far:.1e}", settings()[k]);
            assert!(far < limit, "{ndim}-D {:?}: {far}", settings()[k]);
            let first_difference = difference(&whole, &record(machines, &shot, &earth, of(&slabs)));
            assert_eq!(first_difference, None, "{ndim}-D {:?} on slabs", settings()[k]);
        }
    }
}

pub fn triclinic_media_agree_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    let every: Vec<usize> = (0..settings().len()).collect();
    oblique::<f32, A>(machines, if machines.quick { &every } else { &[0, 5, 7] }, 1e-5);
    oblique::<f64, A>(machines, if machines.quick { &[0, 3, 5] } else { &[5] }, 1e-12);
}

/// Coefficients that are zero do not change the result.
pub fn orthorhombic_media_are_triclinic_media<A: Accelerator>(machines: &Machines<A>) {
    for ndim in [2, 3] {
        let small = World::slender(ndim);
        let shot = small.shot(settings()[0]);
        let plain = |at| {
            let (stiffness, rho) = earth(Symmetry::Hti, at);
            (stiffness.voigt(), rho)
        };
        let of = |symmetry| How {
            symmetry,
            ..How::PLAIN
        };
        let nine = medium(&small.padded, |at| earth(Symmetry::Hti, at));
        let all = oblique_medium(&small.padded, plain);
        let one: Tape<f32> = record(machines, &shot, &nine, of(Symmetry::Orthorhombic));
        let other = record(machines, &shot, &all, of(Symmetry::Triclinic));
        assert_eq!(misfit(&one, &other), 0.0, "{ndim}-D on the accelerator");
        let cpu = |medium| run_on::<f32>(&shot, medium, 2, &[]).expect("the shot runs");
        let all = oblique_medium(&small.padded, plain);
        let nine = medium(&small.padded, |at| earth(Symmetry::Hti, at));
        assert_eq!(misfit(&cpu(nine), &cpu(all)), 0.0, "{ndim}-D on the processor");
    }
}
