//! Whole runs on small meshes, as in flows.

use crate::desk::{Desk, Outcome};
use crate::golden::case;
use crate::largest::{magnitude, relative_difference};

/// A block of rock in 2-D below a hill, with a source and two receivers at equal distances on either side.
pub fn hill() -> Desk {
    let desk = Desk::new();
    let map: Vec<f32> = (0..41)
        .map(|k| 100.0 - 60.0 * (-((k as f32 - 20.0) / 6.0).powi(2)).exp())
        .collect();
    desk.dataset("topo.rsf", "n1=41 o1=0 d1=20", &map);
    let run = desk.sh(
        "sfhexmesh surfaces=600,topo.rsf layers=6 nx=8 curved=y rho=2300 vp=3000 vs=1700 judge=n > hill.rsf",
    );
    assert_eq!(run.code, 0, "{}", run.err);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[400.0, 300.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[250.0, 200.0, 550.0, 200.0]);
    desk
}

pub const HILL: &str =
    "sfsem2d-gpu mesh=hill.rsf sou=sou.rsf rec=rec.rsf device=cpu src=force fz=1e9 stf=ricker freq=5";

#[test]
fn a_hill_is_symmetric_and_air_is_silent() {
    let desk = hill();
    let run = desk.sh(&format!(
        "{HILL} nt=400 dt=0.001 snap=y wfl=w.rsf nqz=31 oqz=0 dqz=20 nqx=41 oqx=0 dqx=20 jsnap=350 verb=y > d.rsf"
    ));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("48 elements of degree 4, 825 points"),
        "{}",
        run.err
    );
    let (data, snapshots) = (desk.read("d.rsf"), desk.read("w.rsf"));
    let axes = desk.axes("d.rsf", 3);
    assert_eq!((axes[0].n, axes[1].n, axes[2].n), (2, 2, 400));
    let top = magnitude(&data);
    for step in data.chunks(4) {
        // z is the same at both receivers, and x has opposite signs.
        assert!((step[0] - step[1]).abs() < 1e-4 * top && (step[2] + step[3]).abs() < 1e-4 * top);
    }
    let axes = desk.axes("w.rsf", 4);
    assert_eq!(axes.iter().map(|a| a.n).collect::<Vec<_>>(), [31, 41, 2, 2]);
    let last = &snapshots[snapshots.len() - 2 * 31 * 41..];
    // At x = 0 the ground is at z = 100 m, so five samples are in the air.
    assert!(last[..5].iter().all(|x| *x == 0.0) && last[6..31].iter().any(|x| *x != 0.0));
    // The top of the hill is at z = 40 m. The rock below it, at z = 80 m, moves.
    assert!(last[20 * 31 + 4].abs() > 1e-3 * top);
}

#[test]
fn a_moment_by_its_rate_is_the_moment() {
    // cosine has a closed form: t/T - sin(2 pi t/T)/(2 pi).
    let desk = hill();
    let period = 0.08_f32;
    let moment: Vec<f32> = (0..200)
        .map(|n| {
            let x = (n as f32 * 0.001 / period).min(1.0);
            x - (2.0 * std::f32::consts::PI * x).sin() / (2.0 * std::f32::consts::PI)
        })
        .collect();
    desk.dataset("moment.rsf", "n1=200 n2=1 d1=0.001 o1=0", &moment);
    let words = "sfsem2d-gpu mesh=hill.rsf sou=sou.rsf rec=rec.rsf device=cpu m0=1e12 nt=200 dt=0.001 data=displacement";
    let rate = desk.sh(&format!("{words} stf=cosine tau=0.08 > a.rsf"));
    let itself = desk.sh(&format!("{words} series=moment.rsf rate=n > b.rsf"));
    assert!(rate.code == 0 && itself.code == 0, "{rate:?} {itself:?}");
    let (a, b) = (desk.read("a.rsf"), desk.read("b.rsf"));
    let apart = relative_difference(&b, &a);
    println!("{apart:.1e}");
    // Summing rates at the middles of steps has an error of second order: (2 pi dt/T)^2 / 24 is 2.6e-4.
    assert!(apart < 5e-4, "{apart}");
}

/// A force with a Ricker wavelet of 5 Hz emits P waves of 3000 m/s with a length of 600 m at the peak frequency.
#[test]
fn sponges_and_meshes_that_do_not_fit_the_waves_are_warned_of() {
    let desk = hill();
    let messages = |words: &str| {
        let plan = desk.sh(&format!("{HILL} nt=200 dt=0.001 plan=y {words} > d.rsf"));
        assert_eq!(plan.code, 0, "{words}: {}", plan.err);
        plan.err
    };
    let thin = messages("sponge=150");
    let warning = thin.lines().find(|line| line.contains("sponge=150 m is 0.2"));
    let warning = warning.unwrap_or_else(|| panic!("no warning: {thin}"));
    assert!(
        warning.contains("such a thin layer itself reflects waves"),
        "{warning}"
    );
    // The documentation gives the same numbers.
    assert!(
        warning.contains("half a wavelength reflects 9 % and one wavelength 3 %"),
        "{warning}"
    );
    let plan_of_box = desk
        .sh("sfsem2d-gpu --help")
        .out
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        plan_of_box.contains(
            "two, one and half a P wavelength at the peak frequency of a Ricker wavelet reflect 0.8 %, 3 % and 9 %"
        ),
        "{plan_of_box}"
    );
    let (_, rest) = warning.rsplit_once("give ").expect("a thickness");
    let enough: f64 = rest.split(' ').next().unwrap().parse().expect("a number");
    assert!((enough / 600.0 - 1.0).abs() < 0.05, "{warning}");
    assert!(!messages(&format!("sponge={}", enough + 1.0)).contains("such a thin layer"));
    assert!(!messages("").contains("such a thin layer"));
    // A wavelength of 30 km does not fit into the mesh.
    assert!(
        messages("sponge=150 freq=0.1")
            .contains("this mesh is too small for a sponge: enlarge it, or give cpml=")
    );
    assert!(messages("left=0.1").contains("left= has no effect without sponge="));
    // With edges of 100 m and S waves of 1700 m/s there are five points per wavelength up to 13.6 Hz.
    assert!(!messages("freq=2").contains("warning: only"));
    let short = messages("freq=15");
    for words in [
        "points per shortest wavelength in element ",
        "with five points; refine the mesh ",
        "degree=8 would resolve 2",
    ] {
        assert!(short.contains(words), "{words}: {short}");
    }
    // The suggested degree is sufficient, and a degree lower by one is not.
    let advice = messages("freq=8");
    let (_, rest) = advice
        .split_once("with five points; give degree=")
        .expect("a degree");
    let degree: usize = rest.split(' ').next().unwrap().parse().expect("a number");
    let resolves = |degree: usize| {
        let plan = messages(&format!("freq=8 degree={degree} cfl=warn"));
        let (_, rest) = plan.split_once("resolved up to ").expect("a frequency");
        rest.split(' ').next().unwrap().parse::<f64>().expect("a number")
    };
    assert!(
        resolves(degree) >= 8.0 * 2.75 && resolves(degree - 1) < 8.0 * 2.77,
        "{advice}"
    );
    for (words, text) in [
        ("sponge=1e6", "sponge=1000000 m is thicker than the mesh"),
        (
            "qp=0.1 qs=0.1",
            "qp= has the quality factor 0.1: factors must be 1 or more",
        ),
    ] {
        let run = desk.sh(&format!("{HILL} nt=200 dt=0.001 plan=y {words} > d.rsf"));
        assert!(run.code == 1 && run.err.contains(text), "{words}: {}", run.err);
    }
}

#[test]
fn plans_and_examples_of_the_help() {
    let desk = hill();
    let plan = desk.sh(&format!("{HILL} nt=200 dt=0.001 plan=y ngpu=2 > d.rsf"));
    assert_eq!(plan.code, 0, "{plan:?}");
    for words in [
        "largest step that is certainly stable",
        "memory: about",
        "200 steps, from 0 s to 0.2 s",
        "resolved up to",
    ] {
        assert!(plan.err.contains(words), "{words}: {}", plan.err);
    }
    programs::modelling::spectral_elements::PROGRAM_2D
        .verify()
        .unwrap();
    programs::modelling::spectral_elements::PROGRAM_3D
        .verify()
        .unwrap();
}

/// Every point of the mesh has three vectors and two numbers, every point of an element a force and three numbers, and
/// every element 27 nodes.
#[test]
fn plans_predict_the_memory_of_points_and_elements() {
    let desk = Desk::new();
    desk.ran("sfhexmesh surfaces=600,0 layers=12 nx=12 ny=12 xmin=0 xmax=600 ymin=0 ymax=600 rho=2500 vp=3500 vs=2000 judge=n > box.rsf");
    desk.dataset("at.rsf", "n1=3 n2=1", &[300.0; 3]);
    let plan = desk.ran("sfsem3d-gpu mesh=box.rsf sou=at.rsf rec=at.rsf device=cpu src=force fz=1e9 stf=ricker freq=5 degree=4 nt=9 dt=1e-4 plan=y");
    let (_, rest) = plan.err.split_once("memory: about ").expect("the memory");
    let predicted: f64 = rest.split(' ').next().unwrap().parse().expect("a number");
    let of_points = 49_f64.powi(3) * (3.0 * 3.0 + 2.0);
    let of_elements = 12_f64.powi(3) * (125.0 * (3.0 + 3.0) + 27.0 * 3.0);
    let held = 4e-9 * (of_points + of_elements);
    assert!(
        (predicted / held - 1.0).abs() < 0.01,
        "{predicted} GB are predicted, {held} GB are held"
    );
}

#[test]
fn a_folder_of_specfem_runs_as_the_mesh_that_it_becomes() {
    let desk = Desk::new();
    let folder = desk.path("MESH");
    std::fs::create_dir(&folder).unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    // Two cubes of 100 m are on top of each other, with z upwards.
    let corners = [[0, 0], [100, 0], [100, 100], [0, 100]];
    let mut nodes = String::from("12\n");
    for level in 0..3 {
        for (k, [x, y]) in corners.iter().enumerate() {
            nodes += &format!("{} {x}. {y}. {}.\n", 4 * level + k + 1, 100 * level);
        }
    }
    put("nodes_coords_file", &nodes);
    put("mesh_file", "2\n1 1 2 3 4 5 6 7 8\n2 5 6 7 8 9 10 11 12\n");
    put("materials_file", "1 1\n2 2\n");
    let rock = "2 1 2500. 3000. 1700. 9999. 9999. 0\n2 2 2000. 2000. 1000. 9999. 9999. 0\n";
    put("nummaterial_velocity_file", rock);
    put("free_or_absorbing_surface_file_zmax", "1\n2 9 10 11 12\n");
    put("absorbing_surface_file_bottom", "1\n1 1 2 3 4\n");
    desk.dataset("sou.rsf", "n1=3 n2=1", &[40.0, 60.0, -130.0]);
    desk.dataset("rec.rsf", "n1=3 n2=1", &[70.0, 30.0, -40.0]);
    let run = desk.sh("sfhexmesh specfem=MESH judge=n > mesh.rsf");
    assert_eq!(run.code, 0, "{}", run.err);
    let bits = |mesh: &str| -> Vec<u32> {
        let words = "sou=sou.rsf rec=rec.rsf nt=100 dt=0.001 src=force fz=1e9 stf=ricker freq=8 device=cpu";
        let run = desk.sh(&format!("sfsem3d-gpu {mesh} {words} > d.rsf"));
        assert_eq!(run.code, 0, "{run:?}");
        desk.read("d.rsf").into_iter().map(f32::to_bits).collect()
    };
    let folder = bits("specfem=MESH");
    assert!(folder.iter().any(|x| *x != 0) && folder == bits("mesh=mesh.rsf"));
    let closed = bits("specfem=MESH absorbing=none");
    assert!(closed != folder && closed == bits("mesh=mesh.rsf absorbing=none"));
    // A folder without absorbing faces gives the same result as absorbing=none, and a folder with Q gives the same
    // result without Q if attenuation=n is given.
    std::fs::remove_file(desk.path("MESH/absorbing_surface_file_bottom")).unwrap();
    assert!(closed == bits("specfem=MESH"));
    let lossy = rock.replace("9999. 9999.", "90. 40.");
    std::fs::write(desk.path("MESH/nummaterial_velocity_file"), lossy).unwrap();
    assert!(closed != bits("specfem=MESH") && closed == bits("specfem=MESH attenuation=n"));
    // CPML layers are part of the mesh.
    std::fs::write(desk.path("MESH/absorbing_cpml_file"), "1\n1 3\n").unwrap();
    desk.ran("sfhexmesh specfem=MESH judge=n > mesh.rsf");
    let layers = bits("specfem=MESH attenuation=n");
    assert!(layers != closed && layers == bits("mesh=mesh.rsf attenuation=n"));
    assert!(closed == bits("mesh=mesh.rsf attenuation=n cpml=0"));
    for (words, sentence) in [
        (
            "absorbing=sou.rsf",
            "absorbing= and specfem= both say which sides absorb",
        ),
        (
            "attenuation=n qs=40",
            "attenuation=n and qs= contradict each other",
        ),
    ] {
        let line = format!("sfsem3d-gpu specfem=MESH {words} sou=sou.rsf rec=rec.rsf nt=1 dt=0.001 > d.rsf");
        let run = desk.sh(&line);
        assert!(run.code == 1 && run.err.contains(sentence), "{run:?}");
    }
}

/// Strain and rotation at a receiver agree with differences of the displacements at six receivers around it.
#[test]
fn strain_and_rotation_are_differences_of_displacements() {
    let case = case("brick-free");
    let mut middle: Vec<f32> = case.desk.read("rec.rsf")[..3].to_vec();
    // The point is below the surface, on which the receivers of the case are.
    middle[2] += 40.0;
    let step = 2.0_f32;
    let mut points = middle.clone();
    for axis in 0..3 {
        for sign in [1.0, -1.0] {
            let mut point = middle.clone();
            point[axis] += sign * step;
            points.extend(point);
        }
    }
    case.desk.dataset("around.rsf", "n1=3 n2=7", &points);
    let line = case.line.replace("rec=rec.rsf", "rec=around.rsf");
    let nt = 350;
    let run = |quantity: &str| -> Vec<f32> {
        let line = line.replace("data=displacement", &format!("data={quantity}"));
        let run = case.desk.sh(&format!("{line} nt={nt} > {quantity}.rsf"));
        assert_eq!(run.code, 0, "{run:?}");
        case.desk.read(&format!("{quantity}.rsf"))
    };
    let (moved, strain, turned) = (run("displacement"), run("strain"), run("rotation"));
    assert_eq!((strain.len(), turned.len()), (nt * 6 * 7, nt * 3 * 7));
    // The order of components in files is z, x, y.
    let slope = |it: usize, of: usize, along: usize| {
        let at = |receiver: usize| moved[(it * 3 + (of + 1) % 3) * 7 + receiver];
        (at(2 * along + 1) - at(2 * along + 2)) / (2.0 * step)
    };
    let (mut measured, mut expected) = (Vec::new(), Vec::new());
    for it in 0..nt {
        let half = |a: usize, b: usize, sign: f32| 0.5 * (slope(it, a, b) + sign * slope(it, b, a));
        let strains = [(2, 2), (0, 0), (1, 1), (2, 0), (2, 1), (0, 1)].map(|(a, b)| half(a, b, 1.0));
        let rotation = [(1, 0), (2, 1), (0, 2)].map(|(a, b)| half(a, b, -1.0));
        measured.extend((0..6).map(|c| strain[(it * 6 + c) * 7]));
        measured.extend((0..3).map(|c| turned[(it * 3 + c) * 7]));
        expected.extend(strains.into_iter().chain(rotation));
    }
    let apart = relative_difference(&measured, &expected);
    println!("{apart:.1e}");
    assert!(apart < 0.01, "{apart}");
}

/// A column in which a plane P wave propagates along z: the lambda of the solid is zero, and its sides are free.
struct Column(Desk);

impl Column {
    const SPEED: f64 = 2000.0;

    fn new() -> Self {
        let desk = Desk::new();
        let vs = Self::SPEED / 2f64.sqrt();
        desk.ran(&format!(
            "sfhexmesh surfaces=4000,0 layers=40 nx=1 xmin=0 xmax=100 rho=2000 vp={} vs={vs} absorb=none judge=n base=column > column.rsf",
            Self::SPEED
        ));
        // Forces at all points of a side, weighted by the quadrature rule, are a uniform traction.
        let side = [
            (0.0, 0.1),
            (17.267_316, 0.544_444_4),
            (50.0, 0.711_111_1),
            (82.732_68, 0.544_444_4),
            (100.0, 0.1),
        ];
        let (points, forces): (Vec<_>, Vec<_>) = side
            .map(|(x, w)| ([x, 100.0_f32], [0.0, 1e9 * w]))
            .into_iter()
            .unzip();
        desk.dataset("sou.rsf", "n1=2 n2=5", points.as_flattened());
        desk.dataset("pull.rsf", "n1=2 n2=5", forces.as_flattened());
        desk.dataset("rec.rsf", "n1=2 n2=2", &[50.0, 600.0, 50.0, 2200.0]);
        Self(desk)
    }

    /// A run with these quality factors.
    fn run(&self, quality: f64, mechanisms: &str) -> Outcome {
        let vs = Self::SPEED / 2f64.sqrt();
        let rock = [2000.0, Self::SPEED, vs, quality, quality, 0.0].map(|x| x as f32);
        self.0.dataset("column-materials.rsf", "n1=6 n2=1", &rock);
        self.0.sh(&format!(
            "sfsem2d-gpu mesh=column.rsf sou=sou.rsf rec=rec.rsf device=cpu src=force mech=pull.rsf stf=ricker freq=5 nt=1800 dt=0.001 qband=1.5,15 qref=5 qmech={mechanisms} > d.rsf"
        ))
    }

    /// The amplitudes at both receivers as a function of frequency.
    fn amplitudes(&self, quality: f64, mechanisms: &str) -> impl Fn(f64) -> [f64; 2] + use<> {
        let run = self.run(quality, mechanisms);
        assert_eq!(run.code, 0, "{run:?}");
        let data = self.0.read("d.rsf");
        move |f| {
            [0, 1].map(|r| {
                let trace = || data.chunks(4).map(|step| f64::from(step[r])).enumerate();
                let part = |turn: fn(f64) -> f64| -> f64 {
                    trace()
                        .map(|(n, x)| x * turn(std::f64::consts::TAU * f * n as f64 * 1e-3))
                        .sum()
                };
                part(f64::cos).hypot(part(f64::sin))
            })
        }
    }
}

/// The amplitude decreases along the path as the quality factor predicts, even with one mechanism per point.
#[test]
fn quality_factors_of_materials_attenuate() {
    let column = Column::new();
    let plain = column.amplitudes(9999.0, "3");
    let q = 40.0;
    for mechanisms in ["3", "coarse"] {
        let lossy = column.amplitudes(q, mechanisms);
        // Between 4 and 6.5 Hz there is a frequency at which the surface above the forces cancels the waves.
        for f in [3.0, 4.0, 6.5, 8.0] {
            let ([a, b], [c, d]) = (plain(f), lossy(f));
            // The travel time between the receivers is 0.8 s.
            let expected = (-std::f64::consts::PI * f * 0.8 / q).exp();
            let off = d / b / (c / a) / expected - 1.0;
            println!("qmech={mechanisms}, {f} Hz: {off:+.4}");
            assert!(off.abs() < 0.01, "qmech={mechanisms}, {f} Hz: {off}");
        }
    }
    let low = column.run(6.0, "coarse");
    let is_why = |line: &&str| line.contains("quality factors are too low for one mechanism per point");
    let why = low.err.lines().find(is_why).unwrap_or_default();
    let percent: Vec<f64> = why.split(' ').filter_map(|word| word.parse().ok()).collect();
    let fits = percent.len() == 2 && percent[1] > 1.0 && (percent[1]..100.0).contains(&percent[0]);
    assert!(low.code == 1 && fits, "{low:?}");
}

/// A further quantity has the values of a separate run, to the rounding of the sums from which it is computed.
#[test]
fn further_quantities_are_those_of_runs_of_their_own() {
    let case = case("layers");
    let line = format!("{} nt=400 jdata=3", case.line.replace("data=", "was="));
    let line = line
        .split(' ')
        .filter(|word| !word.starts_with("was="))
        .collect::<Vec<_>>()
        .join(" ");
    let desk = &case.desk;
    for quantity in ["displacement", "velocity", "acceleration"] {
        desk.ran(&format!("{line} data={quantity} > {quantity}.rsf"));
    }
    for words in ["", "tdc=y"] {
        if !words.is_empty() {
            for quantity in ["displacement", "velocity", "acceleration"] {
                desk.ran(&format!("{line} {words} data={quantity} > {quantity}.rsf"));
            }
        }
        for (data, further) in [
            ("displacement", "velocity"),
            ("velocity", "displacement"),
            ("velocity", "acceleration"),
            ("acceleration", "velocity"),
        ] {
            desk.ran(&format!("{line} {words} data={data} {further}=b.rsf > a.rsf"));
            for (name, file) in [(data, "a.rsf"), (further, "b.rsf")] {
                let alone = format!("{name}.rsf");
                let apart = relative_difference(desk.read(file), desk.read(&alone));
                println!("{words} data={data} {further}=: {name} {apart:.1e}");
                assert!(apart < 5e-6, "{words} {data} {further}: {name} {apart}");
                assert_eq!(
                    desk.axes(file, 3),
                    desk.axes(&alone, 3),
                    "{words} {data} {further}"
                );
            }
        }
    }
    for (words, sentence) in [
        (
            "data=displacement,velocity",
            "standard output takes one quantity, and each further one goes into a file that a parameter of its name gives: data=displacement velocity=velocity.rsf",
        ),
        (
            "data=speed",
            "data=speed: receivers record velocity, displacement",
        ),
        (
            "data=pressure velocity=b.rsf",
            "velocity= requires data=displacement",
        ),
        (
            "data=velocity velocity=b.rsf",
            "velocity= names a file for the quantity on standard output",
        ),
        (
            "data=displacement acceleration=b.rsf",
            "drifts: give displacement and velocity",
        ),
    ] {
        let run = desk.sh(&format!("{line} {words} > c.rsf"));
        assert!(
            run.code == 1 && run.err.contains(sentence),
            "{words}: {}",
            run.err
        );
    }
}

#[test]
fn runs_with_further_quantities_go_on_with_the_same_bits() {
    let case = case("layers");
    let line = case.line.split(' ').filter(|word| !word.starts_with("data="));
    let line = line.collect::<Vec<_>>().join(" ");
    for [data, further] in [["displacement", "velocity"], ["acceleration", "velocity"]] {
        let run = |words: &str| {
            let continued = case.desk.ran(&format!(
                "{line} data={data} {further}=b.rsf jdata=2 {words} > a.rsf"
            ));
            let bits = |name| {
                case.desk
                    .read(name)
                    .into_iter()
                    .map(f32::to_bits)
                    .collect::<Vec<_>>()
            };
            ([bits("a.rsf"), bits("b.rsf")], continued.err)
        };
        let (whole, _) = run("nt=95");
        run("nt=60 checkpoint=state every=40 ngpu=3");
        let (rest, continued) = run("nt=95 resume=state");
        assert!(continued.contains("continues after step 40 of 95"), "{continued}");
        assert!(rest == whole, "{data}");
    }
}
