//! `sfhexmesh` as users call it.

use crate::desk::Desk;
use crate::fixture;

const ROCK: &str = "rho=2500 vp=3000 vs=1700";

#[test]
fn its_declaration_is_sound() {
    programs::hexmesh::PROGRAM.verify().unwrap();
}

#[test]
fn a_box_is_written_judged_and_read_again() {
    let desk = Desk::new();
    let run = desk.sh(&format!(
        "sfhexmesh surfaces=1000,0 layers=5 nx=8 ny=6 xmin=0 xmax=1600 ymin=0 ymax=1200 {ROCK} hist=h.rsf > mesh.rsf"
    ));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err
            .contains("240 elements of 8 nodes, 378 nodes, 17325 points at degree 4"),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("188 absorbing") || run.err.contains("188"),
        "{}",
        run.err
    );
    // Cubes of 200 m have 5 points per wavelength for 250 m; the bound of the step is for Poisson's ratio near 1/4.
    assert!(run.err.contains("resolved up to 6.8000e0 Hz"), "{}", run.err);
    let mut nodes = desk.open("mesh-nodes.rsf");
    assert_eq!((nodes.axis(1).n, nodes.axis(2).n), (3, 378));
    assert_eq!(
        nodes.read_all_f32().unwrap().into_iter().max_by(f32::total_cmp),
        Some(1600.0)
    );
    let again = desk.sh("sfhexmesh mesh=mesh.rsf > again.rsf");
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(again.err, run.err);
    let (a, b) = (
        desk.open("h.rsf").read_all::<i32>(),
        desk.open("again.rsf").read_all::<i32>(),
    );
    assert_eq!(a.unwrap(), b.unwrap());
    let files = desk.sh("sfhexmesh elements=mesh.rsf nodes=mesh-nodes.rsf materials=mesh-materials.rsf free=mesh-free.rsf > x.rsf");
    assert!(
        files.err.contains("0 absorbing and 48 free faces"),
        "{}",
        files.err
    );
}

#[test]
fn stages_of_the_work_are_printed_on_request() {
    let desk = Desk::new();
    let line = format!("sfhexmesh surfaces=1000,0 layers=5 nx=8 xmin=0 xmax=1600 {ROCK}");
    let text = desk.sh(&format!("{line} verb=y > a.rsf")).err;
    let stages: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(", after "))
        .map(|(what, _)| what)
        .collect();
    let expected = [
        "cuts 40 elements",
        "looks for faults",
        "measures elements and their steps",
        "writes the mesh",
    ];
    assert_eq!(
        stages,
        expected.map(|what| format!("sfhexmesh: {what}")),
        "{text}"
    );
    let text = desk.sh("sfhexmesh mesh=a.rsf judge=n verb=y > b.rsf").err;
    assert!(text.starts_with("sfhexmesh: reads the mesh, after "), "{text}");
    assert!(!desk.sh(&format!("{line} > c.rsf")).err.contains("after"));
}

#[test]
fn a_valley_in_two_dimensions_with_a_doubling() {
    let desk = Desk::new();
    let map: Vec<f32> = (0..101)
        .map(|k| 100.0 - 100.0 * (k as f32 * 0.0628).cos())
        .collect();
    desk.dataset("topo.rsf", "n1=101 o1=0 d1=40", &map);
    let run = desk.sh(
        "sfhexmesh surfaces=2000,800,topo.rsf layers=4,6 nx=40 doubling=2 rho=2600,2300 vp=4000,2800 vs=2300,1500 curved=y > m.rsf",
    );
    assert_eq!(run.code, 0, "{}", run.err);
    // There are four rows of 20 elements, a doubling of 3 x 20, and five rows of 40.
    assert!(run.err.contains("340 elements of 9 nodes"), "{}", run.err);
    // The numbers of nodes and elements count from 0.
    let axes = desk.axes("m.rsf", 2);
    let counted = [9, 340].map(|n| (n, 0.0, 1.0));
    assert_eq!([0, 1].map(|k| (axes[k].n, axes[k].o, axes[k].d)), counted);
    assert!(run.err.contains("and 40 free faces"), "{}", run.err);
}

#[test]
fn foreign_meshes_become_rsf() {
    let desk = Desk::new();
    let path = fixture("hex27.msh");
    let run = desk.sh(&format!(
        "sfhexmesh gmsh={} rho=2000,2500 vp=1800,3500 vs=800,2000 base=basin > basin.rsf",
        path.display()
    ));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("region 0 is soil")
            && run.err.contains("group a side")
            && run
                .err
                .contains("outer faces are in no group called top, free, bottom"),
        "{}",
        run.err
    );
    assert_eq!(
        desk.open("basin-regions.rsf")
            .read_all::<i32>()
            .unwrap()
            .iter()
            .sum::<i32>(),
        24
    );
}

#[test]
fn wrong_parameters_are_a_sentence() {
    let desk = Desk::new();
    desk.dataset(
        "map.rsf",
        "n1=2 d1=100 n2=3 d2=50",
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    );
    let flat = "xmin=0 xmax=100 ymin=0 ymax=100";
    for (words, parts) in [
        ("", vec!["no mesh"]),
        ("gmsh=a specfem=b", vec!["gmsh= and specfem=", "give one"]),
        ("gmsh=nothing.msh", vec!["cannot read gmsh=nothing.msh"]),
        ("specfem=nowhere", vec!["cannot read nowhere/nodes_coords_file"]),
        ("surfaces=100,0 layers=1", vec!["nx= is missing"]),
        (
            "surfaces=100,50,0 layers=1 nx=1",
            vec!["3 entries", "n + 1 surfaces"],
        ),
        ("surfaces=100,0 layers=1 nx=2", vec!["xmin= is missing"]),
        (
            "surfaces=100,map.rsf layers=1 nx=2",
            vec![
                "the map map.rsf of surfaces= has 3 values of y (n2): give ny= for a model in 3-D",
                "sfwindow n2=1 f2=0",
            ],
        ),
        (
            "surfaces=0,100 layers=1 nx=2 ny=2",
            vec!["not above surface 1", "z grows downwards", "from the bottom up"],
        ),
        (
            "surfaces=100,0 layers=2 nx=6 ny=4 doubling=1",
            vec!["nx=6 cannot be halved", "multiple of 4"],
        ),
        (
            "surfaces=100,0 layers=1 nx=4 ny=4 doubling=1",
            vec!["which has 1 row", "needs 2"],
        ),
        (
            "surfaces=100,0 layers=1000000 nx=1000 ny=1000",
            vec!["1000000000000 elements, but at most 500000000"],
        ),
        (
            "surfaces=100,0 layers=1 nx=1 ny=1 absorb=up",
            vec!["absorb= has `up`"],
        ),
        (
            "surfaces=100,0 layers=1 nx=1 ny=1 vp=1000",
            vec!["rho= is missing"],
        ),
        (
            "surfaces=100,0 layers=1 nx=1 ny=1 rho=1 vp=1000 vs=900",
            vec!["region 0", "0.866 vp"],
        ),
        (
            "surfaces=100,0 layers=1 nx=1 ny=1 rho=1 vp=1,2 vs=0",
            vec!["vp= has 2 numbers, but the mesh has one region"],
        ),
    ] {
        let got = desk.sh(&format!("sfhexmesh {words} {flat} > x.rsf"));
        let got = if words.contains("nx=2") && !words.contains("ny") {
            desk.sh(&format!("sfhexmesh {words} > x.rsf"))
        } else {
            got
        };
        assert_eq!(got.code, 1, "{words}: {}", got.err);
        assert!(
            parts.iter().all(|part| got.err.contains(part)),
            "{words}: {}",
            got.err
        );
        let sentences = got.err.lines().filter(|line| !line.contains(": warning: "));
        assert_eq!(sentences.count(), 1, "{words}: {}", got.err);
    }
}

#[test]
fn a_bad_mesh_is_refused_with_its_element() {
    let desk = Desk::new();
    let run = desk
        .sh("sfhexmesh surfaces=100,0 layers=2 nx=2 ny=2 xmin=0 xmax=100 ymin=0 ymax=100 judge=n > mesh.rsf");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let mut nodes = desk.read("mesh-nodes.rsf");
    nodes[3] += 200.0;
    desk.dataset("bad.rsf", "n1=3 n2=27", &nodes);
    let bad = desk.sh("sfhexmesh mesh=mesh.rsf nodes=bad.rsf > x.rsf");
    assert_eq!(bad.code, 1);
    assert!(
        bad.err.contains("the Jacobian of element 1 is -") && bad.err.contains("(x, y, z) = ("),
        "{}",
        bad.err
    );
}

#[test]
fn degrees_speeds_and_quality_that_cannot_be_meant_are_refused() {
    let desk = Desk::new();
    let degrees = "layers=4,4,2 nx=20 ny=20 xmin=12.7 xmax=13.5 ymin=42.4 ymax=43.2";
    let place = "layers=4 nx=4 xmin=0 xmax=400";
    for (words, expected) in [
        (
            format!("surfaces=20000,8000,2000,0 {degrees} {ROCK}"),
            "if x and y are degrees, give metres of a projection (111200 m for a degree of latitude",
        ),
        (
            format!("surfaces=20000,0 layers=4 nx=4000 xmin=1000 xmax=1001 {ROCK}"),
            "x, y and z must all be in metres",
        ),
        (
            format!("surfaces=400,0 {place} rho=2500 vp=1e9 vs=1700"),
            "no wave in the Earth is faster than 14000 m/s",
        ),
        (
            format!("surfaces=400,0 {place} {ROCK} qmu=0.1"),
            "Qmu=0.1: quality factors are 1 or more",
        ),
    ] {
        let run = desk.sh(&format!("sfhexmesh {words} > mesh.rsf"));
        assert_eq!(
            (run.code, run.err.lines().count()),
            (1, 1),
            "{words}: {}",
            run.err
        );
        assert!(run.err.contains(expected), "{words}: {}", run.err);
    }
}

#[test]
fn memory_is_counted_before_a_mesh_is_built() {
    let desk = Desk::new();
    let words = format!("surfaces=2000,0 layers=100 nx=300 ny=300 xmin=0 xmax=9000 ymin=0 ymax=9000 {ROCK}");
    // Nine million elements of 920 bytes each, as measured.
    let run = desk.sh(&format!("ulimit -v 4000000; sfhexmesh {words} > mesh.rsf"));
    assert_eq!((run.code, run.err.lines().count()), (1, 1), "{}", run.err);
    assert!(
        run.err
            .contains("9000000 elements need about 8.28 GB of memory, but"),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("use fewer and larger elements (") && run.err.contains("judge=n"),
        "{}",
        run.err
    );
    // A dry run of a mesh that fits writes only the header.
    let small = words.replace("nx=300 ny=300", "nx=30 ny=30");
    let run = desk.sh(&format!("sfhexmesh {small} --dryrun=y > dry.rsf"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("90000 elements need about") && run.err.contains("nothing was made"),
        "{}",
        run.err
    );
    let text = String::from_utf8_lossy(&std::fs::read(desk.path("dry.rsf")).unwrap()).into_owned();
    assert!(text.contains("n1=8") && text.contains("n2=90000"), "{text}");
    assert!(!desk.path("mesh-nodes.rsf").exists());
    let run = desk.sh("sfhexmesh sphere=y nx=16 width=40 skip=15000,24400 --dryrun=y > dry.rsf");
    assert!(
        run.code == 0 && run.err.contains("nothing was made"),
        "{}",
        run.err
    );
}

#[test]
fn files_of_a_mesh_are_named_after_it() {
    let desk = Desk::new();
    let plane = format!("sfhexmesh surfaces=1000,0 layers=5 nx=8 xmin=0 xmax=1600 {ROCK} judge=n");
    let solid = format!("{plane} ny=6 ymin=0 ymax=1200");
    desk.ran(&format!(
        "{plane} > plane.rsf && {solid} > box.rsf && mkdir sub && {plane} > sub/deep.rsf"
    ));
    for (mesh, nodes) in [("plane", "plane"), ("box", "box"), ("sub/deep", "sub/deep")] {
        assert!(desk.path(&format!("{nodes}-nodes.rsf")).exists(), "{nodes}");
        desk.ran(&format!("sfhexmesh mesh={mesh}.rsf > report.rsf"));
    }
    // The files can be moved with the mesh, and files next to it take precedence over files in the current folder.
    desk.ran("cp box-nodes.rsf deep-nodes.rsf && cp box-regions.rsf deep-regions.rsf && sfhexmesh mesh=sub/deep.rsf > report.rsf");
    desk.ran("mv sub moved && sfhexmesh mesh=moved/deep.rsf > report.rsf");
    // The mesh may be made again under its name; base= is used as given, and output to a pipe has no name.
    desk.ran(&format!(
        "{plane} > plane.rsf && {plane} base=other > plane.rsf && {plane} | sfbasics cp > piped.rsf"
    ));
    assert!(desk.path("other-nodes.rsf").exists() && desk.path("mesh-nodes.rsf").exists());
    let mixed = desk.sh("sfhexmesh elements=plane.rsf nodes=box-nodes.rsf > report.rsf");
    assert!(
        mixed.code == 1
            && mixed
                .err
                .contains("elements of 4 nodes, as in meshes of 2 dimensions")
            && mixed.err.contains("has coordinates in 3"),
        "{mixed:?}"
    );
}

#[test]
fn files_of_another_mesh_are_not_overwritten() {
    let desk = Desk::new();
    let plane = format!("sfhexmesh surfaces=1000,0 layers=5 nx=8 xmin=0 xmax=1600 {ROCK} judge=n");
    desk.ran(&format!("{plane} base=mesh > first.rsf"));
    let before = desk.read("mesh-nodes.rsf");
    let coarse = plane.replace("nx=8", "nx=4");
    let run = desk.sh(&format!("{coarse} base=mesh > second.rsf"));
    let expected = "mesh-nodes.rsf belongs to the mesh first.rsf, which would change: give base=";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    assert_eq!(desk.read("mesh-nodes.rsf"), before);
    desk.ran(&format!("rm first.rsf && {coarse} base=mesh > second.rsf"));
    // Output to a pipe may overwrite the files of that mesh.
    let run = desk.ran(&format!("{coarse} | sfbasics cp > second.rsf"));
    assert!(
        run.err.contains("mesh-nodes.rsf exists and will be overwritten"),
        "{run:?}"
    );
}

#[test]
fn words_of_another_way_are_warned_of() {
    let desk = Desk::new();
    let plane = format!("surfaces=1000,0 layers=5 nx=8 xmin=0 xmax=1600 {ROCK} judge=n");
    desk.ran(&format!("sfhexmesh {plane} > plane.rsf"));
    for (line, expected) in [
        (
            format!("{plane} lat=3 skip=5"),
            "lat=, skip= have no effect with surfaces=, only with sphere=y",
        ),
        (
            format!("{plane} ymin=0 ymax=5"),
            "ymin=, ymax= have no effect without ny=, in 2-D",
        ),
        (
            format!("{plane} up=n"),
            "up= has no effect with surfaces=, only with gmsh=",
        ),
        (
            format!("{plane} free=x.rsf"),
            "free= has no effect with surfaces=, only with mesh= or elements=",
        ),
        (format!("{plane} degree=5"), "degree= has no effect with judge=n"),
        (
            "mesh=plane.rsf layers=3 base=x curved=y".into(),
            "layers= has no effect with mesh=, only with surfaces= or sphere=y",
        ),
        (
            plane.replace("rho=2500", "rho=2.5"),
            "the density is 2.5 kg/m3 in region 0: units are SI",
        ),
        (
            plane.replace("vp=3000 vs=1700", "vp=3 vs=1.7"),
            "the fastest wave of the model has a speed of 3.0000 m/s: units are SI",
        ),
        (
            // The fastest region determines the step, not the slowest and not the first.
            plane
                .replace("surfaces=1000,0 layers=5", "surfaces=1000,500,0 layers=3,2")
                .replace(ROCK, "rho=2500,2400 vp=1.5,3 vs=0.8,1.7"),
            "the fastest wave of the model has a speed of 3.0000 m/s: units are SI",
        ),
        (
            "mesh=plane.rsf base=x".into(),
            "base= has no effect with mesh=, only with surfaces=",
        ),
        (
            "mesh=plane.rsf vp=3000 qmu=50".into(),
            "vp=, qmu= have no effect because the mesh brings its materials",
        ),
        (
            "surfaces=1000,0 layers=5 nx=8 xmin=0 xmax=1600 qmu=50 judge=n".into(),
            "qmu= has no effect without rho=, vp= and vs=",
        ),
    ] {
        let run = desk.ran(&format!("sfhexmesh {line} > out.rsf"));
        assert!(run.err.contains(expected), "{line}: {run:?}");
    }
    let run = desk.ran(&format!("sfhexmesh {plane} > out.rsf"));
    assert!(!run.err.contains("effect"), "{run:?}");
}

#[test]
fn the_step_is_set_by_the_stiffest_element_in_a_mesh_with_a_doubling_too() {
    let desk = Desk::new();
    let run = desk.ran(
        "sfhexmesh nx=16 ny=16 xmin=0 xmax=3000 ymin=0 ymax=3000 surfaces=1500,60,0 layers=4,4 doubling=2 rho=2500,1900 vp=3500,1800 vs=2000,800 > m.rsf",
    );
    let (_, rest) = run.err.split_once("largest stable step").expect("a step");
    let (_, rest) = rest.split_once("(x, y, z) = (").expect("a place");
    let (place, _) = rest.split_once(')').expect("a place");
    let depth = place.rsplit(", ").next().and_then(|z| z.parse::<f64>().ok());
    // The step is limited by thin elements of the soft rock, not by the thin elements of the hard rock, whose nodes
    // they share.
    assert!(depth.is_some_and(|z| z < 60.0), "{place}");
}
