//! Linearised modelling on meshes by the programs: dot products, changes of data, and refused requests.

use crate::desk::Desk;
use crate::gradients::{ROCKS, RUN, desk};
use crate::largest::{largest, magnitude};

/// A grid that covers the box with enough nodes for its elements.
const GRID: &str = "n1=7 d1=100 o1=-40 n2=9 d2=100 o2=-40";
const NODES: usize = 63;

/// Runs `sfdottest`, which fails if the dot products differ by more than rounding.
fn dottest(desk: &Desk, words: &str) {
    let ended = desk.ran(&format!(
        "sfbasics dottest sfsemborn2d-gpu mod=dm.rsf dat=data.rsf seed=3 tol=1e-5 {words}"
    ));
    println!("{words}: {}", ended.err);
}

/// Like [`dottest`], for random vectors whose product is small because they nearly cancel. The products of the other
/// cases are 3e-3 to 3e-2, and rounding is measured relative to 1e-2. With a product of 5e-4, the difference was 2e-9
/// on a processor and 5.5e-8 on a GPU.
fn dottest_of_a_small_product(desk: &Desk, words: &str) {
    let ended = desk.ran(&format!(
        "sfbasics dottest sfsemborn2d-gpu mod=dm.rsf dat=data.rsf seed=3 tol=1e-3 {words}"
    ));
    let product = |name: &str| -> f64 {
        let line = ended.err.lines().find_map(|line| line.split(name).nth(1));
        line.expect(name).trim().parse().expect(name)
    };
    let [ahead, behind] = ["L[m]*d=", "L'[d]*m="].map(product);
    println!("{words}: {ahead} and {behind}");
    assert!(
        ahead != 0.0 && (ahead - behind).abs() < 1e-5 * 1e-2,
        "{ahead} and {behind}"
    );
}

#[test]
fn the_transpose_of_linearised_modelling_is_exact() {
    let desk = desk();
    let regions = |count: usize| {
        desk.dataset("dm.rsf", &format!("n1=2 n2={count}"), &vec![1.0; 2 * count]);
    };
    regions(3);
    desk.dataset("rocks.rsf", "n1=6 n2=2", &ROCKS);
    for words in [
        "",
        "wrt=lambda,mu,rho tdc=y memory=0.002",
        "wrt=ip,is,rho jdata=3 data=displacement shots=2",
        "sponge=0 cpml=100",
    ] {
        desk.ran(&format!(
            "sfsem2d-gpu {RUN} {} device=cpu materials=rocks.rsf > data.rsf",
            words
                .split(' ')
                .filter(|word| !word.starts_with("wrt") && !word.starts_with("memory"))
                .collect::<Vec<_>>()
                .join(" ")
        ));
        dottest(&desk, &format!("{RUN} materials=rocks.rsf {words}"));
    }
    // The parameters are all constants of both regions.
    regions(22);
    desk.ran(&format!(
        "sfsem2d-gpu {RUN} device=cpu materials=rocks.rsf > data.rsf"
    ));
    dottest(&desk, &format!("{RUN} materials=rocks.rsf wrt=ccc,rho"));
    // The parameters are those at the nodes of a model, of stiffnesses, and of a separate grid.
    let nodes = |count: usize| {
        desk.dataset("dm.rsf", &format!("{GRID} n3={count}"), &vec![1.0; NODES * count]);
    };
    let speeds: Vec<f32> = (0..NODES).map(|k| 2700.0 + 30.0 * (k % 7) as f32).collect();
    desk.dataset("vp.rsf", GRID, &speeds);
    nodes(3);
    dottest(&desk, &format!("{RUN} vp=vp.rsf qp=60 qs=40"));
    dottest(
        &desk,
        &format!("{RUN} materials=rocks.rsf on=grid oqz=-40 dqz=100 nqz=7 oqx=-40 dqx=100 nqx=9"),
    );
    // Quality factors are given as numbers, and as grids.
    nodes(5);
    dottest(&desk, &format!("{RUN} vp=vp.rsf qp=60 qs=40 wrt=vp,vs,rho,qp,qs"));
    for (name, first) in [("qp.rsf", 70.0f32), ("qs.rsf", 45.0)] {
        let values: Vec<f32> = (0..NODES).map(|k| first + (k % 6) as f32).collect();
        desk.dataset(name, GRID, &values);
    }
    dottest(
        &desk,
        &format!("{RUN} vp=vp.rsf qp=qp.rsf qs=qs.rsf qmech=coarse wrt=vp,vs,rho,qp,qs tdc=y"),
    );
    // Each region has a grid of speeds and quality factors.
    for (name, first) in [("vp.rsf", 2700.0f32), ("qp.rsf", 70.0), ("qs.rsf", 45.0)] {
        let values: Vec<f32> = (0..2 * NODES)
            .map(|k| first * (1.0 + 0.01 * (k % 8) as f32))
            .collect();
        desk.dataset(name, &format!("{GRID} n3=2"), &values);
    }
    desk.dataset("dm.rsf", &format!("{GRID} n3=2 n4=5"), &[1.0; 10 * NODES]);
    dottest(
        &desk,
        &format!("{RUN} vp=vp.rsf qp=qp.rsf qs=qs.rsf wrt=vp,vs,rho,qp,qs"),
    );
    // c11, c13, c33 and c55.
    let planes = [1.7e10f32, 5.5e9, 1.4e10, 4.5e9];
    let constants: Vec<f32> = planes
        .iter()
        .flat_map(|c| (0..NODES).map(move |k| c * (1.0 + 0.01 * (k % 5) as f32)))
        .collect();
    desk.dataset("ccc.rsf", &format!("{GRID} n3=4"), &constants);
    nodes(5);
    dottest(&desk, &format!("{RUN} ccc=ccc.rsf wrt=ccc,rho"));
    dottest_of_a_small_product(&desk, &format!("{RUN} ccc=ccc.rsf qp=60 qs=40 wrt=ccc,rho"));
}

/// Perfectly matched layers are not perturbed, so a grid of derivatives may end where they begin: its values in the
/// layers would have no effect.
#[test]
fn a_grid_of_derivatives_may_end_where_layers_begin() {
    let desk = desk();
    // The layers are 100 m wide, at the sides and at the bottom of a box of 700 m by 500 m.
    let born = |[nz, nx]: [usize; 2], first: f32| {
        let value = |k: usize| {
            let (z, x) = (80.0 * (k % nz) as f32, first + 100.0 * (k / nz % nx) as f32);
            let inside = z <= 400.0 && (100.0..=600.0).contains(&x);
            if inside { 5.0 + 0.01 * z - 0.02 * x } else { 1000.0 }
        };
        let change: Vec<f32> = (0..3 * nz * nx).map(value).collect();
        let grid = format!("n1={nz} d1=80 o1=0 n2={nx} d2=100 o2={first}");
        desk.dataset("dm.rsf", &format!("{grid} n3=3"), &change);
        desk.ran(&format!(
            "sfsemborn2d-gpu < dm.rsf {RUN} materials=rocks.rsf sponge=0 cpml=100 on=grid oqz=0 dqz=80 nqz={nz} oqx={first} dqx=100 nqx={nx} > born.rsf"
        ));
        desk.read("born.rsf")
    };
    let (narrow, wide) = (born([6, 6], 100.0), born([8, 10], -100.0));
    let apart = crate::largest::relative_difference(&narrow, &wide);
    assert!(magnitude(&wide) > 0.0 && apart < 1e-6, "{apart:e}");
}

/// The largest difference between Born data and half the difference of the data of two perturbed models, relative to
/// the largest Born value.
fn from_half_the_difference(born: &[f32], [ahead, behind]: [&[f32]; 2]) -> f32 {
    assert!(ahead.len() == born.len() && behind.len() == born.len());
    let most = magnitude(born);
    let both = ahead.iter().zip(behind).zip(born);
    largest(both.map(|((a, b), born)| (0.5 * (a - b) - born) / most))
}

/// Born data are the derivative of the data: they agree with the central difference of two perturbed models.
#[test]
fn the_change_of_data_is_their_derivative() {
    let desk = desk();
    let sea = [
        2300.0, 2900.0, 1700.0, 60.0, 30.0, 0.0, 1000.0, 1500.0, 0.0, 9999.0, 9999.0, 0.0,
    ];
    let water = RUN.replace("src=force fz=1e9 fx=4e8", "m0=1e12") + " data=pressure";
    desk.dataset(
        "deep.rsf",
        "n1=2 n2=4",
        &[100.0, 15.0, 290.0, 60.0, 430.0, 150.0, 610.0, 190.0],
    );
    for (rocks, run, change) in [
        (
            ROCKS,
            format!("{RUN} stf=ricker"),
            [4.0f32, -3.0, 2.5, 3.0, 3.0, -4.0],
        ),
        (
            sea,
            water.replace("rec.rsf", "deep.rsf"),
            [2.0, -1.5, 2.0, 0.0, 2.0, 1.0],
        ),
    ] {
        // Parameters vp, vs, rho, each for both regions.
        desk.dataset("dm.rsf", "n1=2 n2=3", &change);
        let of = |sign: f32| {
            let mut rocks = rocks;
            for region in 0..2 {
                rocks[6 * region] += sign * change[4 + region];
                rocks[6 * region + 1] += sign * change[region];
                rocks[6 * region + 2] += sign * change[2 + region];
            }
            desk.dataset("changed.rsf", "n1=6 n2=2", &rocks);
            desk.ran(&format!(
                "sfsem2d-gpu {run} device=cpu materials=changed.rsf > data.rsf"
            ));
            desk.read("data.rsf")
        };
        let (ahead, behind) = (of(1.0), of(-1.0));
        desk.dataset("rocks.rsf", "n1=6 n2=2", &rocks);
        desk.ran(&format!(
            "sfsemborn2d-gpu < dm.rsf {run} materials=rocks.rsf > born.rsf"
        ));
        let born = desk.read("born.rsf");
        assert!(born.len() == ahead.len() && desk.open("born.rsf").header().text("linearised").is_some());
        let error = from_half_the_difference(&born, [&ahead, &behind]);
        println!("{run}: within {error:.1e} of half the difference");
        assert!(error < 1e-3, "{error:e}");
    }
}

/// With qp= and qs=, the attenuation of the moduli depends on the speeds, too.
#[test]
fn quality_factors_and_the_speeds_that_they_follow_have_derivatives() {
    let desk = desk();
    let run = RUN.replace(" sponge=150", "") + " qband=1,20 qref=5 vp=vp.rsf vs=vs.rsf qp=qp.rsf qs=qs.rsf";
    let start = [2750.0f32, 1550.0, 60.0, 40.0];
    let names = ["vp.rsf", "vs.rsf", "qp.rsf", "qs.rsf"];
    let shape = |node: usize, k: usize| {
        1.0 + 0.1 * ((3 * k + 1) as f32 * (node % 7) as f32 * 0.3 + (node / 7) as f32).sin()
    };
    let changed = |node: usize| {
        if node % 7 > 3 && node / 7 > 5 {
            0.0
        } else {
            shape(node, 1)
        }
    };
    // The parameters are perturbed one after the other, by a relative change that varies in space.
    for (k, size) in [(0, 2e-3f32), (1, 2e-3), (2, 0.02), (3, 0.02)] {
        let put = |sign: f32| {
            for (j, name) in names.iter().enumerate() {
                let value = |node: usize| {
                    let change = if j == k { sign * size * changed(node) } else { 0.0 };
                    // The lowest quality factors, to which the mechanisms are fitted, do not change: they are in a
                    // corner.
                    let low = if j > 1 && changed(node) == 0.0 { 0.6 } else { 1.0 };
                    low * start[j] * shape(node, 0) * (1.0 + change)
                };
                desk.dataset(name, GRID, &(0..NODES).map(value).collect::<Vec<_>>());
            }
        };
        let data = |sign: f32| {
            put(sign);
            desk.ran(&format!("sfsem2d-gpu {run} device=cpu > data.rsf"));
            desk.read("data.rsf")
        };
        let (ahead, behind) = (data(1.0), data(-1.0));
        put(0.0);
        let plane = if k < 2 { k } else { k + 1 };
        let mut change = vec![0.0; 5 * NODES];
        for node in 0..NODES {
            change[plane * NODES + node] = start[k] * shape(node, 0) * size * changed(node);
        }
        desk.dataset("dm.rsf", &format!("{GRID} n3=5"), &change);
        desk.ran(&format!(
            "sfsemborn2d-gpu < dm.rsf {run} wrt=vp,vs,rho,qp,qs > born.rsf"
        ));
        let born = desk.read("born.rsf");
        let error = from_half_the_difference(&born, [&ahead, &behind]);
        println!("{}: within {error:.1e} of half the difference", names[k]);
        // Quality factors change the data by a thousandth or less, and the data are in single precision.
        assert!(error < if k < 2 { 2e-3 } else { 6e-3 }, "{}: {error:e}", names[k]);
    }
}

/// The part of constants on a grid that relaxes depends on the constants at each point, which differ within an element.
#[test]
fn constants_of_points_that_relax_have_derivatives() {
    let desk = desk();
    let mut rocks = ROCKS;
    for region in rocks.chunks_mut(6) {
        (region[3], region[4]) = (20.0, 10.0);
    }
    desk.dataset("rocks.rsf", "n1=6 n2=2", &rocks);
    let run = RUN.replace(" sponge=150", "") + " qband=1,20 qref=5 materials=rocks.rsf ccc=ccc.rsf";
    // c11, c13, c33 and c55, and their changes.
    let planes = [1.7e10f32, 5.5e9, 1.4e10, 4.5e9];
    let size = [5e-4f32, -5e-4, 7e-4, 1e-3];
    let value = |plane: usize, node: usize| {
        let rough = if (node % 7 + node / 7).is_multiple_of(2) {
            0.75
        } else {
            1.25
        };
        rough * planes[plane]
    };
    let change = |plane: usize, node: usize| {
        let smooth = 1.0 + 0.5 * ((plane + 1) as f32 * (node % 7) as f32 * 0.4 + (node / 7) as f32).sin();
        size[plane] * smooth * value(plane, node)
    };
    let cells = |count: usize| (0..count).flat_map(|plane| (0..NODES).map(move |node| (plane, node)));
    let data = |sign: f32| {
        let changed = |(plane, node)| value(plane, node) + sign * change(plane, node);
        let all: Vec<f32> = cells(4).map(changed).collect();
        desk.dataset("ccc.rsf", &format!("{GRID} n3=4"), &all);
        desk.ran(&format!("sfsem2d-gpu {run} device=cpu > data.rsf"));
        desk.read("data.rsf")
    };
    let (ahead, behind, _) = (data(1.0), data(-1.0), data(0.0));
    let change = |(plane, node)| if plane < 4 { change(plane, node) } else { 0.0 };
    let change: Vec<f32> = cells(5).map(change).collect();
    desk.dataset("dm.rsf", &format!("{GRID} n3=5"), &change);
    desk.ran(&format!("sfsemborn2d-gpu < dm.rsf {run} wrt=ccc,rho > born.rsf"));
    let error = from_half_the_difference(&desk.read("born.rsf"), [&ahead, &behind]);
    println!("within {error:.1e} of half the difference");
    // The measured error of second order is 2.9e-4; with twice the changes it is four times as large.
    assert!(error < 1e-3, "{error:e}");
}

#[test]
fn what_is_not_linearised_is_refused() {
    let desk = desk();
    desk.dataset("rocks.rsf", "n1=6 n2=2", &ROCKS);
    desk.dataset("dm.rsf", "n1=2 n2=3", &[1.0; 6]);
    desk.dataset("other.rsf", "n1=2 n2=2", &[1.0; 4]);
    desk.dataset("vp.rsf", GRID, &[2700.0; NODES]);
    let mut table = ROCKS;
    table[5] = 1.0;
    desk.dataset("table.rsf", "n1=6 n2=2", &table);
    let mut constants = vec![0.0; 42];
    for (k, c) in [
        (0, 1.9e10),
        (1, 6e9),
        (2, 6e9),
        (6, 1.9e10),
        (7, 6e9),
        (11, 1.9e10),
        (15, 6e9),
        (18, 6e9),
        (20, 6e9),
    ] {
        (constants[k], constants[21 + k]) = (c, c);
    }
    desk.dataset("ccc.rsf", "n1=21 n2=2", &constants);
    for (words, expected) in [
        (
            "< other.rsf",
            "standard input has n1=2 n2=2 and 4 values; adj=n takes a perturbation with n1=2 n2=3, whose last axis is vp vs rho: 6 values",
        ),
        ("< dm.rsf wrt=ccc,rho", "a perturbation with n1=2 n2=22"),
        (
            "< dm.rsf vp=vp.rsf on=regions",
            "on=regions is not possible, because vp=, vs= or den= vary within the regions: give on=model or on=grid",
        ),
        (
            "< dm.rsf materials=table.rsf ccc=ccc.rsf",
            "region 0 has a table of constants, which has no derivative with respect to speeds, impedances or Lame's constants: give wrt=ccc,rho",
        ),
        (
            "< dm.rsf wrt=vp,vs,rho,qp,qs",
            "the run has no qp= and qs=: give both",
        ),
        (
            "adj=y < dm.rsf",
            "this program takes data of this survey: n1=4 receivers, n2=2 components",
        ),
        (
            "< dm.rsf data=strain",
            "give data=velocity, displacement, acceleration or pressure",
        ),
    ] {
        let ended = desk.sh(&format!(
            "sfsemborn2d-gpu {RUN} materials=rocks.rsf {words} > x.rsf"
        ));
        assert!(
            ended.code != 0 && ended.err.contains(expected),
            "{words}: {ended:?}"
        );
    }
    let plan = desk.ran(&format!(
        "sfsem2d-gpu {RUN} materials=rocks.rsf ccc=ccc.rsf plan=y"
    ));
    let expected = "ccc= has no effect: no row of materials= has a 1 in column 6";
    assert!(plan.err.contains(expected), "{plan:?}");
    let plan = desk.ran(&format!("sfsemborn2d-gpu {RUN} materials=rocks.rsf plan=y"));
    assert!(plan.err.contains("two wavefields advance together"), "{plan:?}");
}
