//! Planes made by the recipes and programs that `sfstiffness` replaces (tests/data/stiff/README.md).

use super::rsf::{Dataset, data, dataset, planes, run, stored};
use crate::largest::{largest_difference, magnitude, relative_difference};
use kernels::medium::{Speeds, Stiffness, Thomsen, rotate};

const IN_2D: &str = "vp=vp-2d.rsf vs=vs-2d.rsf ro=ro-2d.rsf";
const IN_3D: &str = "vp=vp-3d.rsf vs=vs-3d.rsf ro=ro-3d.rsf";
const TI_2D: &str = "epsilon=eps1-2d.rsf delta=del1-2d.rsf";
const TI_3D: &str = "epsilon=eps1-3d.rsf delta=del1-3d.rsf gamma=gam1-3d.rsf";
const ORT_3D: &str = "eps1=eps1-3d.rsf eps2=eps2-3d.rsf del1=del1-3d.rsf del2=del2-3d.rsf del3=del3-3d.rsf \
                      gam1=gam1-3d.rsf gam2=gam2-3d.rsf";

/// The value of pi in tti2d.
#[allow(clippy::approx_constant)] // the approximation is intended
const RECIPE_PI: f64 = 3.1415;

/// Checks that every value agrees within `tolerance` of its plane's maximum.
fn assert_planes(what: &str, got: &Dataset, want: &Dataset, count: usize, tolerance: f64) {
    assert_eq!(got.values.len(), want.values.len(), "{what}");
    for plane in 0..count {
        assert_plane(
            &format!("{what} plane {plane}"),
            got.plane(plane, count),
            want.plane(plane, count),
            tolerance,
        );
    }
}

fn assert_plane(what: &str, got: &[f32], want: &[f32], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    let worst = relative_difference(got, want);
    assert!(worst <= tolerance, "{what}: off by {worst:e} of the maximum");
}

#[test]
fn recipes_in_2d() {
    for (words, name) in [
        (IN_2D.to_string(), "iso2d"),
        (format!("{IN_2D} {TI_2D}"), "vti2d"),
        (format!("{IN_2D} eps2=eps2-2d.rsf del2=del2-2d.rsf"), "ort2d"),
    ] {
        let (got, want) = (planes(&words), stored(name));
        assert_planes(name, &got, &want, 4, 1e-6);
        assert_eq!([got.int("n1"), got.int("n2"), got.int("n3")], [12, 10, 4]);
    }
}

#[test]
fn recipes_in_3d() {
    for (words, name) in [
        (IN_3D.to_string(), "iso3d"),
        (format!("{IN_3D} {TI_3D}"), "vti3d"),
        (format!("{IN_3D} {ORT_3D}"), "ort3d"),
        (format!("{IN_3D} {TI_3D} sym=hti"), "hti3d"),
        (format!("{IN_3D} {TI_3D} nu=90"), "hti3d"),
    ] {
        let (got, want) = (planes(&words), stored(name));
        assert_planes(name, &got, &want, 9, 1e-6);
        assert_eq!([1, 2, 3, 4].map(|i| got.int(&format!("n{i}"))), [6, 5, 4, 9]);
        assert_eq!(
            (got.key("o3"), got.key("d1"), got.key("label2")),
            (Some("0.4"), Some("0.04"), Some("\"x\""))
        );
    }
}

/// The recipe omits c15 and c35 (sfstiffness omits them only on request, with a warning) and uses 3.1415 for pi.
#[test]
fn tilted_recipe() {
    let nu = stored("nu-2d").values;
    let scaled: Vec<f32> = nu
        .iter()
        .map(|v| (f64::from(*v) * RECIPE_PI / std::f64::consts::PI) as f32)
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("nu.rsf");
    std::fs::write(&file, on_grid_2d(&scaled)).expect("a file");
    for (nu, tolerance) in [("nu-2d.rsf", 5e-5), (file.to_str().expect("a path"), 1e-6)] {
        let outcome = run(&format!("{IN_2D} {TI_2D} nu={nu} drop=y"), None);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("drop=y left out") && outcome.stderr.contains("% of the largest"));
        assert_planes(
            "tti2d",
            &Dataset::parse(&outcome.stdout),
            &stored("tti2d"),
            4,
            tolerance,
        );
    }
}

/// A dataset on the grid of the stored 2-D inputs.
fn on_grid_2d(values: &[f32]) -> Vec<u8> {
    let bytes = std::fs::read(data().join("nu-2d.rsf")).expect("a stored dataset");
    let mut out = bytes[..bytes.len() - 4 * values.len()].to_vec();
    out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    out
}

/// The layered HTI program: vertical vp and vs, epsilon(V), delta(V), and the splitting parameter 0.15.
#[test]
fn vertical_parameters_of_hti() {
    let want = stored("modelcreate-aniso");
    let vp: Vec<f32> = want.plane(2, 9).iter().map(|c33| (c33 / 2.3).sqrt()).collect();
    assert!(
        vp.iter().all(|v| ((2.0 * v).round() - 2.0 * v).abs() < 1e-5),
        "layers of 1.5, 2, ... 4 km/s"
    );
    let vs: Vec<f32> = vp.iter().map(|v| v / 3f32.sqrt()).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vs.rsf");
    std::fs::write(&file, dataset(&[12, 2, 2], &vs)).expect("a file");
    let gamma = -0.15 / 1.3;
    let words = format!(
        "vs={} ro=2.3 sym=hti hti=tsvankin epsilon=0.2 delta=0.1 gamma={gamma}",
        file.to_str().expect("a path")
    );
    let outcome = run(&words, Some(dataset(&[12, 2, 2], &vp)));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert_planes("modelcreate", &Dataset::parse(&outcome.stdout), &want, 9, 1e-6);
}

/// The full tensors of the tilted TI program, which our rotation must give before the planes are chosen.
#[test]
fn full_rotated_tensors() {
    let in_2d = [(1, 1), (1, 3), (1, 5), (3, 3), (3, 5), (5, 5)];
    compare_tensors("stiff3d-dim2", "2d", &in_2d, |_| false);
    let in_3d: Vec<_> = (1..=6).flat_map(|i| (i..=6).map(move |j| (i, j))).collect();
    // the original has cos^4(alpha) in place of cos(4 alpha) in c12, and repeats the formula of c26 in c16
    compare_tensors("stiff3d-dim3", "3d", &in_3d, |place| {
        place == (1, 2) || place == (1, 6)
    });
}

fn compare_tensors(name: &str, dim: &str, places: &[(usize, usize)], wrong: impl Fn((usize, usize)) -> bool) {
    let want = stored(name);
    let inputs =
        ["vp", "vs", "ro", "eps1", "del1", "gam1", "nu", "alp"].map(|n| stored(&format!("{n}-{dim}")).values);
    let cells = inputs[0].len();
    let tensor = |i: usize| {
        let [vp, vs, rho, epsilon, delta, gamma, nu, alpha] = inputs.each_ref().map(|v| f64::from(v[i]));
        let medium = Stiffness::vti(
            Speeds { vp, vs, rho },
            Thomsen {
                epsilon,
                delta,
                gamma,
            },
        )
        .expect("a medium");
        let alpha = if dim == "2d" { 0.0 } else { alpha };
        rotate::rotated(&medium.voigt(), &rotate::rotation(nu, alpha))
    };
    let tensors: Vec<_> = (0..cells).map(tensor).collect();
    for (p, &(i, j)) in places.iter().enumerate() {
        let got: Vec<f32> = tensors.iter().map(|c| c[i - 1][j - 1] as f32).collect();
        // Differences are relative to the largest coefficient, because the original computes in float32, and many
        // coefficients are differences.
        let scale = f64::from(magnitude(want.plane(0, places.len())));
        let worst = largest_difference(&got, want.plane(p, places.len())) / scale;
        if wrong((i, j)) {
            assert!(
                worst > 1e-4,
                "{name} c{i}{j}: the original is known to be wrong, but differs only by {worst:e}"
            );
        } else {
            assert!(worst <= 1e-6, "{name} c{i}{j}: off by {worst:e}");
        }
    }
}

/// The positions of the nine planes of an orthorhombic medium, in the order of the file.
const NINE: [(usize, usize); 9] = [
    (1, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (5, 5),
    (6, 6),
    (1, 2),
    (1, 3),
    (2, 3),
];

/// Without tilt the 21 planes consist of our nine and zeros.
#[test]
fn untilted_program() {
    let want = stored("stiff3d-dim3-nu0");
    let got = planes(&format!("{IN_3D} {TI_3D} nu=0 alpha=30"));
    let upper: Vec<_> = (1..=6).flat_map(|i| (i..=6).map(move |j| (i, j))).collect();
    for (p, place) in NINE.iter().enumerate() {
        let q = upper.iter().position(|u| u == place).expect("a plane");
        assert_plane(&format!("{place:?}"), got.plane(p, 9), want.plane(q, 21), 1e-6);
    }
}

/// The program writes the tensors of the tilted TI program, and chooses the planes by itself.
#[test]
fn tilted_media() {
    for (words, name, count, wrong) in [
        (
            format!("{IN_2D} epsilon=eps1-2d.rsf delta=del1-2d.rsf gamma=gam1-2d.rsf nu=nu-2d.rsf"),
            "stiff3d-dim2",
            6,
            &[][..],
        ),
        (
            // The original's c12 and c16 are known to be wrong, see above.
            format!("{IN_3D} {TI_3D} nu=nu-3d.rsf alpha=alp-3d.rsf"),
            "stiff3d-dim3",
            21,
            &[1, 5],
        ),
    ] {
        let want = stored(name);
        for more in ["", " memory=0", " memory=1"] {
            let got = planes(&format!("{words}{more}"));
            assert_eq!(got.int(&format!("n{}", if count == 6 { 3 } else { 4 })), count);
            let scale = f64::from(magnitude(want.plane(0, count)));
            for p in (0..count).filter(|p| !wrong.contains(p)) {
                let worst = largest_difference(got.plane(p, count), want.plane(p, count)) / scale;
                assert!(worst <= 1e-6, "{name} plane {p}: off by {worst:e}");
            }
        }
    }
}

/// `planes=` gives the number of planes, independently of the number that the medium needs: the same values in the
/// other order, and zeros.
#[test]
fn all_planes_of_a_medium_that_needs_few() {
    let (few, all) = (
        planes(&format!("{IN_3D} {ORT_3D}")),
        planes(&format!("{IN_3D} {ORT_3D} planes=21")),
    );
    let names = |set: &Dataset| set.key("label4").map(str::to_string);
    assert!(names(&all).is_some());
    let upper: Vec<_> = (1..=6).flat_map(|i| (i..=6).map(move |j| (i, j))).collect();
    for (q, pair) in upper.iter().enumerate() {
        match NINE.iter().position(|p| p == pair) {
            Some(p) => assert_eq!(all.plane(q, 21), few.plane(p, 9), "{pair:?}"),
            None => assert!(all.plane(q, 21).iter().all(|v| *v == 0.0), "{pair:?}"),
        }
    }
}
