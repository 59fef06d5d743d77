//! An example of SPECFEM3D Cartesian 4.1.1 in matched layers: water over rock with attenuation, CPML of two elements on
//! all six sides with f0_FOR_PML = 12.7 Hz, and a source with an external time function. Of its seismograms
//! (`tests/data/specfem/regular`) every fourth sample is kept; its mesh is a box of cubes of 100 m, whose folder is
//! written here.
//!
//! After the direct waves, the layers reflect another packet, of 0.7 % of the largest motion (2.4 % of the largest
//! motion in the water), which is due neither to the time step of this program (halving it changes 2e-4) nor to its
//! modal filter. The convolutions of SPECFEM3D take the displacement 3/8 of a step ahead, so that its layers are
//! matched only to first order in the step. Both schemes in one dimension, with layers, step and profile of this
//! example, differ by 2e-3 to 5e-3 of the incident wave at normal incidence, and by 1e-4 to 6e-4 if the displacement is
//! taken at the time of the step.

use crate::desk::Desk;
use crate::desk::built::checkout;
use crate::largest::{largest, magnitude};
use std::fmt::Write;
use std::fs;
use std::ops::Range;

/// Elements along x, y and z.
const COUNTS: [usize; 3] = [10, 10, 20];
/// Thickness of a layer in elements.
const LAYER: usize = 2;
/// Length of an element, m.
const LENGTH: usize = 100;
/// Samples of the reference, and steps of the run per sample.
const SAMPLES: usize = 250;
const EVERY: usize = 4;

/// Writes the mesh folder, from the bottom upwards: rock below, water above.
fn folder(desk: &Desk) {
    let [nx, ny, nz] = COUNTS;
    let node = |x: usize, y: usize, z: usize| (x * (ny + 1) + y) * (nz + 1) + z + 1;
    let mut nodes = format!("{}\n", (nx + 1) * (ny + 1) * (nz + 1));
    for at in 0..(nx + 1) * (ny + 1) * (nz + 1) {
        let (x, y, z) = (at / (nz + 1) / (ny + 1), at / (nz + 1) % (ny + 1), at % (nz + 1));
        let up = (LENGTH * z) as f64 - (LENGTH * nz) as f64;
        writeln!(nodes, "{} {}.0 {}.0 {up:.1}", at + 1, LENGTH * x, LENGTH * y).unwrap();
    }
    let count = nx * ny * nz;
    let (mut mesh, mut materials, mut layers) = (format!("{count}\n"), String::new(), Vec::new());
    let mut sides = [const { Vec::new() }; 5];
    for element in 0..count {
        let at @ [x, y, z] = [element % nx, element / nx % ny, element / nx / ny];
        let corner = |k: usize| {
            let [a, b] = [[0, 0], [1, 0], [1, 1], [0, 1]][k % 4];
            node(x + a, y + b, z + k / 4)
        };
        let corners: Vec<String> = (0..8).map(|k| corner(k).to_string()).collect();
        writeln!(mesh, "{} {}", element + 1, corners.join(" ")).unwrap();
        writeln!(materials, "{} {}", element + 1, 1 + usize::from(2 * z >= nz)).unwrap();
        let inside = |axis: usize| at[axis] >= LAYER && at[axis] < COUNTS[axis] - LAYER;
        let axes = (0..3).filter(|axis| !inside(*axis)).map(|axis| 1 << axis);
        // SPECFEM3D numbers the kinds of layers in the order x, y, z, xy, xz, yz, xyz.
        let kind = [0, 1, 2, 4, 3, 5, 6, 7][axes.sum::<usize>()];
        if kind > 0 {
            layers.push(format!("{} {kind}", element + 1));
        }
        let on = [x == 0, x + 1 == nx, y == 0, y + 1 == ny, z == 0];
        let faces = [
            [0, 3, 7, 4],
            [1, 2, 6, 5],
            [0, 1, 5, 4],
            [3, 2, 6, 7],
            [0, 1, 2, 3],
        ];
        for (side, _) in on.iter().enumerate().filter(|(_, on)| **on) {
            let face = faces[side].map(|k| corners[k].clone()).join(" ");
            sides[side].push(format!("{} {face}", element + 1));
        }
    }
    let listed = |lines: &[String]| format!("{}\n{}\n", lines.len(), lines.join("\n"));
    fs::create_dir(desk.path("MESH")).unwrap();
    desk.put("MESH/nodes_coords_file", nodes);
    desk.put("MESH/mesh_file", mesh);
    desk.put("MESH/materials_file", materials);
    desk.put(
        "MESH/nummaterial_velocity_file",
        "2 1 2400.0 3500.0 2000.0 100.0 70.0 0\n1 2 1021.0 1520.0 0.0 9999.0 9999.0 0\n",
    );
    desk.put("MESH/absorbing_cpml_file", listed(&layers));
    for (name, lines) in ["xmin", "xmax", "ymin", "ymax", "bottom"].iter().zip(&sides) {
        desk.put(&format!("MESH/absorbing_surface_file_{name}"), listed(lines));
    }
}

#[test]
fn layers_of_specfem3d_are_repeated() {
    let (desk, data) = (Desk::new(), checkout("tests/data/specfem/regular"));
    folder(&desk);
    fs::create_dir(desk.path("DATA")).unwrap();
    for name in [
        "CMTSOLUTION",
        "STATIONS",
        "DATA/stf.dat",
        "reference.rsf",
        "reference.rsf@",
    ] {
        desk.put(name, fs::read(data.join(name)).unwrap());
    }
    desk.ran(
        "sfsem3d-gpu specfem=MESH cmt=CMTSOLUTION stations=STATIONS data=displacement qref=1 nt=1000 dt=0.0025 fcpml=12.7 device=cpu > out.rsf",
    );
    let (records, reference) = (desk.read("out.rsf"), desk.read("reference.rsf"));
    // Stations in water and in rock; X, Y, Z of the reference are E, N, Z here.
    for (stations, limit) in [(0..9, 3.5e-2), (9..19, 9e-3)] {
        let own =
            |stations: Range<usize>| &reference[3 * SAMPLES * stations.start..3 * SAMPLES * stations.end];
        let top = magnitude(own(stations.clone()));
        let off = stations.flat_map(|station| {
            let (records, reference) = (&records, &reference);
            (0..3 * SAMPLES).map(move |k| {
                let (c, sample) = (k / SAMPLES, k % SAMPLES);
                let own = records[(EVERY * sample * 3 + 2 - c) * 19 + station];
                f64::from(own - reference[(3 * station + c) * SAMPLES + sample])
            })
        });
        let misfit = largest(off) / f64::from(top);
        println!("{misfit:.2e}");
        assert!(misfit < limit, "{misfit:.2e} of {limit:.1e}");
    }
}
