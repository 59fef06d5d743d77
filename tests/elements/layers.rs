//! Runs of the programs with `cpml=`, and with the layers of SPECFEM3D's mesh folders.

use crate::desk::Desk;
use crate::largest::{largest_difference, magnitude};

/// A plane of water above rock, 1200 m wide and 900 m deep, all of whose sides but the top absorb.
fn sea() -> Desk {
    let desk = Desk::new();
    let run = desk.sh(
        "sfhexmesh surfaces=900,400,0 layers=5,4 nx=12 xmin=0 xmax=1200 rho=2300,1000 vp=3000,1500 vs=1700,0 judge=n > sea.rsf",
    );
    assert_eq!(run.code, 0, "{}", run.err);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[600.0, 620.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[420.0, 350.0, 750.0, 520.0]);
    desk
}

const SEA: &str = "sfsem2d-gpu mesh=sea.rsf sou=sou.rsf rec=rec.rsf device=cpu src=force fz=1e9 fx=3e8 stf=ricker \
freq=5 dt=0.002 cpml=200";

#[test]
fn parts_and_resumed_runs_have_the_same_bits() {
    let desk = sea();
    let run = |words: &str| -> Vec<f32> {
        let ended = desk.sh(&format!("{SEA} {words} > d.rsf"));
        assert_eq!(ended.code, 0, "{words}: {ended:?}");
        desk.read("d.rsf")
    };
    let bits = |numbers: &[f32]| -> Vec<u32> { numbers.iter().map(|x| x.to_bits()).collect() };
    let whole = run("nt=240");
    assert!(magnitude(&whole) > 0.0);
    assert_eq!(bits(&whole), bits(&run("nt=240 ngpu=3 threads=2")));
    run("nt=150 checkpoint=state every=100 ngpu=2");
    assert_eq!(bits(&whole), bits(&run("nt=240 resume=state")));
    // Without layers, the sides reflect what the layers absorb.
    let bare = run("nt=240 cpml=0");
    assert!(largest_difference(&whole, &bare) > 1e-3 * f64::from(magnitude(&whole)));
}

/// On a contact, the pressure is the fluid's and the strain the solid's, whichever element is found first.
#[test]
fn receivers_on_the_sea_floor_are_in_the_water_or_in_the_rock() {
    let desk = sea();
    // Two receivers lie on the contact, one within a side of an element and one at a corner; the third lies a metre
    // above the contact, and the fourth a metre below.
    let places = [450.0, 400.0, 500.0, 400.0, 450.0, 399.0, 450.0, 401.0];
    desk.dataset("rec.rsf", "n1=2 n2=4", &places);
    let run = |words: &str| desk.sh(&format!("{SEA} nt=200 {words} > d.rsf"));
    let ended = run("data=pressure");
    assert_eq!(ended.code, 0, "{ended:?}");
    let data = desk.read("d.rsf");
    let trace = |k: usize| -> Vec<f32> { data.iter().skip(k).step_by(4).copied().collect() };
    let water = trace(2);
    let off = largest_difference(trace(0), &water) / f64::from(magnitude(&water));
    println!("pressure on the contact and a metre above it: {off:.3}");
    assert!(magnitude(&water) > 0.0 && off < 0.05, "{off}");
    assert!(magnitude(&trace(1)) > 0.3 * magnitude(&water));
    assert!(trace(3).iter().all(|x| *x == 0.0), "pressure in rock");
    desk.dataset(
        "rec.rsf",
        "n1=2 n2=3",
        &[450.0, 400.0, 500.0, 400.0, 450.0, 401.0],
    );
    let ended = run("data=strain");
    assert_eq!(ended.code, 0, "{ended:?}");
    let data = desk.read("d.rsf");
    let trace = |k: usize| -> Vec<f32> { data.iter().skip(k).step_by(3).copied().collect() };
    let off = largest_difference(trace(0), trace(2)) / f64::from(magnitude(&trace(2)));
    assert!(magnitude(&trace(1)) > 0.0 && off < 0.1, "{off}");
}

#[test]
fn layers_of_a_folder_are_those_of_their_thickness() {
    let desk = Desk::new();
    let folder = desk.path("MESH");
    std::fs::create_dir(&folder).unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    // Four cubes of 100 m are on top of each other, with z upwards.
    let corners = [[0, 0], [100, 0], [100, 100], [0, 100]];
    let mut nodes = String::from("20\n");
    for level in 0..5 {
        for (k, [x, y]) in corners.iter().enumerate() {
            nodes += &format!("{} {x}. {y}. {}.\n", 4 * level + k + 1, 100 * level);
        }
    }
    put("nodes_coords_file", &nodes);
    put(
        "mesh_file",
        "4\n1 1 2 3 4 5 6 7 8\n2 5 6 7 8 9 10 11 12\n3 9 10 11 12 13 14 15 16\n4 13 14 15 16 17 18 19 20\n",
    );
    put("materials_file", "1 1\n2 1\n3 1\n4 1\n");
    put(
        "nummaterial_velocity_file",
        "2 1 2500. 3000. 1700. 9999. 9999. 0\n",
    );
    put("free_or_absorbing_surface_file_zmax", "1\n4 17 18 19 20\n");
    put("absorbing_surface_file_bottom", "1\n1 1 2 3 4\n");
    put("absorbing_cpml_file", "1\n1 3\n");
    desk.dataset("sou.rsf", "n1=3 n2=1", &[40.0, 60.0, -230.0]);
    desk.dataset("rec.rsf", "n1=3 n2=1", &[70.0, 30.0, -140.0]);
    let line = "sfsem3d-gpu specfem=MESH sou=sou.rsf rec=rec.rsf nt=100 dt=0.001 src=force fz=1e9 stf=ricker freq=8 device=cpu";
    let bits = |words: &str| -> Vec<u32> {
        let run = desk.sh(&format!("{line} {words} > d.rsf"));
        assert_eq!(run.code, 0, "{run:?}");
        desk.read("d.rsf").into_iter().map(f32::to_bits).collect()
    };
    let folder_alone = bits("");
    assert!(folder_alone == bits("cpml=100") && folder_alone != bits("cpml=0"));
    assert!(folder_alone != bits("fcpml=8"));
    // A layer of two cubes, listed in any order.
    let mut thick = Vec::new();
    for list in ["2\n1 3\n2 3\n", "2\n2 3\n1 3\n"] {
        put("absorbing_cpml_file", list);
        thick.push(bits(""));
    }
    assert!(thick[0] == thick[1] && thick[0] == bits("cpml=200") && thick[0] != folder_alone);
    // The second cube is absorbing, but the cube below it is not.
    put("absorbing_cpml_file", "1\n2 3\n");
    let run = desk.sh(&format!("{line} > d.rsf"));
    let expected = "absorbs across z in the list of elements in layers, but across no axis by the coordinates at which \
        these layers begin: a layer must have the same thickness";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
    let run = desk.ran("sfhexmesh specfem=MESH > mesh.rsf");
    let expected = "the modelling programs refuse these layers, and with cpml=0 they leave them out";
    assert!(run.err.contains(expected), "{run:?}");
}

#[test]
fn layers_that_cannot_be_are_sentences() {
    let desk = sea();
    desk.dataset("deep.rsf", "n1=2 n2=1", &[600.0, 750.0]);
    for (from, to, words) in [
        (
            "sou=sou.rsf",
            "sou=deep.rsf",
            "source 1 at (x, z) = (600, 750) lies in a perfectly matched layer, where sources are not allowed",
        ),
        (
            "cpml=200",
            "cpml=700",
            "fill the mesh along x, where it is 1200 m long",
        ),
        // Layers from both sides just touch each other.
        ("cpml=200", "cpml=600", "fill the mesh along x"),
        ("cpml=200", "cpml=200 sponge=300", "cannot be combined"),
        (
            "mesh=sea.rsf",
            "mesh=sea.rsf absorbing=none",
            "lie along absorbing sides, but the mesh has none",
        ),
    ] {
        let run = desk.sh(&format!("{} nt=5 > d.rsf", SEA.replace(from, to)));
        assert!(run.code == 1 && run.err.contains(words), "{to}: {run:?}");
    }
}
