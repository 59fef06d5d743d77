//! Every case of `tests/data/sem` agrees within its tolerance.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Law, Medium, steps};
use kernels::mesh::{Basis, Locator, Mesh, Parts};
use kernels::methods::spectral_elements::{
    Engine, Lumping, Quantity, Receiver, Relaxation, Setup, Shot, Source, Strength, gpu,
};

use crate::built::checkout;
use crate::emulator::Emulator;
use crate::shots::{Tape, largest_difference, magnitude, relative_difference};

/// Values of four bytes of a dataset, and its n1 and n2; `None` if there is no such file.
fn numbers<T>(folder: &Path, name: &str, read: fn([u8; 4]) -> T) -> Option<(Vec<T>, usize)> {
    let header = fs::read_to_string(folder.join(format!("{name}.rsf"))).ok()?;
    let n1 = header
        .split_whitespace()
        .find_map(|word| word.strip_prefix("n1=")?.parse().ok());
    let bytes = fs::read(folder.join(format!("{name}.rsf@"))).unwrap();
    let values = bytes.as_chunks::<4>().0.iter().map(|b| read(*b)).collect();
    Some((values, n1.unwrap()))
}

fn floats(folder: &Path, name: &str) -> Option<Vec<f32>> {
    numbers(folder, name, f32::from_le_bytes).map(|read| read.0)
}

fn triples(folder: &Path, name: &str) -> Vec<[f64; 3]> {
    let all = floats(folder, name).unwrap_or_default();
    all.as_chunks::<3>().0.iter().map(|x| x.map(f64::from)).collect()
}

fn pairs(folder: &Path, name: &str) -> Vec<[i32; 2]> {
    let all = numbers(folder, name, i32::from_le_bytes).map_or(Vec::new(), |read| read.0);
    all.as_chunks::<2>().0.to_vec()
}

/// A value of case.json.
fn parameter(folder: &Path, key: &str) -> f64 {
    let text = fs::read_to_string(folder.join("case.json")).unwrap();
    let rest = text.split(&format!("\"{key}\":")).nth(1).unwrap();
    let end = rest.find([',', '\n', '}']).unwrap();
    rest[..end].trim().parse().unwrap()
}

fn mesh(folder: &Path) -> Mesh<3> {
    let (elements, per_element) = numbers(folder, "elements", i32::from_le_bytes).unwrap();
    Mesh::new(Parts {
        nodes: triples(folder, "nodes"),
        per_element,
        elements,
        regions: numbers(folder, "regions", i32::from_le_bytes).unwrap().0,
        absorbing: pairs(folder, "absorbing"),
        free: pairs(folder, "free"),
    })
    .unwrap()
}

/// Media of the regions, and their speeds.
fn media(folder: &Path) -> (Vec<Medium>, Vec<[f64; 2]>) {
    let rows = floats(folder, "materials").unwrap();
    let tables = floats(folder, "ccc");
    let medium = |(k, row): (usize, &[f32; 6])| {
        let [density, vp, vs] = [row[0], row[1], row[2]].map(f64::from);
        let mut medium = Medium::isotropic(density, vp, vs);
        if let Some(tables) = tables.as_ref().filter(|_| row[5] > 0.0) {
            let mut constants = [[0.0; 6]; 6];
            let pairs = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
            for ((i, j), c) in pairs.zip(&tables[k * 21..]) {
                (constants[i][j], constants[j][i]) = (f64::from(*c), f64::from(*c));
            }
            medium.law = Law::Anisotropic(Box::new(constants));
        }
        (medium, [vp, vs])
    };
    rows.as_chunks::<6>().0.iter().enumerate().map(medium).unzip()
}

/// Attenuation of the regions, if the case has it.
fn relaxations(folder: &Path) -> Option<Vec<Relaxation>> {
    let rows = floats(folder, "sls")?;
    let row = |r: &[f32; 11]| {
        let three = |k: usize| std::array::from_fn(|j| f64::from(r[k + j]));
        Relaxation {
            tau_stress: three(0),
            tau_shear: three(3),
            tau_bulk: three(6),
            factors: [f64::from(r[9]), f64::from(r[10])],
        }
    };
    Some(rows.as_chunks::<11>().0.iter().map(row).collect())
}

fn sources(folder: &Path) -> Vec<Source<3>> {
    let points = triples(folder, "sou");
    let (wav, nt) = numbers(folder, "wav", f32::from_le_bytes).unwrap();
    let moments = floats(folder, "mt");
    let forces = triples(folder, "force");
    let strength = |k: usize| match &moments {
        Some(all) => {
            let m: Vec<f64> = all[6 * k..6 * k + 6].iter().map(|x| f64::from(*x)).collect();
            let [xx, yy, zz, yz, xz, xy] = m[..] else {
                panic!("six components")
            };
            Strength::Moment([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        }
        None => Strength::Force(forces[k]),
    };
    let source = |(k, at): (usize, &[f64; 3])| Source {
        at: *at,
        strength: strength(k),
        history: wav[k * nt..(k + 1) * nt].to_vec(),
    };
    points.iter().enumerate().map(source).collect()
}

/// Work on the parts of a case.
fn with<R>(folder: &Path, work: impl FnOnce(&Setup<3>) -> R) -> R {
    let (mesh, basis) = (mesh(folder), Basis::new(4).unwrap());
    let (media, speeds) = media(folder);
    let dt = parameter(folder, "dt");
    let bound = steps(&mesh, &basis, &media)
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    assert!(dt < bound, "{}: dt {dt} bound {bound}", folder.display());
    let sources = sources(folder);
    let relaxations = relaxations(folder);
    work(&Setup {
        mesh: &mesh,
        basis: &basis,
        media: &media,
        speeds: &speeds,
        points: None,
        dt,
        relaxations: relaxations.as_deref().map(Into::into),
        lumping: Lumping::RowSums,
        sponge: None,
        pml: None,
        sources: &sources,
    })
}

/// The quantity that the receivers of a case record.
fn quantity(folder: &Path) -> Quantity {
    let text = fs::read_to_string(folder.join("case.json")).unwrap();
    let is = |word: &str| text.contains(&format!("\"quantity\": \"{word}\""));
    match [is("velocity"), is("pressure")] {
        [true, _] => Quantity::Velocity,
        [_, true] => Quantity::Pressure,
        _ => Quantity::Displacement,
    }
}

/// The largest difference relative to the largest value on an accelerator, with `parts` subdomains, over the first
/// `steps` steps.
fn misfit_on_accelerators(folder: &Path, parts: usize, steps: usize) -> f64 {
    let (expected, nt) = numbers(folder, "data", f32::from_le_bytes).unwrap();
    let shot = Shot {
        nt: steps.min(nt),
        receivers: triples(folder, "rec"),
        quantity: quantity(folder),
        ..Shot::default()
    };
    let mut tape = Tape::default();
    with(folder, |setup| {
        let count = setup.mesh.len();
        let cuts: Vec<_> = (0..parts)
            .map(|k| count * k / parts..count * (k + 1) / parts)
            .collect();
        let devices: Vec<_> = (0..parts).map(|_| Arc::new(Emulator::new())).collect();
        let group = gpu::subdomains(&devices, setup, &shot, (&cuts, 0..parts));
        group.unwrap().run(&mut tape).unwrap();
    });
    let receivers = shot.receivers.len();
    let reference = (0..shot.nt).flat_map(|step| {
        let expected = &expected;
        (0..expected.len() / nt).map(move |k| {
            // The order is z, x, y in records, and x, y, z there.
            let (c, receiver) = (k / receivers, k % receivers);
            let c = if expected.len() > receivers * nt {
                (c + 2) % 3
            } else {
                0
            };
            expected[(c * receivers + receiver) * nt + step]
        })
    });
    largest_difference(tape.traces.iter().flatten(), reference) / f64::from(magnitude(&expected))
}

#[test]
fn accelerators_agree_with_specfem3d() {
    if let Err(why) = Emulator::available() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped accelerators_agree_with_specfem3d: {why}"
        );
        return;
    }
    // Five times the error of the first steps, which are nearer to SPECFEM3D than whole runs.
    for (name, parts, measured) in [
        ("combined", 3, 5.5e-7),
        ("stacey-tilted", 1, 6.0e-7),
        ("hex27-curved", 5, 2.3e-6),
        ("water-displacement", 2, 1.2e-6),
        ("sources", 1, 4.3e-6),
        ("aniso", 2, 9.7e-8),
        ("attenuation", 3, 3.2e-6),
    ] {
        let folder = checkout("tests/data/sem").join(name);
        let (misfit, tolerance) = (misfit_on_accelerators(&folder, parts, 240), 5.0 * measured);
        println!("{name} in {parts} parts: {misfit:.1e} of {tolerance:.0e}");
        assert!(misfit <= tolerance, "{name}: {misfit:.2e} > {tolerance:.0e}");
    }
}

/// Largest difference relative to the largest value.
fn misfit(folder: &Path, threads: usize) -> f64 {
    with(folder, |setup| misfit_of(folder, setup, threads))
}

fn misfit_of(folder: &Path, setup: &Setup<3>, threads: usize) -> f64 {
    let mut engine = Engine::new(Cpu::new(threads).unwrap(), setup).unwrap();
    let locator = Locator::new(setup.mesh);
    let places = triples(folder, "rec");
    let receivers: Vec<Receiver<3>> = places
        .iter()
        .map(|at| engine.receiver("a receiver", *at, setup, &locator).unwrap())
        .collect();
    let (expected, nt) = numbers(folder, "data", f32::from_le_bytes).unwrap();
    let quantity = quantity(folder);
    let (mut records, mut reference) = (Vec::new(), Vec::new());
    for step in 0..nt {
        engine.step();
        for (k, receiver) in receivers.iter().enumerate() {
            let got = match quantity {
                Quantity::Pressure => vec![engine.pressure(receiver)],
                _ => engine.record(receiver, quantity).to_vec(),
            };
            for (c, got) in got.into_iter().enumerate() {
                records.push(got);
                reference.push(expected[(c * receivers.len() + k) * nt + step]);
            }
        }
    }
    assert_eq!(reference.len(), expected.len());
    relative_difference(&records, &reference)
}

#[test]
fn agrees_with_specfem3d() {
    let mut folders: Vec<PathBuf> = fs::read_dir(checkout("tests/data/sem"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("case.json").exists())
        .collect();
    folders.sort();
    assert!(folders.len() >= 6, "the cases are there");
    for folder in folders {
        let (misfit, tolerance) = (misfit(&folder, 2), parameter(&folder, "tolerance"));
        println!(
            "{}: {misfit:.1e} of {tolerance:.0e}",
            folder.file_name().unwrap().to_string_lossy()
        );
        assert!(
            misfit <= tolerance,
            "{}: {misfit:.2e} > {tolerance:.0e}",
            folder.display()
        );
    }
}
