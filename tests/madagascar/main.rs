//! The modelling programs compared with runs of the Madagascar programs that they replace (tests/data/model/README.md).
//!
//! Agreed differences: the header counts the records that are written (the originals' n3 forgets the last one when nt
//! is not a multiple of jdata), and with opot=y the axis of components is labelled.

mod media;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/largest.rs"]
mod largest;
#[path = "../support/real.rs"]
mod real;

use desk::Desk;
use largest::largest_difference;
use rsf_io::Axis;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Largest difference relative to the largest amplitude of the reference: a few float32 roundings per step.
const TOLERANCE: f64 = 1e-5;

/// Expected lines on standard error: the device, and warnings about the coarse grid and the large jdata=.
const EXPECTED: [&str; 5] = [
    ": CPU, ",
    ": GPU",
    ": warning: only ",
    ": warning: jdata=",
    ": warning: nbell=",
];

fn stored(name: &str) -> PathBuf {
    desk::built::checkout("tests/data/model").join(name)
}

fn floats(name: &str) -> Vec<f32> {
    let bytes = fs::read(stored(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let words = bytes.chunks_exact(4);
    words.map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn axes(value: &Value) -> Vec<Axis> {
    let one = |a: &Value| {
        let word = |i: usize| a[i].as_str().filter(|s| !s.is_empty()).map(String::from);
        Axis {
            label: word(3),
            unit: word(4),
            ..Axis::new(
                a[0].as_u64().unwrap() as usize,
                a[1].as_f64().unwrap() as f32,
                a[2].as_f64().unwrap() as f32,
            )
        }
    };
    value.as_array().unwrap().iter().map(one).collect()
}

/// Header keys of axes.
fn keys(axes: &[Axis]) -> String {
    let mut out = String::new();
    for (i, a) in axes.iter().enumerate() {
        let i = i + 1;
        out += &format!("n{i}={} o{i}={} d{i}={} ", a.n, a.o, a.d);
        out += &format!(
            "label{i}=\"{}\" unit{i}=\"{}\"\n",
            a.label.as_deref().unwrap_or(""),
            a.unit.as_deref().unwrap_or("")
        );
    }
    out
}

/// A desk with every input of the runs of one dimension, and these runs.
fn prepare(ndim: usize) -> (Desk, Vec<Value>) {
    let book: Value = serde_json::from_slice(&fs::read(stored("cases.json")).unwrap()).unwrap();
    let desk = Desk::new();
    let grid = axes(&book["grids"][ndim.to_string()]);
    let n: Vec<usize> = grid.iter().map(|a| a.n).collect();
    let packed = fs::read(stored(&format!("fields{ndim}.rice"))).unwrap();
    for (name, values) in media::files(&packed, &n) {
        let count = values.len() / n.iter().product::<usize>();
        let header = format!("{} n{}={count}", keys(&grid), ndim + 1);
        desk.dataset(&format!("{name}.rsf"), &header, &values);
    }
    for (name, wavelet) in book["wavelets"].as_object().unwrap() {
        let values = floats(&format!("{name}.raw"));
        desk.dataset(&format!("{name}.rsf"), &keys(&axes(wavelet)), &values);
    }
    for (name, points) in book["points"].as_object().unwrap() {
        let numbers = points["values"].as_array().unwrap();
        let values: Vec<f32> = numbers.iter().map(|x| x.as_f64().unwrap() as f32).collect();
        let n1 = points["n1"].as_u64().unwrap() as usize;
        let header = format!(
            "n1={n1} n2={} o2={} d2={} unit2=\"{}\"",
            values.len() / n1,
            points["o2"],
            points["d2"],
            text(&points["unit2"])
        );
        desk.dataset(&format!("{name}.rsf"), &header, &values);
    }
    let prefix = format!("omp{ndim}d");
    let cases = book["cases"].as_array().unwrap().iter();
    let cases: Vec<Value> = cases
        .filter(|c| text(&c["name"]).starts_with(&prefix))
        .cloned()
        .collect();
    assert!(cases.len() > 8, "{} runs in {ndim}-D", cases.len());
    (desk, cases)
}

/// Every `step[a]`-th value along axis `a` (first axis fastest), from `first` on, of values with axes `n`.
fn thinned(values: &[f32], n: &[usize], step: &[usize]) -> Vec<f32> {
    assert_eq!(values.len(), n.iter().product::<usize>());
    let keep = |i: usize| {
        let mut rest = i;
        n.iter().zip(step).all(|(n, step)| {
            let index = rest % n;
            rest /= n;
            index.is_multiple_of(*step)
        })
    };
    let kept = (0..values.len()).filter(|&i| keep(i));
    kept.map(|i| values[i]).collect()
}

fn misfit(reference: &[f32], got: &[f32], top: f32) -> f64 {
    largest_difference(got, reference) / f64::from(top)
}

/// The differences between the axes of a file and the expected ones.
fn compare_axes(what: &str, got: &[Axis], expected: &[Axis], complaints: &mut Vec<String>) {
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        let near = |x: f32, y: f32| (x - y).abs() <= 1e-5 * y.abs().max(b.d.abs());
        let word = |w: &Option<String>| w.clone().unwrap_or_default();
        // Madagascar's snapshots lose the parameters of the model's header; ours keep them.
        let same = |a, b| word(b).is_empty() || word(a) == word(b);
        let same_words = same(&a.label, &b.label) && same(&a.unit, &b.unit);
        if a.n != b.n || !near(a.o, b.o) || !near(a.d, b.d) || !same_words {
            complaints.push(format!("{what} axis {}: {a:?}, expected {b:?}", i + 1));
        }
    }
}

/// Runs on one machine that must give the same bits, the first of which is compared with the reference, and the text
/// about its device that each run must print.
type Runs<'a> = (&'a [&'a str], &'a str);

/// One run with one thread, and another with three slabs and all threads.
const ON_CPU: Runs = (&["device=cpu threads=1", "device=cpu ngpu=3"], ": CPU, ");

/// Runs one case in each way; returns complaints about the results.
fn examine(desk: &Desk, case: &Value, (extras, device): Runs) -> Vec<String> {
    let (name, mut complaints) = (text(&case["name"]), Vec::new());
    let ndim = if name.starts_with("omp3d") { 3 } else { 2 };
    let (wavelet, args) = (text(&case["wavelet"]), text(&case["args"]));
    let file = |kind: &str, k: usize| format!("{name}.{kind}.{k}");
    for (k, extra) in extras.iter().enumerate() {
        let wfl = match case.get("wfl") {
            Some(_) => format!("wfl={}", file("wfl", k)),
            None => String::new(),
        };
        let line = format!(
            "sfewefd{ndim}d-gpu < {wavelet}.rsf {args} {wfl} {extra} > {}",
            file("dat", k)
        );
        let run = desk.sh(&line);
        let strange = |l: &str| !EXPECTED.iter().any(|e| l.contains(e));
        if run.code != 0 || !run.out.is_empty() || !run.err.contains(device) || run.err.lines().any(strange) {
            return vec![format!("{name}: {line}: exit {}: {}", run.code, run.err)];
        }
    }
    let same = |kind: &str| {
        let data = |k: usize| fs::read(desk.path(&format!("{}@", file(kind, k)))).unwrap();
        (1..extras.len()).all(|k| data(k) == data(0))
    };
    let potentials = args.contains("opot=y");
    let component_label = match (potentials, ndim) {
        (false, _) => ["", ""],
        (true, 2) => ["div curl", "div curl"],
        (true, _) => ["div x y z", "div z x y"],
    };
    let mut reference = floats(&format!("{name}.ref"));
    let mut check = |kind: &str, label: &str, steps: &[usize], last: bool| {
        if !same(kind) {
            complaints.push(format!("{name}: {kind}: {extras:?} differ in their bits"));
        }
        let file = file(kind, 0);
        let mut expected = axes(&case[if kind == "dat" { "data" } else { "wfl" }]);
        let rank = expected.len();
        expected[rank - 2].label = Some(label.into());
        compare_axes(
            &format!("{name}: {kind}"),
            &desk.axes(&file, rank),
            &expected,
            &mut complaints,
        );
        let mut n: Vec<usize> = expected.iter().map(|a| a.n).collect();
        let mut values = desk.read(&file);
        if last {
            let one: usize = n[..rank - 1].iter().product();
            values.drain(..values.len() - one);
            n[rank - 1] = 1;
        }
        let got = thinned(&values, &n, steps);
        let rest = reference.split_off(got.len());
        let top = case[if kind == "dat" { "max" } else { "wflmax" }]
            .as_f64()
            .unwrap() as f32;
        let worst = misfit(&reference, &got, top);
        println!("{name} {kind}{device}{worst:.1e}");
        if worst.is_nan() || worst > TOLERANCE {
            complaints.push(format!("{name}: {kind} differs by {worst:.1e} of the maximum"));
        }
        reference = rest;
    };
    check("dat", component_label[0], &[3, 1, 4], false);
    if case.get("wfl").is_some() {
        let steps: &[usize] = if ndim == 3 {
            &[5, 5, 5, 1, 1]
        } else {
            &[7, 7, 1, 1]
        };
        check("wfl", component_label[1], steps, true);
    }
    assert!(
        reference.is_empty(),
        "{name}: the reference has more values than were compared"
    );
    complaints
}

fn every_run(ndim: usize, runs: Runs) {
    let (desk, cases) = prepare(ndim);
    let complaints: Vec<String> = cases.iter().flat_map(|case| examine(&desk, case, runs)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_run_in_2d_is_reproduced() {
    every_run(2, ON_CPU);
}

#[test]
fn every_run_in_3d_is_reproduced() {
    every_run(3, ON_CPU);
}

/// Runs on one GPU, and on as many as there are up to four, with the kernels of the model's class and of the most
/// general class.
#[test]
fn every_run_is_reproduced_on_gpus() {
    let count = real::gpus("runs of Madagascar's programs");
    if count == 0 {
        return;
    }
    let several: Vec<String> = (1..=count.min(4))
        .map(|n| format!("device=gpu ngpu={n}"))
        .collect();
    let several: Vec<&str> = several.iter().map(String::as_str).collect();
    for ndim in [2, 3] {
        every_run(ndim, (&several, ": GPU"));
        every_run(ndim, (&["device=gpu sym=ort"], ": GPU"));
    }
}
