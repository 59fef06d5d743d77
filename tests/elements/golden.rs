//! Runs of SPECFEM3D (`tests/data/sem`), repeated with the program as a user would, with and without subdomains.

use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::Desk;
use crate::desk::built::checkout;
use crate::largest::relative_difference;
use crate::real;

/// A case in a separate folder, and its command line without outputs.
pub struct Case {
    pub desk: Desk,
    pub line: String,
    folder: PathBuf,
}

/// A value of case.json.
fn parameter(folder: &Path, key: &str) -> String {
    let text = fs::read_to_string(folder.join("case.json")).unwrap();
    let rest = text.split(&format!("\"{key}\":")).nth(1).unwrap();
    let end = rest.find([',', '\n', '}']).unwrap();
    rest[..end].trim().trim_matches('"').to_string()
}

/// Writes the files of a case, with the strengths in the order of `mech=`.
pub fn case(name: &str) -> Case {
    let (desk, folder) = (Desk::new(), checkout("tests/data/sem").join(name));
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        desk.put(&path.file_name().unwrap().to_string_lossy(), bytes);
    }
    let has = |word: &str| folder.join(format!("{word}.rsf")).exists();
    let moments = has("mt");
    let strengths = desk.read(if moments { "mt.rsf" } else { "force.rsf" });
    let columns = if moments { 6 } else { 3 };
    let mech: Vec<f32> = match moments {
        // The order is xx yy zz yz xz xy in SPECFEM3D, and xx yy zz xy xz yz on the command line.
        true => strengths
            .chunks(6)
            .flat_map(|m| [0, 1, 2, 5, 4, 3].map(|k| m[k]))
            .collect(),
        false => strengths,
    };
    desk.dataset(
        "mech.rsf",
        &format!("n1={columns} n2={}", mech.len() / columns),
        &mech,
    );
    let words = [
        "nodes",
        "elements",
        "regions",
        "materials",
        "ccc",
        "sls",
        "absorbing",
        "free",
        "sou",
        "rec",
    ];
    let files: Vec<String> = words
        .into_iter()
        .filter(|word| has(word))
        .map(|word| format!("{word}={word}.rsf"))
        .collect();
    let line = format!(
        "sfsem3d-gpu {} src={} mech=mech.rsf series=wav.rsf rate=n dt={} data={} device=cpu{}",
        files.join(" "),
        if moments { "moment" } else { "force" },
        parameter(&folder, "dt"),
        parameter(&folder, "quantity"),
        if has("absorbing") { " lumping=specfem" } else { "" }
    );
    Case { desk, line, folder }
}

impl Case {
    /// Runs all steps and returns the largest difference relative to the largest value, and the tolerance.
    fn misfit(&self, words: &str) -> [f64; 2] {
        let nt: usize = parameter(&self.folder, "nt").parse().unwrap();
        let run = self.desk.sh(&format!("{} nt={nt} {words} > out.rsf", self.line));
        assert_eq!(run.code, 0, "{run:?}");
        let (got, expected) = (self.desk.read("out.rsf"), self.desk.read("data.rsf"));
        assert_eq!(got.len(), expected.len());
        let axes = self.desk.axes("out.rsf", 3);
        let (receivers, components) = (axes[0].n, axes[1].n);
        let ordered = (0..expected.len()).map(|k| {
            let (step, receiver, c) = (k % nt, k / nt % receivers, k / nt / receivers);
            // The order is x, y, z in SPECFEM3D, and z, x, y in files.
            let place = if components == 1 { 0 } else { (c + 1) % 3 };
            got[(step * components + place) * receivers + receiver]
        });
        let misfit = relative_difference(ordered, &expected);
        [misfit, parameter(&self.folder, "tolerance").parse().unwrap()]
    }
}

#[test]
fn runs_agree_with_specfem3d() {
    // The cases are a time function that begins before zero, a fluid above a solid, and all options at once in three
    // subdomains.
    for (name, words) in [
        ("brick-free", ""),
        ("water-pressure", "ngpu=5"),
        ("combined", "ngpu=3"),
    ] {
        let [misfit, tolerance] = case(name).misfit(words);
        println!("{name} {words}: {misfit:.1e} of {tolerance:.0e}");
        assert!(
            misfit <= tolerance,
            "{name} {words}: {misfit:.2e} > {tolerance:.0e}"
        );
    }
}

#[test]
fn gpus_agree_with_specfem3d() {
    if real::gpus("gpus_agree_with_specfem3d") == 0 {
        return;
    }
    let all = fs::read_dir(checkout("tests/data/sem")).unwrap();
    let mut names: Vec<String> = all
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("case.json").exists())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in names {
        let mut case = case(&name);
        case.line = case.line.replace("device=cpu", "device=gpu");
        let [misfit, tolerance] = case.misfit("");
        println!("{name}: {misfit:.1e} of {tolerance:.0e}");
        assert!(misfit <= tolerance, "{name}: {misfit:.2e} > {tolerance:.0e}");
    }
}

#[test]
fn any_number_of_subdomains_and_threads_gives_the_same_bits() {
    for name in ["combined", "aniso", "attenuation"] {
        let case = case(name);
        let bits = |words: &str| -> Vec<u32> {
            let run = case.desk.sh(&format!(
                "{} nt=150 snap=y nqz=9 nqx=8 nqy=7 jsnap=149 wfl=w.rsf {words} > o.rsf",
                case.line
            ));
            assert_eq!(run.code, 0, "{run:?}");
            let both = [case.desk.read("o.rsf"), case.desk.read("w.rsf")];
            both.concat().into_iter().map(f32::to_bits).collect()
        };
        let one = bits("threads=1");
        assert!(one.iter().filter(|x| **x != 0).count() > 1000);
        for words in ["ngpu=2", "ngpu=3 threads=2", "ngpu=5", "ngpu=7 threads=1"] {
            assert!(bits(words) == one, "{name} {words}");
        }
    }
}

#[test]
fn a_run_goes_on_behind_a_state_in_any_cut() {
    // The cases have a fluid, a solid and memory variables.
    let case = case("combined");
    let run = |words: &str, name: &str| {
        let line = format!(
            "{} nt=45 snap=y nqz=5 nqx=5 nqy=5 jsnap=10 wfl=w{name}.rsf {words} > d{name}.rsf",
            case.line
        );
        let run = case.desk.sh(&line);
        assert_eq!(run.code, 0, "{run:?}");
        let files = [format!("d{name}.rsf"), format!("w{name}.rsf")];
        let bits = files.map(|file| case.desk.read(&file));
        (
            bits.concat().into_iter().map(f32::to_bits).collect::<Vec<u32>>(),
            run.err,
        )
    };
    let (whole, _) = run("", "0");
    assert!(run("checkpoint=state every=20 ngpu=2", "1").0 == whole);
    for (name, cut) in [("1", "ngpu=1"), ("2", "ngpu=3")] {
        let (numbers, messages) = run(&format!("resume=state {cut}"), name);
        assert!(messages.contains("continues after step 40 of 45"), "{messages}");
        assert!(numbers == whole, "{cut}");
    }
    let other = case
        .desk
        .sh(&format!("{} nt=45 m0=2 degree=3 resume=state > x.rsf", case.line));
    assert!(
        other.code == 1 && other.err.contains("the state belongs to another"),
        "{other:?}"
    );
}
