//! Boxes of all kinds are valid meshes of the right size.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::desk::Desk;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../tests/regressions/boxes.txt"))), ..ProptestConfig::default() })]

    #[test]
    fn every_box_is_a_sound_mesh(
        (half_x, half_y) in (1..4_usize, 0..3_usize),
        layers in prop::collection::vec(2..4_usize, 1..4),
        chosen in prop::collection::vec(any::<bool>(), 3),
        curved in any::<bool>(),
    ) {
        let doubled: Vec<usize> = (0..layers.len()).filter(|k| chosen[*k]).collect();
        let factor = 1 << doubled.len();
        let (nx, ny) = (2 * factor * half_x, 2 * factor * half_y);
        // The rows of each layer, with the counts below it.
        let (mut x, mut y, mut expected) = (nx / factor, ny / factor, 0);
        for (k, rows) in layers.iter().enumerate() {
            for row in 0..*rows {
                let doubles = doubled.contains(&k);
                expected += match row {
                    0 if doubles => { x *= 2; 3 * x / 2 * y.max(1) }
                    1 if doubles && ny > 0 => { y *= 2; 3 * y / 2 * x }
                    _ => x * y.max(1),
                };
            }
        }
        let list = |v: &[usize]| v.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let surfaces: Vec<String> = (0..=layers.len()).rev().map(|k| (k * 700).to_string()).collect();
        let mut words = format!("surfaces={} layers={} nx={nx} xmin=0 xmax=3000", surfaces.join(","), list(&layers));
        if ny > 0 {
            words += &format!(" ny={ny} ymin=-1000 ymax=1500");
        }
        if !doubled.is_empty() {
            let numbers: Vec<usize> = doubled.iter().map(|k| k + 1).collect();
            words += &format!(" doubling={}", list(&numbers));
        }
        if curved {
            words += " curved=y";
        }
        let desk = Desk::new();
        let run = desk.sh(&format!("sfhexmesh {words} > mesh.rsf"));
        prop_assert_eq!(run.code, 0, "{}: {}", words, run.err);
        let report = run.err.lines().next().unwrap_or_default().to_string();
        prop_assert!(report.contains(&format!(" {expected} elements")), "{}: {}", words, report);
        prop_assert!(report.contains(&format!("and {} free faces", nx * ny.max(1))), "{}: {}", words, report);
        // All outer faces but the top absorb, and there are no open faces inside.
        let number = |after: &str| -> usize {
            let rest = report.split(after).nth(1).unwrap_or_default();
            rest.trim().split(' ').next().and_then(|w| w.parse().ok()).unwrap_or(0)
        };
        let (absorbing, outer) = (number("degree 4;"), number("free faces of"));
        prop_assert_eq!(absorbing + nx * ny.max(1), outer, "{}: {}", words, report);
    }
}

#[test]
fn cells_of_a_map_without_data_have_a_place() {
    let desk = Desk::new();
    let mut values = vec![100.0; 12];
    (values[6], values[7]) = (f32::NAN, f32::NAN);
    desk.dataset("topo.rsf", "n1=4 o1=500 d1=10 n2=3 o2=200 d2=5", &values);
    let run = desk.sh("sfhexmesh surfaces=900,topo.rsf layers=4 nx=4 ny=4 > mesh.rsf");
    for words in [
        "topo.rsf of surfaces= is NaN in row 2 and column 3 (x=520, y=205)",
        "the first of 2 such places",
    ] {
        assert!(run.code == 1 && run.err.contains(words), "{words}: {run:?}");
    }
}

#[test]
fn maps_that_run_backwards_or_have_no_shape_are_refused() {
    let desk = Desk::new();
    desk.dataset("back.rsf", "n1=3 o1=20 d1=-10", &[0.0, 10.0, 20.0]);
    desk.dataset("deep.rsf", "n1=3 d1=10 n2=2 d2=10 n3=2", &[0.0; 12]);
    for map in ["back.rsf", "deep.rsf"] {
        let run = desk.sh(&format!("sfhexmesh surfaces=900,{map} layers=4 nx=4 > mesh.rsf"));
        let words = "a map must have n1 along x, n2 along y and spacings above zero";
        assert!(run.code == 1 && run.err.contains(words), "{map}: {run:?}");
    }
}

/// Heights in feet or kilometres are reported.
#[test]
fn maps_in_other_units_are_warned_of() {
    let desk = Desk::new();
    desk.dataset("m.rsf", "n1=3 d1=100 unit1=m unit=m", &[0.0, 10.0, 20.0]);
    desk.dataset("ft.rsf", "n1=3 d1=100 unit1=m unit=ft", &[0.0, 30.0, 60.0]);
    for (map, warns) in [("m.rsf", false), ("ft.rsf", true)] {
        let run = desk.sh(&format!("sfhexmesh surfaces=900,{map} layers=4 nx=4 > mesh.rsf"));
        let words = "says unit=ft, but its numbers are taken as m: if they are in ft, multiply them (sfscale dscale=0.3048 | sfput unit=m)";
        assert_eq!((run.code, run.err.contains(words)), (0, warns), "{run:?}");
    }
}
