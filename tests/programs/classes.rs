//! `sym=`: the class whose kernels run must include the symmetry of the model.

use crate::desk::Desk;
use crate::shot::{cells, desk, fed, grid, line, shoot, stiffness, stiffness_header};

/// A desk with a VTI model: the coefficients along x (and y) are larger, the others isotropic.
fn vti(ndim: usize) -> Desk {
    let desk = desk(ndim);
    let (mut planes, n) = (stiffness(ndim), cells(ndim));
    let raised: &[usize] = if ndim == 3 { &[0, 1, 6] } else { &[0] };
    for plane in raised {
        planes[plane * n..(plane + 1) * n]
            .iter_mut()
            .for_each(|c| *c += 0.5);
    }
    desk.dataset("ccc.rsf", &stiffness_header(ndim), &planes);
    desk
}

/// The data of a run whose messages about its medium contain this text.
fn data(desk: &Desk, ndim: usize, sym: &str, medium: &str) -> Vec<f32> {
    let run = shoot(desk, ndim, &format!("device=cpu verb=y {sym}"));
    assert_eq!(run.code, 0, "{run:?}");
    let line = run.err.lines().find(|l| l.contains("medium ")).unwrap();
    assert!(line.contains(medium), "{line}");
    desk.read("data.rsf")
}

fn refused(desk: &Desk, ndim: usize, sym: &str, words: &[&str]) {
    for mode in ["", "plan=y"] {
        let run = shoot(desk, ndim, &format!("{sym} {mode}"));
        assert_eq!(run.code, 1, "{run:?}");
        let missing: Vec<_> = words.iter().filter(|w| !run.err.contains(**w)).collect();
        assert!(missing.is_empty(), "{missing:?} in {run:?}");
    }
}

#[test]
fn wider_classes_take_a_model_and_change_nothing() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let own = data(&desk, ndim, "", "medium isotropic, ");
        assert_eq!(data(&desk, ndim, "sym=iso", "medium isotropic, "), own);
        for (sym, class) in [("vti", "VTI"), ("hti", "HTI"), ("ort", "orthorhombic")] {
            let class = if ndim == 2 { "VTI" } else { class };
            let medium = format!("medium isotropic (taken as {class}");
            assert_eq!(data(&desk, ndim, &format!("sym={sym}"), &medium), own);
        }
    }
}

#[test]
fn narrower_classes_are_refused() {
    let solid = vti(3);
    let own = data(&solid, 3, "", "medium VTI, ");
    assert_eq!(data(&solid, 3, "sym=vti", "medium VTI, "), own);
    assert_eq!(data(&solid, 3, "sym=ort", "medium VTI (taken as ortho"), own);
    refused(
        &solid,
        3,
        "sym=iso",
        &["sym=iso", "isotropic", "the model is VTI"],
    );
    refused(&solid, 3, "sym=hti", &["sym=hti", "the model is VTI", "sym=auto"]);
    refused(&solid, 3, "sym=tti", &["sym= got `tti`"]);

    let plane = vti(2);
    let own = data(&plane, 2, "", "medium VTI, ");
    for sym in ["sym=vti", "sym=hti", "sym=ort"] {
        assert_eq!(data(&plane, 2, sym, "medium VTI, "), own);
    }
    refused(&plane, 2, "sym=iso", &["sym=iso", "the model is VTI"]);
}

/// Positions of the four or nine coefficients in a file of all coefficients.
const FEW_2D: [usize; 4] = [0, 3, 5, 1];
const FEW_3D: [usize; 9] = [0, 6, 11, 15, 18, 20, 1, 2, 7];

/// Writes the isotropic block with all coefficients; if `oblique`, one of the coefficients that files of few planes
/// lack is not zero.
fn all_planes(desk: &Desk, ndim: usize, oblique: bool) {
    let (few, n) = (stiffness(ndim), cells(ndim));
    let (count, places) = if ndim == 3 {
        (21, &FEW_3D[..])
    } else {
        (6, &FEW_2D[..])
    };
    let mut planes = vec![0.0; count * n];
    for (plane, &place) in few.chunks(n).zip(places) {
        planes[place * n..(place + 1) * n].copy_from_slice(plane);
    }
    if oblique {
        let c15 = if ndim == 3 { 4 } else { 2 };
        planes[c15 * n..(c15 + 1) * n].fill(0.4);
    }
    desk.dataset(
        "ccc.rsf",
        &format!("{} n{}={count}", grid(ndim), ndim + 1),
        &planes,
    );
}

#[test]
fn all_coefficients() {
    for ndim in [2, 3] {
        let desk = desk(ndim);
        let own = data(&desk, ndim, "", "medium isotropic, ");
        let wide = "medium isotropic (taken as triclinic";
        assert_eq!(data(&desk, ndim, "sym=tri", wide), own);
        // The same rock is given by a file of all coefficients.
        all_planes(&desk, ndim, false);
        for (sym, medium) in [
            ("", "medium isotropic, "),
            ("sym=iso", "medium isotropic, "),
            ("sym=tri", wide),
        ] {
            assert_eq!(data(&desk, ndim, sym, medium), own);
        }
        all_planes(&desk, ndim, true);
        let oblique = data(&desk, ndim, "", "medium triclinic, ");
        assert_ne!(oblique, own);
        assert_eq!(
            data(&desk, ndim, "sym=tri ngpu=2 threads=2", "medium triclinic, "),
            oblique
        );
        for sym in ["sym=iso", "sym=ort"] {
            refused(
                &desk,
                ndim,
                sym,
                &[sym, "the model is triclinic", "sym=tri fits this model"],
            );
        }
        // The model may be a stream, and a plan gives the memory.
        let piped = fed(
            &[("cat ccc.rsf", "pipe")],
            &format!("{} < wav.rsf > data.rsf", line(ndim).replace("ccc.rsf", "pipe")),
        );
        assert_eq!(desk.sh(&piped).code, 0);
        assert_eq!(desk.read("data.rsf"), oblique);
        let run = desk.sh(&format!(
            "sfvsfd{ndim}d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=10 dt=0.001 > data.rsf"
        ));
        let words = [&format!("sfewefd{ndim}d-gpu runs such models"), "planes"];
        assert!(
            run.code == 1 && words.iter().all(|w| run.err.contains(*w)),
            "{run:?}"
        );
    }
}

/// A model of several blocks, and one whose lines are longer than a block, give the same results from files and from
/// pipes.
#[test]
fn blocks_of_a_file_and_of_a_pipe() {
    for (n1, n2) in [(600, 4000), (2_000_000, 2)] {
        let desk = desk(2);
        let grid = format!("n1={n1} o1=0 d1=0.01 n2={n2} o2=0 d2=0.01");
        let n = n1 * n2;
        let slope = |base: f32, i: usize| base * (1.0 + 0.1 * (i % 977) as f32 / 977.0);
        let planes: Vec<f32> = [8.8, 8.8, 2.6, 3.4]
            .iter()
            .flat_map(|&c| (0..n).map(move |i| slope(c, i)))
            .collect();
        let density: Vec<f32> = (0..n).map(|i| slope(2.2, i / 7)).collect();
        desk.dataset("ccc.rsf", &format!("{grid} n3=4"), &planes);
        desk.dataset("den.rsf", &grid, &density);
        // The points are inside both models.
        desk.dataset("sou.rsf", "n1=2 n2=1", &[0.005, 0.09]);
        desk.dataset("rec.rsf", "n1=2 n2=1", &[0.01, 0.09]);
        let line = format!("{} plan=y < wav.rsf 2>&1", line(2));
        let medium_of = |shell: &str| {
            let run = desk.sh(shell);
            assert_eq!(run.code, 0, "{run:?}");
            let medium = run.out.lines();
            let medium: Vec<String> = medium
                .filter(|l| l.contains("medium ") || l.contains("stability limit"))
                .map(String::from)
                .collect();
            assert_eq!(medium.len(), 2, "{run:?}");
            medium
        };
        let piped = fed(&[("cat ccc.rsf", "pipe")], &line.replace("ccc.rsf", "pipe"));
        assert_eq!(medium_of(&piped), medium_of(&line));
    }
}
