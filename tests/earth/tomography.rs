//! Tomography files in a mesh folder of SPECFEM3D.

use crate::desk::Desk;
use crate::desk::built::checkout;
use crate::largest::{magnitude, relative_difference};
use std::fs;

const RUN: &str = "sfsem3d-gpu cmt=CMTSOLUTION stations=STATIONS absorbing=none attenuation=n nt=300 dt=0.007 device=cpu data=displacement";

/// The mesh of `tests/data/specfem/lddrk` in two folders: with its material, and with a tomography file instead.
fn folders() -> Desk {
    let (desk, folder) = (Desk::new(), checkout("tests/data/specfem/lddrk"));
    for name in ["plain", "model"] {
        fs::create_dir(desk.path(name)).unwrap();
        for entry in fs::read_dir(folder.join("MESH")).unwrap() {
            let path = entry.unwrap().path();
            desk.put(
                &format!("{name}/{}", path.file_name().unwrap().to_string_lossy()),
                fs::read(&path).unwrap(),
            );
        }
    }
    for name in ["CMTSOLUTION", "STATIONS"] {
        desk.put(name, fs::read(folder.join(name)).unwrap());
    }
    let materials = fs::read_to_string(folder.join("MESH/materials_file")).unwrap();
    let numbers: String = materials
        .lines()
        .map(|line| line.replace(" 1", " -1") + "\n")
        .collect();
    desk.put("model/materials_file", numbers);
    desk.put(
        "model/nummaterial_velocity_file",
        "2 -1 tomography elastic tomography_model.xyz 0 2\n",
    );
    desk
}

/// A tomography file with nodes at x = 1000, 5000, 9000, which do not reach the sides of the mesh, y = 3000, 5000 and z
/// = -2000, -1000, and with speeds that change along x.
fn model(speed: impl Fn(f64) -> [f64; 3]) -> String {
    let mut text = String::from("1000 3000 -2000 9000 5000 -1000\n4000 2000 1000\n3 2 2\n1 9 1 9 1 9\n");
    for (z, y) in [(-2000, 3000), (-2000, 5000), (-1000, 3000), (-1000, 5000)] {
        for x in [1000.0, 5000.0, 9000.0] {
            let [vp, vs, density] = speed(x);
            text += &format!("{x} {y} {z} {vp} {vs} {density}\n");
        }
    }
    text
}

#[test]
fn regions_of_tomography_have_its_speeds() {
    let desk = folders();
    desk.put("model/tomography_model.xyz", model(|_| [2800.0, 1500.0, 2300.0]));
    desk.ran(&format!("{RUN} specfem=plain > a.rsf"));
    desk.ran(&format!("{RUN} specfem=model > b.rsf"));
    let a = desk.read("a.rsf");
    assert!(magnitude(&a) > 0.0);
    let apart = relative_difference(desk.read("b.rsf"), &a);
    println!("homogeneous: {apart:.1e}");
    assert!(apart < 1e-6, "{apart}");

    // Speeds that change along x, with the values of the outermost nodes beyond them, as for grids on the command line.
    let speed = |x: f64| [2500.0 + 0.05 * x, 1400.0 + 0.02 * x, 2200.0 + 0.01 * x];
    fs::create_dir(desk.path("tomo_files")).unwrap();
    fs::remove_file(desk.path("model/tomography_model.xyz")).unwrap();
    desk.put("tomo_files/tomography_model.xyz", model(speed));
    desk.ran(&format!("{RUN} specfem=model > c.rsf"));
    // The nodes are at -3000 to 13000 m.
    let nodes = [1000.0, 1000.0, 5000.0, 9000.0, 9000.0].map(speed);
    for (k, name) in ["vp", "vs", "den"].into_iter().enumerate() {
        let values = nodes.map(|node| node[k] as f32);
        desk.dataset(&format!("{name}.rsf"), "n1=1 n2=5 o2=-3000 d2=4000 n3=1", &values);
    }
    desk.ran(&format!(
        "{RUN} specfem=plain vp=vp.rsf vs=vs.rsf den=den.rsf > d.rsf"
    ));
    let (c, d) = (desk.read("c.rsf"), desk.read("d.rsf"));
    assert!(relative_difference(&c, &a) > 1e-2);
    let apart = relative_difference(&c, &d);
    println!("along x: {apart:.1e}");
    // The grids begin at other nodes, so that moduli differ by the rounding of single precision, 6e-8, which adds up
    // over the steps.
    assert!(apart < 5e-6, "{apart}");
}

#[test]
fn what_is_wrong_with_a_model_gets_a_sentence() {
    let desk = folders();
    let refused = |words: &str, sentence: &str| {
        let run = desk.sh(&format!("{RUN} specfem=model {words} > e.rsf"));
        assert!(run.code == 1 && run.err.contains(sentence), "{}", run.err);
    };
    refused(
        "",
        "material -1 is defined by the tomography file model/tomography_model.xyz, which was not found there",
    );
    desk.put("model/tomography_model.xyz", model(|_| [2800.0, 0.0, 2300.0]));
    refused("", "has vs=0, but material -1 is elastic");
    desk.put("model/tomography_model.xyz", model(|_| [2800.0, 1500.0, 2300.0]));
    desk.dataset("vp.rsf", "n1=1 n2=1 n3=1", &[2800.0]);
    refused("vp=vp.rsf", "vp= and tomography files both fill the mesh");
    desk.put("model/nummaterial_velocity_file", "2 -1 interface 2 4 0 2\n");
    refused(
        "",
        "of material -1, of interfaces or poroelastic, which is not supported",
    );
}

/// Quality factors of a tomography file are not used, and a mesh in RSF files has no tomography at all.
#[test]
fn what_is_not_taken_from_a_tomography_file_is_listed() {
    let desk = folders();
    let plain = model(|_| [2800.0, 1500.0, 2300.0]);
    let lossy: String = plain
        .lines()
        .enumerate()
        .map(|(k, line)| format!("{line}{}\n", if k > 3 { " 60 30" } else { "" }))
        .collect();
    for (text, warns) in [(&plain, false), (&lossy, true)] {
        desk.put("model/tomography_model.xyz", text);
        let messages = desk.ran(&format!("{RUN} specfem=model plan=y")).err;
        let words =
            "have no effect: regions that take their velocities from a tomography file do not attenuate";
        assert_eq!(messages.contains(words), warns, "{messages}");
    }
    for (folder, warns) in [("plain", false), ("model", true)] {
        let messages = desk.ran(&format!("sfhexmesh specfem={folder} > mesh.rsf")).err;
        let words = "a mesh in RSF files cannot hold tomography: its regions take the smallest values in the tomography files";
        assert_eq!(messages.contains(words), warns, "{messages}");
    }
}
