//! Media of cut cells, tested by laws that they obey for any formulas: layers are symmetric about their normal, a
//! contact with a fluid changes only the cells that it crosses, and the edge of a staggered grid is never averaged.

use crate::desk::Desk;
use crate::shots::{largest, records_of, rms_difference};

const N: [usize; 2] = [41, 41];
const ROCKS: &str = "rho=2000,2300 vp=2000,3000 vs=1000,1700";

/// The Christoffel matrix of a 2-D medium, c11 c13 c15 c33 c35 c55, for a direction of propagation, applied to a
/// displacement.
fn christoffel(c: [f64; 6], [x, z]: [f64; 2], moved: [f64; 2]) -> [f64; 2] {
    let [c11, c13, c15, c33, c35, c55] = c;
    let mixed = c15 * x * x + (c13 + c55) * x * z + c35 * z * z;
    [
        (c11 * x * x + 2.0 * c15 * x * z + c55 * z * z) * moved[0] + mixed * moved[1],
        mixed * moved[0] + (c55 * x * x + 2.0 * c35 * x * z + c33 * z * z) * moved[1],
    ]
}

/// How far waves across a layer and along it deviate from pure waves, relative to c33, in every cell of a model that is
/// `margin` cells from its sides: zero if layers with that slope are symmetric about their normal.
fn askew(ccc: &[f64], slope: f64, margin: usize) -> Vec<f64> {
    let cells = ccc.len() / 6;
    let length = slope.hypot(1.0);
    let [across, along] = [[-slope / length, 1.0 / length], [1.0 / length, slope / length]];
    let inside = |cell: &usize| {
        let (x, z) = (cell / N[0], cell % N[0]);
        (margin..N[1] - margin).contains(&x) && (margin..N[0] - margin).contains(&z)
    };
    let of = |cell: usize| {
        let c: [f64; 6] = std::array::from_fn(|k| ccc[k * cells + cell]);
        let part = |way, from, [x, z]: [f64; 2]| {
            let force = christoffel(c, way, from);
            (force[0] * x + force[1] * z).abs() / c[3]
        };
        largest([part(across, across, along), part(along, along, across)])
    };
    (0..cells).filter(inside).map(of).collect()
}

/// The six planes of a model, and its density.
fn model_of(desk: &Desk, line: &str) -> [Vec<f64>; 2] {
    desk.ran(line);
    let cells = N[0] * N[1];
    [
        records_of(6 * cells, desk.read("ccc.rsf")),
        records_of(cells, desk.read("den.rsf")),
    ]
}

/// The coefficient c35 relative to c33 in a column.
fn tilts(ccc: &[f64], column: usize, rows: std::ops::Range<usize>) -> Vec<f64> {
    let cells = N[0] * N[1];
    let at = |k: usize| column * N[0] + k;
    rows.map(|k| ccc[4 * cells + at(k)] / ccc[3 * cells + at(k)])
        .collect()
}

#[test]
fn layers_are_symmetric_about_their_normal() {
    let desk = Desk::new();
    let grid = format!("n1={} n2={} d1=10 d2=10 den=den.rsf > ccc.rsf", N[0], N[1]);
    desk.dataset("slope.rsf", "n1=2 d1=400", &[100.0, 300.0]);
    let [ccc, den] = model_of(&desk, &format!("sflayers horizons=slope.rsf {ROCKS} {grid}"));
    let worst = largest(askew(&ccc, 0.5, 5));
    println!("across and along a slope of 0.5: {worst:.1e}");
    assert!(worst < 1e-6, "{worst:e}");
    // About the axes of the grid, the medium is not symmetric.
    assert!(largest(askew(&ccc, 0.0, 5)) > 0.01);
    // A plane through a node gives half of its cell to each rock: at x = 200 m the interface is at 200 m.
    let half = den[20 * N[0] + 20];
    assert!((half - 2150.0).abs() < 0.01, "{half}");

    // A flat interface far above the slope has flat layers: at x = 300 m they are 20 cells apart.
    let rocks = "rho=1900,2000,2300 vp=1700,2000,3000 vs=800,1000,1700";
    let [ccc, _] = model_of(&desk, &format!("sflayers horizons=53,slope.rsf {rocks} {grid}"));
    let flat = largest(tilts(&ccc, 30, 1..10));
    let steep = largest(tilts(&ccc, 30, 21..30));
    println!("tilts {flat:.1e} and {steep:.1e}");
    assert!(flat < 1e-6 && steep > 5e-3, "{flat:e} {steep:e}");
}

/// A slope is down-sampled from a grid four times as fine, on which it is a staircase: an interface, and a thin layer
/// between equal rocks, at whose two sides the gradient has opposite signs.
#[test]
fn down_sampled_layers_are_nearly_symmetric_about_their_normal() {
    let desk = Desk::new();
    desk.dataset("slope.rsf", "n1=2 d1=400", &[100.0, 300.0]);
    desk.dataset("foot.rsf", "n1=2 d1=400", &[110.0, 310.0]);
    for (horizons, rocks) in [
        ("slope.rsf", ROCKS),
        (
            "slope.rsf,foot.rsf",
            "rho=2000,2300,2000 vp=2000,3000,2000 vs=1000,1700,1000",
        ),
    ] {
        desk.ran(&format!(
            "sflayers horizons={horizons} {rocks} average=n planes=4 n1=161 n2=161 d1=2.5 d2=2.5 den=fine.rsf > fineccc.rsf"
        ));
        let [ccc, _] = model_of(
            &desk,
            "sfupscale < fineccc.rsf den=fine.rsf n=4 denout=den.rsf > ccc.rsf",
        );
        let (worst, about_axes) = (largest(askew(&ccc, 0.5, 6)), largest(askew(&ccc, 0.0, 6)));
        // The measured values are 1.2e-4 and 7.7e-5, due to the staircase.
        println!("{horizons}: {worst:.1e} of {about_axes:.1e}");
        assert!(
            worst < 0.1 * about_axes,
            "{horizons}: {worst:e} of {about_axes:e}"
        );
    }
}

/// Where a fluid meets a solid, cells that the contact does not cross have their own rock; between solids the averaging
/// windows are wider.
#[test]
fn contacts_of_fluids_cut_the_cells_that_they_cross() {
    let desk = Desk::new();
    let fine = "average=n n1=81 n2=33 d1=2.5 d2=2.5 den=fine.rsf > fineccc.rsf";
    let coarse = "n1=21 n2=9 d1=10 d2=10 den=den.rsf > ccc.rsf";
    for (vs, cut) in [("0,1700", 10..11), ("1000,1700", 7..15)] {
        let rocks = format!("horizons=103 rho=1000,2300 vp=1900,3000 vs={vs}");
        let upscaled = format!(
            "sflayers {rocks} {fine} && sfupscale < fineccc.rsf den=fine.rsf n=4 denout=den.rsf > ccc.rsf"
        );
        for line in [format!("sflayers {rocks} {coarse}"), upscaled] {
            desk.ran(&line);
            let den = records_of(21 * 9, desk.read("den.rsf"));
            let column = &den[4 * 21..5 * 21];
            for (k, value) in column.iter().enumerate() {
                let own = if k < 11 { 1000.0 } else { 2300.0 };
                let mixed = (value - own).abs() > 1e-3;
                assert_eq!(mixed, cut.contains(&k), "{line}: node {k} has {value}");
            }
        }
    }
}

/// Horizons in km would be in the first cell of a grid in m.
#[test]
fn horizons_in_the_first_cell_are_warned_of() {
    let desk = Desk::new();
    let expected = "all horizons lie within 10 of z=0, which is the spacing along z: check that they are in the units of \
        the grid";
    for (horizons, warns) in [
        ("0.05,0.1", true),
        ("0,0", false),
        ("50,0.1", false),
        ("50,100", false),
    ] {
        let run = desk.sh(&format!(
            "sflayers horizons={horizons} rho=2000 vp=2000 vs=1000 n1=21 n2=11 d1=10 d2=10 den=den.rsf > ccc.rsf"
        ));
        assert_eq!(run.err.contains(expected), warns, "{horizons}: {run:?}");
    }
}

/// A point whose cell contains fluid has no shear stiffness for any dip, so that there are no waves with speeds between
/// zero and the speed of the rock, which plans would take for the slowest waves.
#[test]
fn sea_floors_that_dip_have_no_slow_waves() {
    let desk = Desk::new();
    let rocks = "rho=1000,2300 vp=1500,3000 vs=0,1700";
    let mu = 2300.0 * 1700.0 * 1700.0;
    desk.dataset("sou.rsf", "n1=2 n2=1", &[200.0, 100.0]);
    desk.dataset("rec.rsf", "n1=2 n2=1", &[250.0, 100.0]);
    for slope in [0.03f32, 0.4] {
        let floor: Vec<f32> = (0..161)
            .map(|i| 203.0 + slope * (2.5 * i as f32 - 200.0))
            .collect();
        desk.dataset("floor.rsf", "n1=161 d1=2.5", &floor);
        let direct = format!(
            "sflayers horizons=floor.rsf {rocks} scheme=staggered n1={} n2={} d1=10 d2=10 den=den.rsf > ccc.rsf",
            N[0], N[1]
        );
        let upscaled = format!(
            "sflayers horizons=floor.rsf {rocks} average=n n1=161 n2=161 d1=2.5 d2=2.5 den=fine.rsf > fineccc.rsf && \
sfupscale scheme=staggered < fineccc.rsf den=fine.rsf n=4 denout=den.rsf > ccc.rsf"
        );
        for line in [direct, upscaled] {
            desk.ran(&line);
            let cells = N[0] * N[1];
            let ccc = records_of(4 * cells, desk.read("ccc.rsf"));
            for (cell, shear) in ccc[2 * cells..3 * cells].iter().enumerate() {
                let whole = (shear / mu - 1.0).abs() < 1e-6;
                assert!(*shear == 0.0 || whole, "{line}: cell {cell} has {shear:e}");
            }
            let plan = desk.ran(
                "sfvsfd2d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=10 dt=0.0005 stf=ricker freq=2 order=2 plan=y > data.rsf",
            );
            assert!(
                !plan.err.contains("points per shortest wavelength ("),
                "{line}: {plan:?}"
            );
        }
    }
}

/// Averages across a dipping interface have its tilt, which requires all coefficients; the rocks themselves do not.
#[test]
fn only_averages_across_a_dip_need_all_coefficients() {
    let desk = Desk::new();
    desk.dataset("floor.rsf", "n1=2 d1=200", &[60.0, 160.0]);
    for (horizon, words, planes) in [
        ("floor.rsf", "", 6),
        ("floor.rsf", "average=n", 4),
        ("floor.rsf", "scheme=staggered", 4),
        ("110", "", 4),
    ] {
        desk.ran(&format!(
            "sflayers horizons={horizon} {ROCKS} {words} n1=21 n2=21 d1=10 d2=10 den=den.rsf > ccc.rsf"
        ));
        assert_eq!(desk.axes("ccc.rsf", 3)[2].n, planes, "{horizon} {words}");
    }
}

/// On its outermost nodes, where surfaces and sides are, a staggered grid has the rock itself.
#[test]
fn outermost_nodes_of_staggered_grids_are_not_mixed() {
    let desk = Desk::new();
    let fine = "average=n n1=81 n2=33 d1=2.5 d2=2.5 den=fine.rsf > fineccc.rsf";
    let coarse = "scheme=staggered n1=21 n2=9 d1=10 d2=10 den=den.rsf > ccc.rsf";
    let rocks = format!("horizons=12 {ROCKS}");
    let upscaled = format!(
        "sflayers {rocks} {fine} && sfupscale scheme=staggered < fineccc.rsf den=fine.rsf n=4 denout=den.rsf > ccc.rsf"
    );
    for line in [format!("sflayers {rocks} {coarse}"), upscaled] {
        desk.ran(&line);
        let den = records_of(21 * 9, desk.read("den.rsf"));
        for x in 0..9 {
            assert_eq!(den[21 * x], 2000.0, "{line}: column {x}");
            let next = den[21 * x + 1];
            let is_side = x == 0 || x == 8;
            assert_eq!(next == 2000.0, is_side, "{line}: column {x} has {next} below");
        }
        // The nodes of the sides also have the stiffness c33 of their own rock.
        let ccc = records_of(4 * 21 * 9, desk.read("ccc.rsf"));
        for x in [0, 8] {
            for z in 0..21 {
                let (rho, vp) = if z < 2 { (2000.0, 2000.0) } else { (2300.0, 3000.0) };
                let share = ccc[21 * (9 + x) + z] / (rho * vp * vp);
                assert!(
                    (share - 1.0).abs() < 1e-6,
                    "{line}: node {z}, {x} has {share} of it"
                );
            }
        }
    }
}

/// This is also true of the shear stiffness, although its cell is half a cell beyond the node: below a dipping floor it
/// may contain water where the node has rock.
#[test]
fn outermost_nodes_of_staggered_grids_have_the_shear_of_their_rock() {
    let desk = Desk::new();
    let (top, dip, mu) = (208.0, 0.4, 2300.0 * 1700.0 * 1700.0);
    desk.dataset("floor.rsf", "n1=2 d1=400", &[208.0, 368.0]);
    desk.ran(&format!(
        "sflayers horizons=floor.rsf rho=1000,2300 vp=1500,3000 vs=0,1700 scheme=staggered n1={} n2={} d1=10 d2=10 den=den.rsf > ccc.rsf",
        N[0], N[1]
    ));
    let cells = N[0] * N[1];
    let ccc = records_of(4 * cells, desk.read("ccc.rsf"));
    let shears = |x: usize| ccc[2 * cells + x * N[0]..][..N[0]].iter().enumerate();
    for x in [0, N[1] - 1] {
        for (z, shear) in shears(x) {
            let is_rock = 10.0 * z as f64 >= top + dip * 10.0 * x as f64;
            let expected = if is_rock { mu } else { 0.0 };
            assert!(
                (shear - expected).abs() < 1e-6 * mu,
                "node {z}, {x} has {shear:e}"
            );
        }
    }
    // Inside, the first node below the floor has no shear stiffness if its cell contains water.
    let first = shears(5).position(|(_, shear)| *shear > 0.0).expect("rock");
    assert_eq!(first, 24);
}

/// A flat sea floor between two rows of nodes, compared with spectral elements, whose mesh follows it: pressure of a
/// source in the water, which consists mostly of waves along the floor. The measured errors are 0.04 and 0.03 to 0.14
/// of the records; they were 0.21 to 0.46 with steps in place of cut cells, and up to 1.5 when the cut cells were
/// plates that slide on both sides.
#[test]
fn floors_between_nodes_guide_no_wave_of_their_own() {
    let desk = Desk::new();
    let run = "sou=s.rsf rec=r.rsf m0=1e9 stf=ricker freq=8 nt=1200 dt=0.001 data=pressure jdata=4";
    desk.ran("sfbasics points x=300 z=10 > s.rsf && sfbasics points x=600:1200:150 z=20 > r.rsf");
    let grid = "rho=1025,2200 vp=1500,2600 vs=0,1300 n1=181 n2=301 d1=5 d2=5 scheme=staggered den=den.rsf";
    for floor in [200.5, 203.5] {
        desk.ran(&format!(
            "sfhexmesh surfaces=900,{floor},0 layers=18,8 xmin=0 xmax=1500 nx=60 rho=2200,1025 vp=2600,1500 vs=1300,0 cpml=120 > mesh.rsf"
        ));
        desk.ran(&format!("sfsem2d-gpu mesh=mesh.rsf {run} > mesh-data.rsf"));
        desk.ran(&format!("sflayers horizons={floor} {grid} > ccc.rsf"));
        desk.ran(&format!(
            "sfvsfd2d-gpu ccc=ccc.rsf den=den.rsf {run} free=y nb=20 > data.rsf"
        ));
        let error = rms_difference(desk.read("data.rsf"), desk.read("mesh-data.rsf"));
        println!("a floor at {floor} m: {error:.3}");
        assert!(error < 0.3, "a floor at {floor} m: {error}");
    }
}
