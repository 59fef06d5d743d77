//! The scan compared with exact formulas in every cell.

use super::*;
use crate::largest::largest;
use crate::medium::{Coefficients, Fault, Speeds, Symmetry, Tsvankin, rotate, triclinic};

/// Uniform numbers in 0 .. 1 (xorshift).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }

    /// A positive definite orthorhombic cell, often unlike any rock, rounded to float32.
    fn cell(&mut self) -> Stiffness {
        loop {
            let mut c: [f64; 9] = std::array::from_fn(|_| self.between(0.2, 30.0));
            (6..9).for_each(|i| c[i] = self.between(-20.0, 30.0));
            let s = Stiffness::from_planes(c.map(|v| f64::from(v as f32)));
            if s.fault(3).is_none() {
                return s;
            }
        }
    }
}

/// A positive definite cell without symmetry planes: its coefficients in memory order, rounded to float32.
fn oblique(noise: &mut Noise, ndim: usize) -> Vec<f64> {
    let table = Coefficients::All.table(ndim);
    loop {
        let turn = rotate::rotation(noise.between(0.0, 90.0), noise.between(0.0, 360.0));
        let mut c = rotate::rotated(&noise.cell().voigt(), &turn);
        for (i, j) in (0..6).flat_map(|i| (i + 1..6).map(move |j| (i, j))) {
            c[i][j] += noise.between(-0.5, 0.5);
        }
        let cell: Vec<f64> = table
            .pairs
            .iter()
            .map(|&pair| f64::from(rotate::entry(&c, pair) as f32))
            .collect();
        if triclinic::fault(ndim, &cell).is_none() {
            return cell;
        }
    }
}

/// The scan of models with all coefficients gives the results of the exact formulas in every cell.
#[test]
fn scan_is_exact_over_models_without_symmetry_planes() {
    let mut noise = Noise(29);
    for (round, n) in [1, 16, 17, 700].into_iter().cycle().take(16).enumerate() {
        let ndim = 2 + round % 2;
        let cells: Vec<_> = (0..n).map(|_| oblique(&mut noise, ndim)).collect();
        let rho: Vec<f32> = (0..n).map(|_| noise.between(0.5, 4.0) as f32).collect();
        let d: [f64; 3] = std::array::from_fn(|_| noise.between(2.0, 20.0));
        let mut all: Vec<Vec<f32>> = (0..cells[0].len())
            .map(|p| cells.iter().map(|c| c[p] as f32).collect())
            .collect();
        all.push(rho.clone());
        let scan = scanned(&all, ndim, d).unwrap();
        let symbol = largest_symbol(&WEIGHTS);
        let k = [
            symbol / d[1],
            if ndim == 3 { symbol / d[2] } else { 0.0 },
            symbol / d[0],
        ];
        let full = |i: usize| rotate::matrix(ndim, &cells[i]);
        let dt = |i: usize| 2.0 / (largest_rate_of_any(&full(i), k, ndim) / f64::from(rho[i])).sqrt();
        let first = (0..n).min_by(|&a, &b| dt(a).total_cmp(&dt(b))).unwrap();
        assert_eq!((scan.dt_cell, scan.symmetry), (first, Symmetry::Triclinic));
        assert!((scan.dt_max / dt(first) - 1.0).abs() < 1e-12);
        let speeds = |i: usize| {
            let (slow, fast) = slow_and_fast_of_any(&full(i), ndim);
            (
                (slow / f64::from(rho[i])).sqrt(),
                (fast / f64::from(rho[i])).sqrt(),
            )
        };
        let slow = 1.0 / largest((0..n).map(|i| 1.0 / speeds(i).0));
        let fast = largest((0..n).map(|i| speeds(i).1));
        assert!((scan.slowest / slow - 1.0).abs() < 1e-12 && (scan.fastest / fast - 1.0).abs() < 1e-12);
        // No wave vector in the box has a larger eigenvalue than the corners.
        for (i, _) in cells.iter().enumerate().take(20) {
            let worst = largest_rate_of_any(&full(i), k, ndim);
            for _ in 0..50 {
                let inside = k.map(|b| noise.between(-b, b));
                assert!(rates_of_any(&full(i), inside, ndim)[0] <= worst * (1.0 + 1e-12));
            }
        }
    }
}

/// Cells with nine non-zero coefficients out of 21 give the same result as cells with nine coefficients, even among
/// cells with more.
#[test]
fn cells_with_symmetry_planes_among_others() {
    let mut noise = Noise(31);
    for ndim in [2, 3] {
        let cells: Vec<_> = (0..100).map(|_| noise.cell()).collect();
        let few = planes(&cells, &[2.0; 100], ndim);
        let mut all = few.clone();
        let count = Coefficients::All.count(ndim);
        all.splice(
            few.len() - 1..few.len() - 1,
            vec![vec![0.0; 100]; count + 1 - few.len()],
        );
        let want = scanned(&few, ndim, [5.0, 6.0, 7.0]).unwrap();
        assert_eq!(scanned(&all, ndim, [5.0, 6.0, 7.0]).unwrap(), want);
        // A rounding error of float32 counts as zero; a larger value does not.
        all[count - 1][50] = 1e-7;
        let scan = scanned(&all, ndim, [5.0, 6.0, 7.0]).unwrap();
        assert_eq!((scan.symmetry, scan.dt_cell), (want.symmetry, want.dt_cell));
        all[count - 1][50] = 0.01;
        let scan = scanned(&all, ndim, [5.0, 6.0, 7.0]).unwrap();
        assert_eq!(scan.symmetry, Symmetry::Triclinic);
        all[count - 1][50] = 1e3;
        let bad = scanned(&all, ndim, [5.0, 6.0, 7.0]).unwrap_err();
        assert_eq!(bad.cell, 50);
        assert!(
            bad.to_string()
                .contains(if ndim == 2 { "c35 = 1000" } else { "c56 = 1000" }),
            "{bad}"
        );
    }
}

/// Arrays of a model in the order of files, density last.
fn planes(cells: &[Stiffness], rho: &[f32], ndim: usize) -> Vec<Vec<f32>> {
    let count = if ndim == 2 { 4 } else { 9 };
    let value = |s: &Stiffness, p: usize| {
        if ndim == 2 {
            s.planes_2d()[p]
        } else {
            s.planes()[p]
        }
    };
    let mut all: Vec<Vec<f32>> = (0..count)
        .map(|p| cells.iter().map(|s| value(s, p) as f32).collect())
        .collect();
    all.push(rho.to_vec());
    all
}

fn scan_rows(scan: &mut Scan, planes: &[Vec<f32>], range: std::ops::Range<usize>) {
    let (c, rho) = planes.split_at(planes.len() - 1);
    let c: Vec<&[f32]> = c.iter().map(|p| &p[range.clone()]).collect();
    scan.rows(&c, &rho[0][range.clone()], range.start);
}

fn scanned(planes: &[Vec<f32>], ndim: usize, d: [f64; 3]) -> Result<Extremes, BadCell> {
    let mut scan = Scan::new(ndim, d);
    scan_rows(&mut scan, planes, 0..planes[0].len());
    scan.finish()
}

/// No wave vector inside the box has a larger eigenvalue than the corner.
#[test]
fn corner_is_the_worst_wave_vector() {
    let mut noise = Noise(7);
    for _ in 0..300 {
        let s = noise.cell();
        let box_size: [f64; 3] = std::array::from_fn(|_| noise.between(0.1, 2.0));
        for ndim in [2, 3] {
            let corner = largest_rate(&s, box_size, ndim);
            for _ in 0..200 {
                let k = box_size.map(|b| noise.between(-b, b));
                assert!(largest_rate(&s, k, ndim) <= corner * (1.0 + 1e-12), "{s:?} {k:?}");
            }
        }
    }
}

/// The pruned, vectorised scan gives the results of the exact formula in every cell.
#[test]
fn scan_is_exact_over_random_models() {
    let mut noise = Noise(11);
    for (round, n) in [1, 5, 16, 17, 100, 1000, 3001]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        let cells: Vec<_> = (0..n).map(|_| noise.cell()).collect();
        let rho: Vec<f32> = (0..n).map(|_| noise.between(0.5, 4.0) as f32).collect();
        let d: [f64; 3] = std::array::from_fn(|_| noise.between(2.0, 20.0));
        let ndim = 2 + round % 2;
        let scan = scanned(&planes(&cells, &rho, ndim), ndim, d).unwrap();

        let symbol = largest_symbol(&WEIGHTS);
        let k = [symbol / d[1], symbol / d[2], symbol / d[0]];
        let density = |i: usize| f64::from(rho[i]);
        let dt = |i: usize| 2.0 / (largest_rate(&cells[i], k, ndim) / density(i)).sqrt();
        let first = (0..n).min_by(|&a, &b| dt(a).total_cmp(&dt(b))).unwrap();
        assert_eq!(scan.dt_cell, first);
        assert!((scan.dt_max / dt(first) - 1.0).abs() < 1e-12);
        let speeds = |i: usize| slow_and_fast(&cells[i], ndim);
        let slow = 1.0 / largest((0..n).map(|i| (density(i) / speeds(i).0).sqrt()));
        let fast = largest((0..n).map(|i| (speeds(i).1 / density(i)).sqrt()));
        assert!((scan.slowest / slow - 1.0).abs() < 1e-12 && (scan.fastest / fast - 1.0).abs() < 1e-12);
        assert_eq!(
            scan.symmetry,
            if ndim == 2 {
                Symmetry::Vti
            } else {
                Symmetry::Orthorhombic
            }
        );
        assert_eq!(scan.fluids, 0);
    }
}

/// Distributing the rows over several passes does not change the result, not even which of several equal cells is
/// named.
#[test]
fn merging_gives_the_same_answer() {
    let mut noise = Noise(3);
    let kinds: Vec<_> = (0..7).map(|_| noise.cell()).collect();
    let cells: Vec<_> = (0..500).map(|i| kinds[(i / 9 + 3) % 7]).collect();
    let all = planes(&cells, &[2.0; 500], 3);
    let whole = scanned(&all, 3, [5.0, 6.0, 7.0]).unwrap();
    for cuts in [vec![0, 250, 500], vec![0, 13, 14, 111, 500]] {
        let parts: Vec<Scan> = cuts
            .windows(2)
            .map(|w| {
                let mut scan = Scan::new(3, [5.0, 6.0, 7.0]);
                scan_rows(&mut scan, &all, w[0]..w[1]);
                scan
            })
            .collect();
        for order in [parts.clone(), parts.into_iter().rev().collect()] {
            let mut total = Scan::new(3, [5.0, 6.0, 7.0]);
            order.iter().for_each(|p| total.merge(p));
            assert_eq!(total.finish().unwrap(), whole);
        }
    }
}

#[test]
fn isotropic_limit_is_the_known_one() {
    let s = Stiffness::isotropic(Speeds {
        vp: 2000.0,
        vs: 1000.0,
        rho: 2000.0,
    });
    let symbol = largest_symbol(&WEIGHTS);
    let d = [10.0f64, 12.0, 15.0];
    let scan = scanned(&planes(&[s; 40], &[2000.0; 40], 3), 3, d).unwrap();
    let sum: f64 = d.iter().map(|d| 1.0 / (d * d)).sum();
    assert!((scan.dt_max * 2000.0 * symbol * sum.sqrt() / 2.0 - 1.0).abs() < 1e-7);
    assert!((scan.slowest / 1000.0 - 1.0).abs() < 1e-6 && (scan.fastest / 2000.0 - 1.0).abs() < 1e-6);
    assert_eq!((scan.dt_cell, scan.symmetry), (0, Symmetry::Isotropic));
    let flat = scanned(&planes(&[s; 40], &[2000.0; 40], 2), 2, [10.0, 12.0, f64::NAN]).unwrap();
    let sum: f64 = d[..2].iter().map(|d| 1.0 / (d * d)).sum();
    assert!((flat.dt_max * 2000.0 * symbol * sum.sqrt() / 2.0 - 1.0).abs() < 1e-7);
    assert_eq!(flat.symmetry, Symmetry::Isotropic);
}

#[test]
fn fluids_are_counted_and_their_shear_ignored() {
    let rock = Stiffness::isotropic(Speeds {
        vp: 3.0,
        vs: 1.7,
        rho: 2.0,
    });
    let water = Stiffness::isotropic(Speeds {
        vp: 1.5,
        vs: 0.0,
        rho: 1.0,
    });
    let cells: Vec<_> = (0..100).map(|i| if i < 30 { water } else { rock }).collect();
    let rho: Vec<f32> = (0..100).map(|i| if i < 30 { 1.0 } else { 2.0 }).collect();
    for ndim in [2, 3] {
        let scan = scanned(&planes(&cells, &rho, ndim), ndim, [1.0; 3]).unwrap();
        assert_eq!((scan.fluids, scan.symmetry), (30, Symmetry::Isotropic));
        assert_eq!((scan.slowest_cell, scan.dt_cell), (0, 30));
        assert!((scan.slowest - 1.5).abs() < 1e-6);
    }
}

#[test]
fn classes_of_whole_models() {
    let speeds = Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: 2.2,
    };
    let t = Tsvankin {
        eps1: 0.1,
        eps2: 0.1,
        del1: 0.05,
        del2: 0.05,
        gam1: 0.1,
        gam2: 0.1,
        del3: 0.0,
    };
    let vti = Stiffness::orthorhombic(speeds, t).unwrap();
    let quarter = rotate::rotated(&vti.voigt(), &rotate::rotation(90.0, 0.0));
    let hti = rotate::fitted(&quarter, 3).unwrap();
    let iso = Stiffness::isotropic(speeds);
    let class = |cells: &[Stiffness]| {
        scanned(&planes(cells, &vec![2.2; cells.len()], 3), 3, [1.0; 3])
            .unwrap()
            .symmetry
    };
    assert_eq!(class(&[iso, iso]), Symmetry::Isotropic);
    assert_eq!(class(&[iso, vti, iso]), Symmetry::Vti);
    assert_eq!(class(&[iso, hti]), Symmetry::Hti);
    assert_eq!(class(&[hti, vti]), Symmetry::Orthorhombic);
}

#[test]
fn the_first_bad_cell_is_named() {
    let mut noise = Noise(5);
    let cells: Vec<_> = (0..200).map(|_| noise.cell()).collect();
    let sound = planes(&cells, &[2.0; 200], 3);
    let spoil = |changes: &[(usize, usize, f32)]| {
        let mut bad = sound.clone();
        changes
            .iter()
            .for_each(|&(plane, cell, value)| bad[plane][cell] = value);
        scanned(&bad, 3, [1.0; 3]).unwrap_err()
    };
    let nan = spoil(&[(7, 150, f32::NAN), (3, 170, -1.0)]);
    assert_eq!(nan.cell, 150);
    assert!(
        nan.to_string()
            .starts_with("c13 is NaN, not a finite number (c11 = "),
        "{nan}"
    );
    assert_eq!(spoil(&[(9, 199, 0.0)]).fault, Fault::Density(0.0));
    assert!(matches!(
        spoil(&[(9, 3, f32::INFINITY)]).fault,
        Fault::NotFinite {
            name: "the density",
            ..
        }
    ));
    assert_eq!(
        spoil(&[(3, 17, -0.5), (9, 18, -1.0)]).fault,
        Fault::Negative {
            name: "c44",
            value: -0.5
        }
    );
    assert!(matches!(spoil(&[(6, 0, 60.0)]).fault, Fault::Indefinite { .. }));
    for plane in 0..10 {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(spoil(&[(plane, 42, value)]).cell, 42);
        }
    }
    let mut early = Scan::new(3, [1.0; 3]);
    let mut late = early.clone();
    let mut bad = sound.clone();
    (bad[0][20], bad[0][120]) = (-1.0, -2.0);
    scan_rows(&mut early, &bad, 0..100);
    scan_rows(&mut late, &bad, 100..200);
    late.merge(&early);
    assert_eq!(late.finish().unwrap_err().cell, 20);
}

#[test]
fn symbol_of_order_eight() {
    let d = largest_symbol(&WEIGHTS);
    assert!((d - 1.7306).abs() < 1e-4, "{d}");
    assert!((largest_symbol(&[0.5]) - 1.0).abs() < 1e-14);
    let dense = (0..100_000).map(|i| {
        let theta = f64::from(i) * std::f64::consts::PI / 1e5;
        (1..)
            .zip(WEIGHTS)
            .map(|(m, w)| 2.0 * w * (f64::from(m) * theta).sin())
            .sum::<f64>()
    });
    let brute = largest(dense);
    assert!(d >= brute && d - brute < 1e-8);
}

#[test]
fn isotropic_speeds() {
    let s = Stiffness::from_planes([9.0, 9.0, 9.0, 2.0, 2.0, 2.0, 5.0, 5.0, 5.0]);
    for ndim in [2, 3] {
        let (slow, fast) = slow_and_fast(&s, ndim);
        assert!((slow - 2.0).abs() < 1e-14 && (fast - 9.0).abs() < 1e-14);
    }
    let water = Stiffness::from_planes([2.25, 2.25, 2.25, 0.0, 0.0, 0.0, 2.25, 2.25, 2.25]);
    assert_eq!(slow_and_fast(&water, 3), (2.25, 2.25));
}

/// The largest eigenvalue of `-(1/rho) D c D` on a line of cells, by the power method.
fn largest_eigenvalue(cells: &[[f64; 2]]) -> f64 {
    let slope = |u: &[f64]| -> Vec<f64> {
        let at = |i: usize, m: isize| {
            i.checked_add_signed(m)
                .and_then(|i| u.get(i))
                .copied()
                .unwrap_or(0.0)
        };
        (0..u.len())
            .map(|i| crate::grid::stencil::derivative(|m| at(i, m), 1.0))
            .collect()
    };
    let mut noise = Noise(7);
    let mut u: Vec<f64> = cells.iter().map(|_| noise.between(-1.0, 1.0)).collect();
    let mut length = 0.0;
    for _ in 0..600 {
        // Scaling by the square root of the density makes the operator symmetric.
        let scaled: Vec<f64> = u.iter().zip(cells).map(|(u, [rho, _])| u / rho.sqrt()).collect();
        let stress: Vec<f64> = slope(&scaled)
            .iter()
            .zip(cells)
            .map(|(s, [rho, v])| rho * v * v * s)
            .collect();
        u = slope(&stress)
            .iter()
            .zip(cells)
            .map(|(s, [rho, _])| -s / rho.sqrt())
            .collect();
        length = u.iter().map(|u| u * u).sum::<f64>().sqrt();
        u.iter_mut().for_each(|u| *u /= length);
    }
    length
}

/// Jumps of density lower the limit of single cells by the factors in the documentation of `stability/mod.rs`.
#[test]
fn jumps_of_density_lower_the_limit_and_jumps_of_speed_do_not() {
    let left = |low: [f64; 2], high: [f64; 2]| {
        let cells = [vec![low; 50], vec![high; 50]].concat();
        let limit = largest_symbol(&WEIGHTS) * low[1].max(high[1]);
        limit / largest_eigenvalue(&cells).sqrt()
    };
    // Density and speed; the tolerance is half a unit of the last documented digit.
    let water_on_rock = left([1.0, 1.5], [2.5, 3.0]);
    let equal_speeds = left([1.0, 3.0], [4.0, 3.0]);
    let equal_densities = left([1.0, 1.5], [1.0, 3.0]);
    println!("{water_on_rock:.4} {equal_speeds:.4} {equal_densities:.4}");
    assert!((water_on_rock - 0.97).abs() < 5e-3 && (equal_speeds - 0.81).abs() < 5e-3);
    assert!(equal_densities >= 1.0);
}
