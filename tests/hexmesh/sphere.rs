//! Chunks of the Earth: number of elements, faces on discontinuities, volumes, and time steps.

use kernels::earth::globe::{distance, position};
use kernels::earth::{Chunk, Radial};
use programs::meshing::RawMesh;

use crate::desk::Desk;
use crate::volumes;

const SURFACE: f64 = 6.371e6;
const CORE: f64 = 3.48e6;
/// Degrees per element of the mesh of Komatitsch et al. (2010).
const WIDTH: f64 = 90.0 / 256.0;

/// Makes a mesh; returns the messages and the mesh.
fn chunk(desk: &Desk, words: &str) -> (String, RawMesh) {
    let run = desk.sh(&format!("sfhexmesh sphere=y {words} > mesh.rsf"));
    assert_eq!(run.code, 0, "{words}: {}", run.err);
    let mut elements = desk.open("mesh.rsf");
    let pairs = |name: &str| -> Vec<[i32; 2]> {
        let Ok(all) = rsf_io::Input::open(&desk.path(name)) else {
            return Vec::new();
        };
        let mut all = all;
        all.read_all::<i32>()
            .unwrap()
            .chunks(2)
            .map(|p| [p[0], p[1]])
            .collect()
    };
    let raw = RawMesh {
        ndim: 3,
        nodes: desk.read("mesh-nodes.rsf").into_iter().map(f64::from).collect(),
        per_element: elements.axis(1).n,
        elements: elements.read_all().unwrap(),
        regions: desk.open("mesh-regions.rsf").read_all().unwrap(),
        absorbing: pairs("mesh-absorbing.rsf"),
        free: pairs("mesh-free.rsf"),
        ..RawMesh::default()
    };
    (run.err, raw)
}

fn number(text: &str, before: &str) -> f64 {
    let (head, _) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no `{before}` in {text}"));
    let word = head.rsplit([' ', '\n']).next().unwrap_or_default();
    word.parse()
        .unwrap_or_else(|_| panic!("`{word}` is not a number"))
}

fn radius(x: &[f64]) -> f64 {
    x.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// Checks that every element lies between the radii of its region, except for rounding in float32, and that each end is
/// reached.
fn check_regions(raw: &RawMesh, radii: &[f64]) {
    let mut reached = vec![[f64::INFINITY, 0.0_f64]; radii.len() - 1];
    for (nodes, region) in raw.elements.chunks(raw.per_element).zip(&raw.regions) {
        let ends = &mut reached[*region as usize];
        for node in nodes {
            let r = radius(&raw.nodes[3 * *node as usize..][..3]);
            *ends = [ends[0].min(r), ends[1].max(r)];
        }
    }
    for (reach, expected) in reached.iter().zip(radii.windows(2)) {
        assert!(
            (reach[0] - expected[0]).abs() < 1.0 && (reach[1] - expected[1]).abs() < 1.0,
            "{reach:?} {expected:?}"
        );
    }
}

/// The radii of PREM from the core-mantle boundary up.
fn mantle() -> Vec<f64> {
    let all = Radial::prem(true).discontinuities();
    all.into_iter().filter(|r| *r >= CORE).chain([SURFACE]).collect()
}

#[test]
fn a_slice_of_the_paper_has_its_counts_and_the_whole_mesh_follows() {
    let counts = |n: usize| -> [f64; 2] {
        let desk = Desk::new();
        let (text, raw) = chunk(&desk, &format!("nx={n} width={} degree=4 q=y", n as f64 * WIDTH));
        check_regions(&raw, &mantle());
        // The program chooses the number of rows, and the bottom at the fluid core is free.
        assert!(
            text.contains("region 1: radius 3630 to 5600 km, 22 rows"),
            "{text}"
        );
        assert_eq!(raw.free.len(), n * n);
        let step = number(text.split_once("stable step ").unwrap().1, " s, set");
        assert!(step >= 0.22, "{text}");
        [
            number(&text, " elements of 27 nodes"),
            number(&text, " points at degree 4"),
        ]
    };
    // The topology repeats every four elements, so the counts are quadratic in the number of elements.
    let small = [8, 16, 24].map(|n| (n as f64, counts(n)));
    let at = |n: f64, k: usize| -> f64 {
        let term = |(p, c): &(f64, [f64; 2])| {
            let others = small.iter().filter(|other| other.0 != *p);
            c[k] * others.map(|(q, _)| (n - q) / (p - q)).product::<f64>()
        };
        small.iter().map(term).sum::<f64>().round()
    };
    assert_eq!([at(32.0, 0), at(32.0, 1)], [10_240.0, 682_293.0]);
    assert_eq!([at(256.0, 0), at(256.0, 1)], [655_360.0, 42_644_885.0]);
    assert_eq!(64.0 * at(32.0, 1), 43_666_752.0);
}

#[test]
fn the_whole_mesh_of_the_paper() {
    if std::env::var_os("SIFAKA_FULL").is_none() {
        println!("skipped: the mesh of 655,360 elements takes a minute and 4 GB; SIFAKA_FULL=1 makes it");
        return;
    }
    let desk = Desk::new();
    let (_, raw) = chunk(&desk, "nx=256 judge=n");
    assert_eq!(raw.regions.len(), 655_360);
    check_regions(&raw, &mantle());
    let volume: f64 = volumes::<3>(&raw).iter().sum();
    let exact = Chunk::new(0.0, 0.0, 0.0, [90.0; 2]).solid_angle() / 3.0 * (SURFACE.powi(3) - CORE.powi(3));
    assert!((volume / exact - 1.0).abs() < 1e-6, "{volume} {exact}");
    let mesh = kernels::mesh::Mesh::<3>::new(raw.parts()).unwrap();
    let numbering = kernels::mesh::Numbering::new(&mesh, &kernels::mesh::Basis::new(4).unwrap()).unwrap();
    assert_eq!(numbering.points(), 42_644_885);
}

#[test]
fn volumes_of_all_layers_are_those_of_shells() {
    let desk = Desk::new();
    // Elements are one degree wide; the elements of the paper are a third as wide.
    let (_, raw) = chunk(&desk, "nx=16 width=16,24 ny=24 lat=-50 lon=170 turn=33 judge=n");
    let angle = Chunk::new(-50.0, 170.0, 33.0, [16.0, 24.0]).solid_angle();
    let radii = mantle();
    for (volume, ends) in volumes::<3>(&raw).iter().zip(radii.windows(2)) {
        let exact = angle / 3.0 * (ends[1].powi(3) - ends[0].powi(3));
        // Files store nodes in float32, whose values are up to half a metre apart at these radii; the crust is only
        // ten kilometres thick.
        assert!((volume / exact - 1.0).abs() < 2e-6, "{ends:?}: {volume} {exact}");
    }
    let all: f64 = volumes::<3>(&raw).iter().sum();
    let exact = angle / 3.0 * (SURFACE.powi(3) - CORE.powi(3));
    assert!((all / exact - 1.0).abs() < 1e-6, "{all} {exact}");
    // The centre and the distances of the sides from it are as requested.
    let top = |k: usize| -> [f64; 3] { std::array::from_fn(|c| raw.nodes[3 * k + c]) };
    let centre = position(-50.0, 170.0, 1.0);
    let mut far: Vec<f64> = (0..raw.nodes.len() / 3)
        .map(|k| distance(centre, top(k)))
        .collect();
    far.sort_by(f64::total_cmp);
    let (nearest, farthest) = (far[0], far[far.len() - 1]);
    let corner = (8.0_f64.to_radians().tan().powi(2) + 12.0_f64.to_radians().tan().powi(2))
        .sqrt()
        .atan()
        .to_degrees();
    assert!(
        nearest < 1e-3 && (farthest - corner).abs() < 1e-3,
        "{nearest} {farthest} {corner}"
    );
}

#[test]
fn the_core_is_fluid_and_its_middle_solid() {
    let desk = Desk::new();
    let (text, raw) = chunk(
        &desk,
        "nx=8 width=40 bottom=900000 skip=15000,24400,80000,220000 lon=12",
    );
    let all = Radial::prem(true).discontinuities();
    let mut radii = vec![9e5];
    radii.extend(all.into_iter().filter(|r| *r < 6.1e6));
    radii.push(SURFACE);
    check_regions(&raw, &radii);
    let materials = desk.read("mesh-materials.rsf");
    let speeds: Vec<f32> = materials.chunks(6).map(|row| row[2]).collect();
    assert!(
        speeds[0] > 3400.0 && speeds[1] == 0.0 && speeds[2] > 7000.0,
        "{speeds:?}"
    );
    assert!(text.contains("doubled upwards"), "{text}");
    // The inner core has material below it, so its bottom absorbs.
    let sides = raw.absorbing.len();
    let (_, open) = chunk(
        &Desk::new(),
        "nx=8 width=40 bottom=900000 skip=15000,24400,80000,220000 lon=12 absorb=none",
    );
    assert!(sides > 0 && open.absorbing.is_empty());
}

/// Whatever lies below it, the mantle of PREM has the rows and the doublings that it has above the core.
#[test]
fn the_mantle_above_a_core_is_that_of_a_chunk_that_ends_there() {
    let regions = |bottom: f64| -> Vec<String> {
        let (text, _) = chunk(
            &Desk::new(),
            &format!("nx=8 width={} bottom={bottom}", 8.0 * WIDTH),
        );
        let rows = text
            .lines()
            .filter_map(|line| Some(line.split_once(": radius ")?.1.to_string()));
        rows.collect()
    };
    let (alone, above) = (regions(CORE), regions(3.3e6));
    assert_eq!((alone.len(), above.len()), (10, 11));
    assert_eq!(
        alone.iter().filter(|row| row.contains("doubled upwards")).count(),
        2
    );
    assert_eq!(above[..10], alone);
}

#[test]
fn other_models_have_their_own_layers() {
    let desk = Desk::new();
    desk.put(
        "ball.txt",
        "# r rho vp vs\n0 6000 9000 5000\n3e6 5500 9000 5000\n3e6 4000 8000 4500\n6e6 3500 7000 4000\n",
    );
    let (text, raw) = chunk(&desk, "model=ball.txt bottom=1e6 nx=6 width=30 layers=3,5");
    check_regions(&raw, &[1e6, 3e6, 6e6]);
    assert_eq!(raw.regions.len(), 36 * 8);
    assert_eq!(number(&text, " elements of 27 nodes"), 288.0);
    // There is a doubling brick at the requested layer.
    let (text, _) = chunk(
        &desk,
        "model=ball.txt bottom=1e6 nx=8 width=30 layers=3,5 doubling=2",
    );
    assert_eq!(
        number(&text, " elements of 27 nodes"),
        (16 + 7 * 16 + 6 * 64) as f64
    );
}

#[test]
fn what_is_no_chunk_gets_a_sentence() {
    let desk = Desk::new();
    for (words, sentence) in [
        ("", "nx= is missing"),
        ("nx=8 width=200", "at most 120 degrees"),
        ("nx=8 width=1,2,3", "one or two"),
        ("nx=8 bottom=7e6", "radius of the bottom"),
        ("nx=8 skip=20000", "the discontinuities of the model are at 15000"),
        (
            "nx=8 layers=1,2",
            "layers= has 2 numbers; the model has 10 layers",
        ),
        ("nx=8 doubling=99", "doubling= has row 99"),
        ("nx=6 doubling=2", "multiple of 4"),
        ("nx=8 model=nowhere.txt", "models by name are prem and prem-ti"),
        ("nx=8 absorb=lid", "absorb= has `lid`"),
        ("nx=2000000 ny=2000000", "can be counted"),
        ("nx=8 surfaces=1,0", "surfaces= and sphere= are given together"),
    ] {
        let run = desk.sh(&format!("sfhexmesh sphere=y {words} > mesh.rsf"));
        assert_eq!(run.code, 1, "{words}: {}", run.err);
        assert!(run.err.contains(sentence), "{words}: {}", run.err);
    }
}
