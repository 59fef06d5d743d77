//! Every case of `tests/data/sem` within its tolerance.

use std::fs;
use std::path::{Path, PathBuf};

use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Law, Medium, steps};
use kernels::mesh::{Basis, Locator, Mesh, Parts};
use kernels::methods::spectral_elements::{
    Engine, Lumping, Quantity, Receiver, Relaxation, Setup, Source, Strength,
};

use crate::built::checkout;

/// Numbers of four bytes of a dataset, and its n1 and n2; none where there is no such file.
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
    numbers(folder, name, f32::from_le_bytes).map(|found| found.0)
}

fn triples(folder: &Path, name: &str) -> Vec<[f64; 3]> {
    let all = floats(folder, name).unwrap_or_default();
    all.as_chunks::<3>().0.iter().map(|x| x.map(f64::from)).collect()
}

fn pairs(folder: &Path, name: &str) -> Vec<[i32; 2]> {
    let all = numbers(folder, name, i32::from_le_bytes).map_or(Vec::new(), |found| found.0);
    all.as_chunks::<2>().0.to_vec()
}

/// A number of case.json.
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

/// Attenuation of the regions, where the case has it.
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

/// Largest difference over the largest value.
fn misfit(folder: &Path, threads: usize) -> f64 {
    let (mesh, basis) = (mesh(folder), Basis::new(4).unwrap());
    let (media, speeds) = media(folder);
    let dt = parameter(folder, "dt");
    let bound = steps(&mesh, &basis, &media)
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    assert!(dt < bound, "{}: dt {dt} bound {bound}", folder.display());
    let sources = sources(folder);
    let relaxations = relaxations(folder);
    let setup = Setup {
        mesh: &mesh,
        basis: &basis,
        media: &media,
        speeds: &speeds,
        dt,
        relaxations: relaxations.as_deref(),
        lumping: Lumping::RowSums,
        sources: &sources,
    };
    let mut engine = Engine::new(Cpu::new(threads).unwrap(), &setup).unwrap();
    let locator = Locator::new(&mesh);
    let places = triples(folder, "rec");
    let receivers: Vec<Receiver<3>> = places
        .iter()
        .map(|at| engine.receiver("a receiver", *at, &setup, &locator).unwrap())
        .collect();
    let (expected, nt) = numbers(folder, "data", f32::from_le_bytes).unwrap();
    let text = fs::read_to_string(folder.join("case.json")).unwrap();
    let quantity = |word: &str| text.contains(&format!("\"quantity\": \"{word}\""));
    let (velocity, pressure) = (quantity("velocity"), quantity("pressure"));
    let (mut worst, mut top) = (0.0_f64, 0.0_f64);
    for step in 0..nt {
        engine.step();
        for (k, receiver) in receivers.iter().enumerate() {
            let motion = if velocity {
                Quantity::Velocity
            } else {
                Quantity::Displacement
            };
            let got = match pressure {
                true => vec![engine.pressure(receiver)],
                false => engine.record(receiver, motion).to_vec(),
            };
            for (c, got) in got.into_iter().enumerate() {
                let wanted = expected[(c * receivers.len() + k) * nt + step];
                worst = worst.max(f64::from((got - wanted).abs()));
                top = top.max(f64::from(wanted.abs()));
            }
        }
    }
    worst / top
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
