//! `sfupscale`: the directions of layers in the fine medium.

use crate::desk::Desk;
use crate::shots::relative_difference;

/// Nodes of the fine grid along both axes, and the ratio of the spacings of the coarse and the fine grid.
const N: usize = 41;
const FACTOR: usize = 4;

/// A vertical sheet of soft rock gives the result of a horizontal sheet with the axes exchanged. At the nodes in its
/// middle the medium has no slope, so only its curvature shows the direction.
#[test]
fn sheets_have_one_medium_in_either_direction() {
    let desk = Desk::new();
    let grid = format!("n1={N} n2={N} d1=2 d2=2");
    let coarse = |name: &str, upright: bool| -> [Vec<f32>; 5] {
        let soft = |cell: usize| (if upright { cell / N } else { cell % N }).abs_diff(N / 2) <= 1;
        let plane = |hard: f32, weak: f32| (0..N * N).map(move |cell| if soft(cell) { weak } else { hard });
        // These are c11, c33, c55 and c13, in GPa, of rocks with vp = 3000 and 2000 m/s and vs = 1700 and 1000 m/s.
        let planes =
            [(20.7, 8.0), (20.7, 8.0), (6.647, 2.0), (7.406, 4.0)].map(|(a, b)| plane(a * 1e9, b * 1e9));
        let ccc: Vec<f32> = planes.into_iter().flatten().collect();
        desk.dataset("fineccc.rsf", &format!("{grid} n3=4"), &ccc);
        desk.dataset("fine.rsf", &grid, &plane(2300.0, 2000.0).collect::<Vec<f32>>());
        desk.ran(&format!(
            "sfupscale < fineccc.rsf den=fine.rsf n={FACTOR} planes=4 denout={name}den.rsf > {name}.rsf"
        ));
        let (den, ccc) = (
            desk.read(&format!("{name}den.rsf")),
            desk.read(&format!("{name}.rsf")),
        );
        let n = (N - 1) / FACTOR + 1;
        assert_eq!((den.len(), ccc.len()), (n * n, 4 * n * n));
        let planes: Vec<Vec<f32>> = ccc.chunks(n * n).map(<[f32]>::to_vec).collect();
        let [c11, c33, c55, c13] = planes.try_into().expect("four");
        [den, c11, c33, c55, c13]
    };
    let turned = |plane: &[f32]| -> Vec<f32> {
        let n = (N - 1) / FACTOR + 1;
        (0..n * n).map(|cell| plane[cell / n + n * (cell % n)]).collect()
    };
    let flat = coarse("flat", false);
    let [den, c11, c33, c55, c13] = coarse("upright", true).map(|plane| turned(&plane));
    // The axes are exchanged, and c11 and c33 with them.
    for (number, (flat, upright)) in flat.iter().zip([den, c33, c11, c55, c13]).enumerate() {
        let apart = relative_difference(&upright, flat);
        println!("plane {number}: {apart:.1e}");
        // The tolerance is a few roundings to 24 bits; the measured difference is 0.
        assert!(apart <= 3e-7, "plane {number}: {apart:e}");
    }
    // Across a sheet the medium is softer than along it.
    let middle = flat[0].len() / 2;
    let share = flat[2][middle] / flat[1][middle];
    assert!(share < 0.95, "{share}");
}

/// Beyond the grid its last nodes repeat: the two rocks of a model with two halves remain themselves at the edges.
#[test]
fn edges_keep_their_rock() {
    let desk = Desk::new();
    let n = (N - 1) / FACTOR + 1;
    for upright in [false, true] {
        let plane = |first: f32, last: f32| -> Vec<f32> {
            let at = |cell: usize| if upright { cell / N } else { cell % N };
            (0..N * N)
                .map(|cell| if at(cell) < N / 2 { first } else { last })
                .collect()
        };
        // These are c11, c33, c55, c13 in GPa and the density of rocks with vp = 3000 and 2000 m/s.
        let rocks = [(20.7, 8.0), (20.7, 8.0), (6.647, 2.0), (7.406, 4.0)].map(|(a, b)| (a * 1e9, b * 1e9));
        let ccc: Vec<f32> = rocks.iter().flat_map(|&(a, b)| plane(a, b)).collect();
        desk.dataset("fineccc.rsf", &format!("n1={N} n2={N} d1=2 d2=2 n3=4"), &ccc);
        desk.dataset(
            "fine.rsf",
            &format!("n1={N} n2={N} d1=2 d2=2"),
            &plane(2300.0, 2000.0),
        );
        desk.ran(&format!(
            "sfupscale < fineccc.rsf den=fine.rsf n={FACTOR} planes=4 denout=den.rsf > ccc.rsf"
        ));
        let all = [desk.read("den.rsf"), desk.read("ccc.rsf")].concat();
        let values = [(2300.0, 2000.0)].into_iter().chain(rocks);
        for (number, (plane, (first, last))) in all.chunks(n * n).zip(values).enumerate() {
            for along in 0..n {
                let at = |across: usize| {
                    plane[if upright {
                        across * n + along
                    } else {
                        along * n + across
                    }]
                };
                // The tolerance is a few roundings to 24 bits of a sum of equal values.
                assert!((at(0) / first - 1.0).abs() < 3e-7, "plane {number}: {}", at(0));
                assert!(
                    (at(n - 1) / last - 1.0).abs() < 3e-7,
                    "plane {number}: {}",
                    at(n - 1)
                );
            }
        }
    }
}

/// The sums for isotropic fine media give the same results as the comparison of all nodes, which other media need. A fine
/// model whose c44 (in 2-D c13) differs from the value of an isotropic medium by 5e-6 is treated as anisotropic.
#[test]
fn isotropic_media_are_those_of_any_media() {
    for (grid, cells) in [
        ("n1=41 n2=37 d1=2 d2=2", 41 * 37),
        ("n1=13 n2=11 n3=9 d1=2 d2=2 d3=2", 13 * 11 * 9),
    ] {
        let is_3d = grid.contains("n3");
        for scheme in ["collocated", "staggered"] {
            let desk = Desk::new();
            // Graded rock, a sharp interface, and water above.
            let rock = |cell: usize| -> [f32; 3] {
                let [z, x] = if is_3d {
                    [cell % 13, cell / 13 % 11 + 2 * (cell / 143)]
                } else {
                    [cell % 41, cell / 41]
                };
                let (z, x) = (z as f32, x as f32);
                match (z < 3.0, z > 8.0 + 0.3 * x) {
                    (true, _) => [1000.0, 2.25e9, 0.0],
                    (_, false) => [2000.0 + 3.0 * z, 8e9 + 5e7 * x, 2e9 + 1e7 * (x * z)],
                    _ => [2300.0 + x, 20e9 + 2e7 * x * z, 6e9 + 3e7 * z],
                }
            };
            let upscaled = |name: &str, off: f32| {
                let plane = |of: &dyn Fn([f32; 3]) -> f32| {
                    (0..cells).map(|cell| of(rock(cell))).collect::<Vec<f32>>()
                };
                let [press, shear] = [plane(&|r| r[1]), plane(&|r| r[2])];
                let lambda = plane(&|r| r[1] - 2.0 * r[2]);
                let changed = |plane: &[f32]| plane.iter().map(|c| c * (1.0 + off)).collect::<Vec<f32>>();
                let planes = if is_3d {
                    let [p, s, l] = [&press, &shear, &lambda];
                    [p, p, p, &changed(s), s, s, l, l, l].map(Clone::clone).concat()
                } else {
                    // The water stays a fluid for any normal.
                    let coupling = lambda.iter().zip(&shear).map(|(l, s)| l + off * s).collect();
                    [press.clone(), press, shear, coupling].concat()
                };
                let count = if is_3d { "n4=9" } else { "n3=4" };
                desk.dataset("fineccc.rsf", &format!("{grid} {count}"), &planes);
                desk.dataset("fine.rsf", grid, &plane(&|r| r[0]));
                desk.ran(&format!(
                    "sfupscale < fineccc.rsf den=fine.rsf n=2 scheme={scheme} denout={name}den.rsf > {name}.rsf"
                ));
                [
                    desk.read(&format!("{name}den.rsf")),
                    desk.read(&format!("{name}.rsf")),
                ]
            };
            let ([density, c], [other_density, other]) = (upscaled("iso", 0.0), upscaled("any", -5e-6));
            let scale = 26e9;
            for (a, b) in density.iter().zip(&other_density) {
                assert!((a - b).abs() < 1e-3, "{grid} {scheme}: density {a} and {b}");
            }
            for (k, (a, b)) in c.iter().zip(&other).enumerate() {
                assert!((a - b).abs() < 3e-5 * scale, "{grid} {scheme} {k}: {a} and {b}");
            }
        }
    }
}
