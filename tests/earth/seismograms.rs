//! Seismograms of a chunk of PREM, compared with the direct solution method (tests/data/dsm), which expands waves in
//! spherical harmonics and has neither elements nor artificial sides.

use fourier::FftDirection::{Forward, Inverse};
use fourier::{double, num_complex::Complex};
use std::f64::consts::TAU;

use crate::desk::Desk;
use crate::largest::correlation;
use crate::places::{beside, bolivia};
use crate::real;

const FILE: &str = include_str!("../data/dsm/velocity.txt");
const EPICENTRE: [f64; 2] = [-13.82, -67.25];
/// Distance from the epicentre (degrees), and azimuth in degrees east of north.
const STATIONS: [[f64; 2]; 5] = [
    [3.0, 60.0],
    [5.0, 180.0],
    [8.0, 300.0],
    [10.0, 20.0],
    [12.0, 130.0],
];
/// Half duration of the source in the file, s.
const HALF: f64 = 12.0;
/// Time between rows of the file, s.
const DT: f64 = 2.0;

/// A run and the part of it that is compared.
struct Case {
    /// Parameters of the program that makes the mesh, and of the run.
    mesh: &'static str,
    run: &'static str,
    /// Half duration of the source of the run, and the shortest period and the last time that are compared, s.
    half: f64,
    period: f64,
    end: f64,
}

/// Traces `[3 * station + component]` of the file, with components up, north, east, in 1e-7 m/s, every `DT` from zero
/// on.
fn reference() -> Vec<Vec<f64>> {
    let row = |line: &str| -> Vec<f64> { line.split(' ').map(|x| x.parse().unwrap()).collect() };
    let rows: Vec<Vec<f64>> = FILE.lines().map(row).collect();
    assert_eq!(rows.len(), 301);
    (0..3 * STATIONS.len())
        .map(|k| rows.iter().map(|row| row[k]).collect())
        .collect()
}

/// The traces of a run, in the same order.
fn traces(case: &Case) -> Vec<Vec<f64>> {
    let desk = Desk::new();
    let [latitude, longitude] = EPICENTRE;
    let station = |(k, at): (usize, &[f64; 2])| {
        let [lat, lon] = beside(latitude, longitude, at[0], at[1]);
        format!("S{k} XX {lat} {lon} 0 0\n")
    };
    desk.put(
        "STATIONS",
        STATIONS.iter().enumerate().map(station).collect::<String>(),
    );
    desk.put("CMT", bolivia(latitude, longitude, 647.1, case.half));
    desk.ran(&format!("sfhexmesh sphere=y judge=n {} > earth.rsf", case.mesh));
    desk.ran(&format!(
        "sfsem3d-gpu mesh=earth.rsf cmt=CMT stations=STATIONS latitude=geocentric model=prem {} > d.rsf",
        case.run
    ));
    let (axes, data) = (desk.axes("d.rsf", 3), desk.read("d.rsf"));
    let (n, first, step) = (axes[0].n, f64::from(axes[2].o), f64::from(axes[2].d));
    assert_eq!((n, axes[1].n), (STATIONS.len(), 3));
    assert!(first + step * (axes[2].n - 2) as f64 > case.end);
    let trace = |k: usize| -> Vec<f64> {
        let all = data.iter().skip(k % 3 * n + k / 3).step_by(3 * n);
        let all: Vec<f64> = all.map(|v| 1e7 * f64::from(*v)).collect();
        let last = (all.len() - 3) as f64;
        (0..301)
            .map(|row| cubic(&all, (DT * f64::from(row) - first) / step))
            .map_while(|(value, at)| (at < last).then_some(value))
            .collect()
    };
    (0..3 * n).map(trace).collect()
}

/// A trace at a time between samples, by the polynomial through the four nearest samples; returns the time, too.
fn cubic(trace: &[f64], at: f64) -> (f64, f64) {
    let k = (at as usize).clamp(1, trace.len() - 3);
    let weight = |own: usize| {
        let others = (0..4).filter(|other| *other != own);
        let part = |other: usize| (at - (k + other) as f64 + 1.0) / (own as f64 - other as f64);
        others.map(part).product::<f64>()
    };
    ((0..4).map(|j| weight(j) * trace[k + j - 1]).sum(), at)
}

/// A trace without periods below `period`, by the response of a four-pole Butterworth filter applied forwards and
/// backwards, and for a source with the half duration `half` in place of the file's.
fn filtered(trace: &[f64], period: f64, half: f64) -> Vec<f64> {
    let n = 2048;
    let mut numbers: Vec<Complex<f64>> = trace.iter().map(|x| Complex::new(*x, 0.0)).collect();
    numbers.resize(n, Complex::default());
    double::complex(n, Forward).process(&mut numbers);
    for (k, number) in numbers.iter_mut().enumerate() {
        let frequency = k.min(n - k) as f64 / (n as f64 * DT);
        let wider = (half * half - HALF * HALF) / (1.628 * 1.628);
        let bell = (-(TAU * frequency).powi(2) * wider / 4.0).exp();
        *number *= bell / (1.0 + (frequency * period).powi(8)) / n as f64;
    }
    double::complex(n, Inverse).process(&mut numbers);
    numbers[..trace.len()].iter().map(|x| x.re).collect()
}

/// Every component at every station must have a correlation of 0.99 and an amplitude ratio within these limits.
fn check(case: &Case, size: f64) {
    let rows = (case.end / DT) as usize;
    let own = traces(case);
    for (k, (own, truth)) in own.iter().zip(reference()).enumerate() {
        let own = filtered(own, case.period, HALF);
        let truth = filtered(&truth, case.period, case.half);
        let [alike, ratio] = correlation(&own[..rows], &truth[..rows]);
        let name = format!(
            "{:?} degrees, {}",
            STATIONS[k / 3],
            ["up", "north", "east"][k % 3]
        );
        println!("{name}: correlation {alike:.4}, size {ratio:.3}");
        assert!(alike >= 0.99, "{name}: correlation {alike}");
        assert!((ratio - 1.0).abs() < size, "{name}: {ratio} times as large");
    }
}

/// The elements are 2.5 degrees wide and have no faces on the discontinuities of the crust; the periods are minutes.
/// The smeared crust reduces amplitudes by up to a tenth.
#[test]
fn an_earthquake_in_a_coarse_chunk_is_that_of_the_direct_solution_method() {
    check(
        &Case {
            mesh: "nx=16 width=40 lat=-12.6 lon=-66 skip=15000,24400,80000",
            run: "nt=620 dt=1 data=velocity device=cpu",
            half: 40.0,
            period: 60.0,
            end: 500.0,
        },
        0.12,
    );
}

/// The elements are a third of a degree wide, and have faces on all discontinuities.
#[test]
fn an_earthquake_in_a_fine_chunk_is_that_of_the_direct_solution_method_on_a_gpu() {
    if real::gpus("an_earthquake_in_a_fine_chunk") == 0 {
        return;
    }
    check(
        &Case {
            mesh: "nx=128 width=40 lat=-12.9 lon=-66.3",
            run: "nt=5240 dt=0.1 jdata=10 data=velocity device=gpu",
            half: HALF,
            period: 20.0,
            end: 500.0,
        },
        0.05,
    );
}
