//! Models on grids that are separate from the mesh, the sponge, and fibres, as users specify them.

use crate::desk::Desk;
use crate::largest::{largest, magnitude, relative_difference};
use crate::runs::{HILL, hill};

fn run(desk: &Desk, words: &str, out: &str) -> Vec<f32> {
    let run = desk.sh(&format!("{HILL} nt=300 dt=0.001 {words} > {out}"));
    assert_eq!(run.code, 0, "{words}: {run:?}");
    desk.read(out)
}

/// The largest difference from `wanted`, relative to its largest value.
fn apart(expected: &[f32], modelled: &[f32]) -> f64 {
    relative_difference(modelled, expected)
}

#[test]
fn a_model_on_a_grid_is_what_the_mesh_is_filled_with() {
    let desk = hill();
    let plain = run(&desk, "", "plain.rsf");
    // The model has the material of the mesh's own region, air above the ground, and meaningless values below the mesh.
    let cells = 36 * 43;
    let of = |rock: f32, air: f32| -> Vec<f32> {
        let value = |k: usize| {
            let (z, x) = ((k % 36) as f32 * 20.0 - 40.0, (k / 36) as f32 * 20.0 - 20.0);
            let ground = 100.0 - 60.0 * (-((x - 400.0) / 120.0).powi(2)).exp();
            if z < ground - 1.0 || z > 601.0 { air } else { rock }
        };
        (0..cells).map(value).collect()
    };
    let axes = "n1=36 o1=-40 d1=20 n2=43 o2=-20 d2=20";
    desk.dataset("vp.rsf", axes, &of(3000.0, 340.0));
    desk.dataset("vs.rsf", axes, &of(1700.0, 0.0));
    desk.dataset("den.rsf", axes, &of(2300.0, 1.2));
    let grids = "vp=vp.rsf vs=vs.rsf den=den.rsf";
    assert!(apart(&plain, &run(&desk, grids, "grid.rsf")) < 1e-5);
    // Three subdomains give the same bits.
    assert_eq!(
        run(&desk, &format!("{grids} ngpu=3"), "cut.rsf"),
        desk.read("grid.rsf")
    );
    // A faster lower half changes the record, and plan=y gives the smaller step.
    let mut fast = of(3000.0, 340.0);
    (0..cells).filter(|k| k % 36 > 18).for_each(|k| fast[k] = 4200.0);
    desk.dataset("fast.rsf", axes, &fast);
    let other = run(&desk, "vp=fast.rsf", "fast-d.rsf");
    assert!(apart(&plain, &other) > 0.05);
    let limit = |words: &str| -> f64 {
        let plan = desk.sh(&format!("{HILL} nt=300 dt=0.0001 {words} plan=y"));
        let line = plan.err.lines().find(|line| line.contains("certainly stable"));
        let after = line
            .expect("a limit")
            .split("certainly stable ")
            .nth(1)
            .expect("a number");
        after.split(' ').next().expect("a word").parse().expect("seconds")
    };
    assert!(limit("vp=fast.rsf") < 0.85 * limit(""));
}

#[test]
fn constants_on_a_grid_are_those_of_the_speeds() {
    let desk = hill();
    let stiffness = desk.sh("sfstiffness vp=3000 vs=1700 ro=2300 epsilon=0 delta=0 sym=vti dim=2 n1=36 o1=-40 d1=20 n2=43 o2=-20 d2=20 > ccc.rsf");
    assert_eq!(stiffness.code, 0, "{stiffness:?}");
    let (plain, table) = (
        run(&desk, "", "plain.rsf"),
        run(&desk, "ccc=ccc.rsf", "table.rsf"),
    );
    assert!(apart(&plain, &table) < 2e-5, "{}", apart(&plain, &table));
}

#[test]
fn quality_factors_of_waves_damp() {
    let desk = hill();
    let plain = run(&desk, "", "plain.rsf");
    let lossy = run(&desk, "qp=40 qs=20 qband=1,12 qref=5", "lossy.rsf");
    let none = run(&desk, "qp=0 qs=0", "none.rsf");
    assert!(apart(&plain, &none) < 1e-5);
    // The same rock is given by quality factors of its moduli: 1/Qp = L/Qmu + (1-L)/Qkappa with L = 4/3 (vs/vp)^2.
    let shear = 4.0 / 3.0 * (1700.0_f64 / 3000.0).powi(2);
    let kappa = (1.0 - shear) / (1.0 / 40.0 - shear / 20.0);
    desk.dataset(
        "lossy-rock.rsf",
        "n1=6 n2=1",
        &[2300.0, 3000.0, 1700.0, kappa as f32, 20.0, 0.0],
    );
    let moduli = run(&desk, "materials=lossy-rock.rsf qband=1,12 qref=5", "moduli.rsf");
    assert!(apart(&lossy, &moduli) < 1e-5, "{}", apart(&lossy, &moduli));
    assert!(apart(&plain, &lossy) > 0.02, "{}", apart(&plain, &lossy));
}

#[test]
fn models_that_do_not_fit_the_mesh_are_sentences() {
    let desk = hill();
    let refused = |words: &str, expected: &[&str]| {
        let run = desk.sh(&format!("{HILL} nt=3 dt=0.0005 {words} > out.rsf"));
        let sentences = run.err.lines().filter(|line| !line.contains(": warning: "));
        assert!(run.code == 1 && sentences.count() == 1, "{words}: {run:?}");
        for word in expected {
            assert!(
                run.err.contains(word),
                "{words}: {word} is missing in {}",
                run.err
            );
        }
    };
    let axes = "n1=36 o1=-40 d1=20 n2=43 o2=-20 d2=20";
    desk.dataset("vp.rsf", axes, &[3000.0; 36 * 43]);
    desk.dataset(
        "short.rsf",
        "n1=36 o1=-40 d1=20 n2=20 o2=-20 d2=20",
        &[3000.0; 36 * 20],
    );
    desk.dataset("two.rsf", &format!("{axes} n3=2"), &[3000.0; 2 * 36 * 43]);
    desk.dataset("bad.rsf", axes, &[f32::NAN; 36 * 43]);
    refused(
        "vp=short.rsf",
        &["beyond the grid of the model", "x from -20 to 360"],
    );
    refused(
        "vp=vp.rsf den=short.rsf",
        &[
            "vp.rsf",
            "short.rsf",
            "different grids",
            "n2=43 o2=-20",
            "n2=20 o2=-20",
        ],
    );
    desk.dataset(
        "turned.rsf",
        "n1=43 o1=-20 d1=20 n2=36 o2=-40 d2=20",
        &[60.0; 36 * 43],
    );
    refused(
        "vp=vp.rsf qp=turned.rsf qs=40",
        &[
            "vp.rsf",
            "qp=turned.rsf",
            "different grids",
            "n1=36 o1=-40",
            "n1=43 o1=-20",
            "sftransp",
        ],
    );
    refused("vp=two.rsf", &["two.rsf", "n3=2", "one per region"]);
    refused("vp=bad.rsf", &["the P speed NaN", "in element"]);
    refused("qp=100", &["qp= and qs= belong together"]);
    refused("qp=200 qs=20", &["1/Qkappa", "element 0"]);
    refused("ccc=vp.rsf", &["n3=1", "21 constants"]);
    refused("data=das", &["along=", "direction of the fibre"]);
    desk.dataset("none.rsf", "n1=2 n2=1", &[0.0, 0.0]);
    refused("data=das along=none.rsf", &["direction 1 is zero"]);
    desk.dataset("up.rsf", "n1=2 n2=1", &[0.0, -1.0]);
    refused(
        "data=das along=up.rsf gauge=900",
        &["an end of the gauge of receiver 1", "nearest point"],
    );
}

#[test]
fn a_fibre_measures_the_strain_along_it() {
    let desk = hill();
    desk.dataset("along.rsf", "n1=2 n2=2", &[0.6, 0.8, -2.0, 0.5]);
    desk.dataset("one.rsf", "n1=2 n2=1", &[3.0, 4.0]);
    let strain = run(&desk, "data=strain", "strain.rsf");
    let das = run(&desk, "data=das along=along.rsf", "das.rsf");
    let axes = desk.axes("das.rsf", 3);
    assert_eq!((axes[0].n, axes[1].n, axes[2].n), (2, 1, 300));
    let length = 4.25_f32.sqrt();
    let along = [[0.6, 0.8], [-2.0 / length, 0.5 / length]];
    let top = magnitude(&das);
    for (record, das) in strain.chunks(6).zip(das.chunks(2)) {
        for k in 0..2 {
            // The record contains the components zz, xx, zx of the strain tensor.
            let [x, z] = along[k];
            let exact = z * z * record[k] + x * x * record[2 + k] + 2.0 * x * z * record[4 + k];
            assert!((exact - das[k]).abs() < 1e-5 * top);
        }
    }
    // A gauge measures the mean strain along its length: for a short gauge nearly the strain itself, for a long one a
    // different value. Several subdomains give the same bits as one.
    let short = run(&desk, "data=das along=one.rsf gauge=4", "short.rsf");
    let long = run(&desk, "data=das along=one.rsf gauge=60", "long.rsf");
    let first = |data: &[f32]| data.iter().step_by(2).copied().collect::<Vec<_>>();
    assert!(apart(&first(&das), &first(&short)) < 0.02);
    assert!(apart(&first(&das), &first(&long)) > 0.02);
    let cut = run(&desk, "data=das along=one.rsf gauge=60 ngpu=5", "cut.rsf");
    assert_eq!(cut, long);
    // The strain at points along the gauge is averaged by the trapezoidal rule.
    let places: Vec<f32> = (0..=60)
        .flat_map(|k| {
            let t = k as f32 - 30.0;
            [250.0 + 0.6 * t, 200.0 + 0.8 * t]
        })
        .collect();
    desk.dataset("many.rsf", "n1=2 n2=61", &places);
    let line = HILL.replace("rec=rec.rsf", "rec=many.rsf");
    let many = desk.sh(&format!(
        "{line} nt=300 dt=0.001 data=das along=one.rsf > many-d.rsf"
    ));
    assert_eq!(many.code, 0, "{many:?}");
    let mean: Vec<f32> = desk
        .read("many-d.rsf")
        .chunks(61)
        .map(|record| (record.iter().sum::<f32>() - 0.5 * (record[0] + record[60])) / 60.0)
        .collect();
    assert!(
        apart(&mean, &first(&long)) < 5e-3,
        "{}",
        apart(&mean, &first(&long))
    );
}

#[test]
fn a_sponge_takes_what_sides_send_back() {
    let desk = Desk::new();
    let build = |sides: &str, name: &str| {
        let run = desk.sh(&format!(
            "sfhexmesh surfaces=3000,0 layers=15 {sides} absorb=xmin,xmax,bottom rho=2300 vp=3000 vs=1700 judge=n > {name}.rsf"
        ));
        assert_eq!(run.code, 0, "{run:?}");
    };
    build("nx=20 xmin=-2000 xmax=2000", "small");
    desk.dataset("sou.rsf", "n1=2 n2=1", &[30.0, 130.0]);
    desk.dataset("rec.rsf", "n1=2 n2=1", &[-810.0, 0.0]);
    let line = |name: &str, words: &str| {
        let run = desk.sh(&format!(
            "sfsem2d-gpu mesh={name}.rsf sou=sou.rsf rec=rec.rsf device=cpu src=force fz=1e9 stf=ricker freq=3 nt=900 dt=0.003 {words} > {name}-d.rsf"
        ));
        assert_eq!(run.code, 0, "{run:?}");
        desk.read(&format!("{name}-d.rsf"))
    };
    let (bare, soaked) = (line("small", ""), line("small", "sponge=1000"));
    // Waves before 1.2 s are not reflected by any side; all later waves are reflections.
    let late = |data: &[f32]| largest(&data[2 * 640..]) / magnitude(data);
    println!("{} {}", late(&bare), late(&soaked));
    assert!(late(&soaked) < 0.5 * late(&bare));
}
