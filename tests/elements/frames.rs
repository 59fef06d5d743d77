//! Perfectly matched layers that `sfhexmesh` adds around a box, and layers that are already part of a mesh.

use crate::desk::{Desk, Outcome};
use crate::largest::{largest_difference, magnitude};

const RUN: &str = "sfsem2d-gpu sou=sou.rsf rec=rec.rsf device=cpu src=force fz=1e9 fx=3e8 stf=ricker freq=5 nt=300 dt=0.002";

/// A source and two receivers in a plane of 1200 m by 500 m.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.dataset("sou.rsf", "n1=2 n2=1", &[500.0, 420.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[320.0, 150.0, 950.0, 320.0]);
    desk
}

/// Makes a mesh with this name.
fn add_layers(desk: &Desk, words: &str, mesh: &str) -> Outcome {
    desk.ran(&format!(
        "sfhexmesh rho=2300 vp=3000 vs=1700 judge=n {words} > {mesh}.rsf"
    ))
}

/// The bits of a run's records.
fn bits(desk: &Desk, words: &str) -> Vec<u32> {
    desk.ran(&format!("{RUN} {words} > d.rsf"));
    desk.read("d.rsf").into_iter().map(f32::to_bits).collect()
}

/// A box with layers of two elements on three sides.
fn added() -> Desk {
    let desk = desk();
    let plan = add_layers(
        &desk,
        "surfaces=800,0 layers=8 nx=12 xmin=0 xmax=1200 cpml=180",
        "added",
    )
    .err;
    for words in [
        "perfectly matched layers: 2 elements (200 m) at xmin, 2 elements (200 m) at xmax, 2 elements (200 m) at bottom",
        "makes layers of fewer than 3 elements",
    ] {
        assert!(plan.contains(words), "{plan}");
    }
    desk
}

#[test]
fn layers_around_a_box_are_those_of_a_larger_one() {
    let desk = added();
    add_layers(
        &desk,
        "surfaces=1000,0 layers=10 nx=16 xmin=-200 xmax=1400",
        "larger",
    );
    let own = bits(&desk, "mesh=added.rsf");
    assert!(own == bits(&desk, "mesh=larger.rsf cpml=200") && own != bits(&desk, "mesh=larger.rsf"));
    assert!(bits(&desk, "mesh=added.rsf cpml=0") == bits(&desk, "mesh=larger.rsf"));
    for (thickness, warns) in [(100, false), (20, true)] {
        let run = desk.sh(&format!(
            "{RUN} mesh=larger.rsf cpml={thickness} nt=2 dt=1e-5 > d.rsf"
        ));
        let warned = run.err.contains(
            "cpml=20 m is thinner than elements along the sides that absorb, which are up to 100 m wide",
        ) && run.err.contains("give cpml=300 (three elements) or more");
        assert_eq!(warned, warns, "{run:?}");
    }
    // Layers below and above, and a layer that is thicker than the box.
    for (box_words, larger) in [
        (
            "surfaces=800,0 layers=8 absorb=bottom,top cpml=100",
            "surfaces=900,-100 layers=10 absorb=bottom,top",
        ),
        (
            "surfaces=500,0 layers=5 absorb=bottom cpml=900",
            "surfaces=1400,0 layers=14 absorb=bottom",
        ),
    ] {
        let thickness = box_words.split("cpml=").nth(1).unwrap();
        add_layers(&desk, &format!("{box_words} nx=12 xmin=0 xmax=1200"), "box");
        add_layers(&desk, &format!("{larger} nx=12 xmin=0 xmax=1200"), "larger-box");
        assert!(
            bits(&desk, "mesh=box.rsf") == bits(&desk, &format!("mesh=larger-box.rsf cpml={thickness}")),
            "{box_words}"
        );
    }
}

#[test]
fn the_step_that_is_printed_holds_in_layers() {
    let desk = added();
    let step = |lines: &str, behind: &str| -> f64 {
        let rest = lines.split(behind).nth(1).unwrap_or_default();
        rest.split(' ')
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(f64::NAN)
    };
    let text = desk.ran("sfhexmesh mesh=added.rsf > figures.rsf").err;
    assert!(
        text.contains("; 64 elements in perfectly matched layers"),
        "{text}"
    );
    let plan = desk.ran(&format!("{RUN} mesh=added.rsf plan=y > plan.rsf")).err;
    assert!(
        plan.contains("; 64 elements in perfectly matched layers"),
        "{plan}"
    );
    let (printed, taken) = (
        step(&text, "largest stable step "),
        step(&plan, "certainly stable "),
    );
    assert!(printed <= taken && printed > 0.998 * taken, "{printed} {taken}");
}

#[test]
fn elements_in_layers_are_given_once() {
    let desk = added();
    for (pairs, expected) in [
        ([0, 1, 0, 5], "has element 0 twice"),
        ([0, 1, 900, 1], "element 900 with axes 1"),
        ([0, 2, 1, 1], "axes are 1 (x), 3 (z) or 5 (both)"),
    ] {
        let text: Vec<String> = pairs.iter().map(i32::to_string).collect();
        desk.put("pairs.txt", text.join(" "));
        desk.ran("echo n1=2 n2=2 'data_format=ascii_int in=pairs.txt' | sfbasics dd form=native > pairs.rsf");
        let run = desk.sh(&format!("{RUN} mesh=added.rsf pml=pairs.rsf > d.rsf"));
        assert!(run.code == 1 && run.err.contains(expected), "{expected}: {run:?}");
    }
    for (words, expected) in [
        ("absorbing=none", "pml= has no effect with absorbing=none"),
        ("cpml=200", "pml= has no effect with cpml="),
    ] {
        let run = desk.ran(&format!("{RUN} mesh=added.rsf pml=added-pml.rsf {words} > d.rsf"));
        assert!(run.err.contains(expected), "{run:?}");
    }
}

#[test]
fn receivers_in_layers_are_warned_of() {
    let desk = added();
    assert!(
        !desk
            .ran(&format!("{RUN} mesh=added.rsf > d.rsf"))
            .err
            .contains("where waves are damped")
    );
    desk.dataset(
        "rec.rsf",
        "n1=2 n2=3",
        &[320.0, 150.0, -50.0, 320.0, 600.0, 900.0],
    );
    let run = desk.ran(&format!("{RUN} mesh=added.rsf > d.rsf"));
    assert!(
        run.err.contains(
            "2 receivers are in perfectly matched layers (the first is number 2), where waves are damped"
        ),
        "{run:?}"
    );
}

/// Sources and receivers in a sponge are warned of, before the run and by plan=y, and those on its inner edge are not.
#[test]
fn points_in_a_sponge_are_warned_of() {
    let desk = desk();
    add_layers(
        &desk,
        "surfaces=800,0 layers=8 nx=12 xmin=0 xmax=1200 absorb=xmin,xmax,bottom",
        "box",
    );
    let messages = |words: &str| desk.ran(&format!("{RUN} mesh=box.rsf nt=2 {words} > d.rsf")).err;
    assert!(!messages("sponge=250").contains("of an absorbing side"));
    // The receivers are 320 and 250 m from the sides, and the source 380 m from the bottom.
    for words in ["sponge=251", "sponge=251 plan=y"] {
        let text = messages(words);
        assert!(
            text.contains("1 receiver is within 251 m of an absorbing side (the first is number 2), in the sponge, where waves are damped: move them out of it")
                && !text.contains("source is within"),
            "{text}"
        );
    }
    let text = messages("sponge=400");
    assert!(
        text.contains("1 source is within 400 m") && text.contains("2 receivers are within 400 m"),
        "{text}"
    );
    // The free top absorbs nothing.
    desk.dataset("rec.rsf", "n1=2 n2=1", &[600.0, 10.0]);
    assert!(!messages("sponge=350").contains("of an absorbing side"));
}

/// A grid that covers the box is enough for a mesh with layers around it: the layers have the values at its edges.
#[test]
fn values_at_the_edge_of_a_grid_go_on_in_layers() {
    let desk = added();
    // Nodes every 50 m from (0, 0) to (1200, 800), and from (-200, 0) to (1400, 1000) with the values at the edges of
    // the first box.
    let speed = |x: f32, z: f32| 2500.0 + x.clamp(0.0, 1200.0) / 3.0 + z.clamp(0.0, 800.0) / 2.0;
    for (name, n1, n2, first) in [("box.rsf", 17, 25, 0.0), ("whole.rsf", 21, 33, -200.0)] {
        let values: Vec<f32> = (0..n1 * n2)
            .map(|k| speed(first + 50.0 * (k / n1) as f32, 50.0 * (k % n1) as f32))
            .collect();
        desk.dataset(name, &format!("n1={n1} n2={n2} d1=50 d2=50 o2={first}"), &values);
    }
    let of_box = bits(&desk, "mesh=added.rsf vp=box.rsf");
    let of_whole = bits(&desk, "mesh=added.rsf vp=whole.rsf");
    let largest = magnitude(&numbers(&of_box));
    let off = largest_difference(numbers(&of_box), numbers(&of_whole));
    assert!(
        off < 1e-5 * f64::from(largest) && of_box != bits(&desk, "mesh=added.rsf"),
        "{off} {largest}"
    );
    desk.ran(&format!("{RUN} mesh=added.rsf > d.rsf"));
    let back = RUN.replace("sfsem2d-gpu", "sfsemgrad2d-gpu");
    desk.ran(&format!(
        "{back} mesh=added.rsf vp=box.rsf < d.rsf > gradient.rsf"
    ));
    let gradient = desk.read("gradient.rsf");
    assert!(gradient.len() == 3 * 17 * 25 && magnitude(&gradient) > 0.0);
}

fn numbers(bits: &[u32]) -> Vec<f32> {
    bits.iter().map(|x| f32::from_bits(*x)).collect()
}

/// Below a hill there are two layers of rock, in 3-D. The regions and the surface continue outside, and the elements
/// below belong to the lowest region.
#[test]
fn regions_and_hills_go_on_in_layers() {
    let desk = Desk::new();
    let hill: Vec<f32> = (0..5 * 5).map(|k| -10.0 * (k % 5 * (k / 5)) as f32).collect();
    desk.dataset("hill.rsf", "n1=5 d1=100 n2=5 d2=100", &hill);
    let run = desk.ran(
        "sfhexmesh surfaces=600,300,hill.rsf layers=3,3 nx=4 ny=4 rho=2300,2000 vp=3000,2000 vs=1700,1000 absorb=xmax,ymin,ymax,bottom cpml=100 judge=n > hill-mesh.rsf",
    );
    assert!(run.err.contains("1 element (100 m) at xmax"), "{run:?}");
    let whole = |name: &str| -> Vec<i32> { desk.open(name).read_all().unwrap() };
    let (regions, layers) = (whole("hill-mesh-regions.rsf"), whole("hill-mesh-pml.rsf"));
    assert_eq!(regions.iter().filter(|region| **region == 0).count(), 4 * 30);
    let corners = layers.chunks(2).filter(|pair| pair[1] == 7).count();
    assert_eq!((layers.len(), corners), (2 * 114, 2));
    // Beyond the corner of the model the surface has the height of the hill's end.
    let nodes = desk.read("hill-mesh-nodes.rsf");
    let farthest = nodes.chunks(3).filter(|x| x[0] == 500.0 && x[1] == 500.0);
    let highest = farthest.map(|x| x[2]).fold(f32::INFINITY, f32::min);
    assert!((highest + 160.0).abs() < 1e-3, "{highest}");
    desk.dataset("sou.rsf", "n1=3 n2=1", &[150.0, 250.0, 380.0]);
    desk.dataset("rec.rsf", "n1=3 n2=1", &[320.0, 120.0, 150.0]);
    desk.ran(
        &RUN.replace("sfsem2d-gpu", "sfsem3d-gpu mesh=hill-mesh.rsf > d.rsf")
            .replace("nt=300", "nt=100"),
    );
    assert!(magnitude(&desk.read("d.rsf")) > 0.0);
}

#[test]
fn layers_that_a_box_cannot_have_are_sentences() {
    let desk = Desk::new();
    desk.dataset("dip.rsf", "n1=2 d1=1200", &[800.0, 900.0]);
    for (words, expected) in [
        (
            "surfaces=800,0 layers=8 doubling=1 cpml=100",
            "doublings have slanted elements",
        ),
        (
            "surfaces=dip.rsf,0 layers=8 cpml=100",
            "the bottom of the box absorbs and is a map that is not flat",
        ),
        ("surfaces=800,0 layers=8 cpml=100 absorb=none", "absorb= has none"),
        ("surfaces=800,0 layers=8 cpml=1e30", "elements"),
    ] {
        let run = desk.sh(&format!(
            "sfhexmesh nx=12 xmin=0 xmax=1200 rho=2300 vp=3000 vs=1700 judge=n {words} > no.rsf"
        ));
        assert!(run.code == 1 && run.err.contains(expected), "{words}: {run:?}");
    }
}
