//! Travel times of waves through PREM, compared with rays: spectral elements in a plane section of the mantle along a
//! great circle, in which rays are the same as in the sphere.
//!
//! P waves of an explosion propagate in a solid. Horizontally polarised S waves obey the equation of a potential in a
//! fluid, with the density in place of the reciprocal bulk modulus and the shear modulus in place of the reciprocal
//! density; sides without flux are free of tractions. The fluid elements therefore give S and its reflections at the
//! core and at the surface. The reflection of P at the core is computed in a fluid with the P velocities, above a
//! rigid core, because in a solid the waves that an explosion at the surface sends along the surface are stronger. It
//! is followed to distances at which the waves along the surface have passed when it arrives, and at short periods,
//! because reverberations in the crust delay the maximum by up to half a per cent of its time.

use std::f64::consts::PI;

use fourier::FftDirection::{Forward, Inverse};
use fourier::{double, num_complex::Complex};
use kernels::device::cpu::Cpu;
use kernels::earth::Radial;
use kernels::mesh::step::{Law, Medium};
use kernels::mesh::{Basis, Locator, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{Engine, Lumping, PointMedium, Quantity, Setup, Source, Strength};

use crate::rays::{Shells, Wave};

const SURFACE: f64 = 6.371e6;
const CORE: f64 = 3.48e6;
/// Degrees by which the section extends beyond its source and its stations.
const MARGIN: f64 = 12.0;

/// A section: its end in degrees from the source, the number of elements along the surface, and the height of a row
/// divided by the speed of shear waves (s).
struct Section {
    end: f64,
    columns: usize,
    rows: f64,
}

impl Section {
    /// A mesh of nine-node quadrilaterals between the discontinuities of a model, with absorbing ends.
    fn mesh(&self, model: &Radial) -> Mesh<2> {
        let radii = self.radii(model);
        let rows = radii.len() - 1;
        let along = |k: usize| {
            let part = k as f64 / (2 * self.columns) as f64;
            (part * (self.end + 2.0 * MARGIN) - MARGIN).to_radians()
        };
        let height = |k: usize| {
            let below = radii[(k / 2 + 1).min(rows)];
            if k.is_multiple_of(2) {
                radii[k / 2]
            } else {
                (radii[k / 2] + below) / 2.0
            }
        };
        let node = |k: usize| {
            let (i, j) = (k % (2 * self.columns + 1), k / (2 * self.columns + 1));
            place(height(j), along(i))
        };
        let mut parts = Parts::<2> {
            per_element: Order::Quadratic.nodes::<2>(),
            nodes: (0..(2 * self.columns + 1) * (2 * rows + 1)).map(node).collect(),
            regions: vec![0; self.columns * rows],
            ..Parts::default()
        };
        for element in 0..parts.regions.len() {
            let first = [element % self.columns, element / self.columns];
            for node in 0..parts.per_element {
                let at = cell::place::<2>(node).map(usize::from);
                let number = (2 * first[1] + at[1]) * (2 * self.columns + 1) + 2 * first[0] + at[0];
                parts.elements.push(number as i32);
            }
            for face in 0..cell::faces::<2>() {
                let side = cell::face::<2>(face);
                if side.axis == 0 && first[0] == if side.high { self.columns - 1 } else { 0 } {
                    parts.absorbing.push([element as i32, face as i32]);
                }
            }
        }
        Mesh::new(parts).expect("the section is sound")
    }

    /// Radii of the rows from the surface down.
    fn radii(&self, model: &Radial) -> Vec<f64> {
        let mut radii = vec![SURFACE];
        for layer in model.layers().iter().rev().filter(|layer| layer.top > CORE) {
            let middle = (layer.top + layer.bottom) / 2.0;
            let high = layer.top - layer.bottom;
            let rows = (high / (self.rows * model.seen_from(middle, middle).vsv))
                .round()
                .max(1.0);
            radii.extend((1..=rows as usize).map(|k| layer.top - high * k as f64 / rows));
        }
        radii
    }
}

/// A point of the section; z points downwards at angle zero.
fn place(radius: f64, angle: f64) -> [f64; 2] {
    [radius * angle.sin(), -radius * angle.cos()]
}

fn length(x: [f64; 2]) -> f64 {
    x[0].hypot(x[1])
}

/// The waves that are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Compression,
    Horizontal,
    /// Compressional waves in a fluid with the P velocities.
    Pressure,
}

impl Kind {
    /// The value that a station at an angle records: the pressure, or the upward displacement.
    fn recorded(self, of: impl Fn(Quantity) -> [f32; 2], angle: f64) -> f64 {
        match self {
            Self::Horizontal | Self::Pressure => f64::from(of(Quantity::Pressure)[0]),
            Self::Compression => {
                let (u, up) = (of(Quantity::Displacement), place(1.0, angle));
                up[0] * f64::from(u[0]) + up[1] * f64::from(u[1])
            }
        }
    }

    /// The medium at a point as seen from inside an element.
    fn medium(self, model: &Radial, inside: f64, radius: f64) -> PointMedium {
        let m = model.seen_from(inside, radius);
        let (medium, speeds) = match self {
            Self::Compression => (Medium::isotropic(m.density, m.vpv, m.vsv), [m.vpv, m.vsv]),
            Self::Horizontal => {
                let shear = m.density * m.vsv * m.vsv;
                let medium = Medium {
                    density: 1.0 / shear,
                    law: Law::Fluid(1.0 / m.density),
                };
                (medium, [m.vsv, 0.0])
            }
            Self::Pressure => {
                let medium = Medium {
                    density: m.density,
                    law: Law::Fluid(m.density * m.vpv * m.vpv),
                };
                (medium, [m.vpv, 0.0])
            }
        };
        PointMedium {
            medium,
            speeds,
            loss: None,
        }
    }
}

/// A shot along a section: the radius of its source, the peak frequency of its wavelet (Hz), and its duration (s).
struct Shot {
    kind: Kind,
    from: f64,
    frequency: f64,
    seconds: f64,
}

/// Envelopes at stations, whose maxima are at the arrival times of a wavelet centred at time zero.
struct Records {
    dt: f64,
    distances: Vec<f64>,
    envelopes: Vec<Vec<f64>>,
}

fn records(section: &Section, shot: &Shot, distances: &[f64]) -> Records {
    let model = Radial::prem(true);
    let (mesh, basis) = (section.mesh(&model), Basis::new(4).unwrap());
    let points = |_: usize, _: usize, positions: &[[f64; 2]]| {
        let inside = positions.iter().map(|x| length(*x)).sum::<f64>() / positions.len() as f64;
        let all = positions
            .iter()
            .map(|x| shot.kind.medium(&model, inside, length(*x)));
        Some(all.collect())
    };
    let typical = shot.kind.medium(&model, 5e6, 5e6);
    let (media, speeds) = ([typical.medium], [typical.speeds]);
    let mut sources = [Source {
        at: place(shot.from, 0.0),
        strength: Strength::Moment([[1.0, 0.0], [0.0, 1.0]]),
        history: Vec::new(),
    }];
    let setup = |sources: &[Source<2>], dt: f64| -> (f64, Option<(Engine<2>, Vec<_>)>) {
        let setup = Setup {
            mesh: &mesh,
            basis: &basis,
            media: &media,
            speeds: &speeds,
            points: Some(&points),
            dt,
            relaxations: None,
            lumping: Lumping::Matrix,
            sponge: None,
            pml: None,
            sources,
        };
        if dt == 0.0 {
            return (setup.bound().limit, None);
        }
        let engine = Engine::new(Cpu::new(2).unwrap(), &setup).unwrap();
        let locator = Locator::new(&mesh);
        let receiver = |distance: &f64| {
            let at = place(SURFACE, distance.to_radians());
            engine.receiver("it", at, &setup, &locator).unwrap()
        };
        let receivers = distances.iter().map(receiver).collect();
        (dt, Some((engine, receivers)))
    };
    let dt = 0.95 * setup(&sources, 0.0).0;
    let nt = (shot.seconds / dt) as usize;
    // A Gaussian or its derivative gives the records about the spectrum of a Ricker wavelet.
    let middle = 1.5 / shot.frequency;
    let history = |n: usize| {
        let t = PI * shot.frequency * (n as f64 * dt - middle);
        match shot.kind {
            Kind::Compression => (t * (-t * t).exp()) as f32,
            Kind::Horizontal | Kind::Pressure => (-t * t).exp() as f32,
        }
    };
    sources[0].history = (0..nt.min((2.0 * middle / dt) as usize)).map(history).collect();
    let (mut engine, receivers) = setup(&sources, dt).1.unwrap();
    let mut traces = vec![Vec::with_capacity(nt); distances.len()];
    for _ in 0..nt {
        engine.step();
        for ((receiver, trace), distance) in receivers.iter().zip(&mut traces).zip(distances) {
            let of = |quantity| engine.record(receiver, quantity);
            trace.push(shot.kind.recorded(of, distance.to_radians()));
        }
    }
    println!(
        "{:?}: {} elements, {nt} steps of {dt:.3} s",
        shot.kind,
        mesh.len()
    );
    let skip = (middle / dt).round() as usize;
    let envelopes = traces
        .iter()
        .map(|trace| envelope(trace)[skip..].to_vec())
        .collect();
    Records {
        dt,
        distances: distances.to_vec(),
        envelopes,
    }
}

/// The envelope of a trace: the absolute value of the signal without negative frequencies. Constant phase shifts, due
/// to line sources and caustics, do not change it.
fn envelope(trace: &[f64]) -> Vec<f64> {
    let n = (2 * trace.len()).next_power_of_two();
    let mut numbers: Vec<Complex<f64>> = trace.iter().map(|x| Complex::new(*x, 0.0)).collect();
    numbers.resize(n, Complex::default());
    double::complex(n, Forward).process(&mut numbers);
    numbers[n / 2..].iter_mut().for_each(|x| *x = Complex::default());
    double::complex(n, Inverse).process(&mut numbers);
    numbers[..trace.len()].iter().map(|x| x.norm()).collect()
}

impl Records {
    /// The time (s) of the largest value within `reach` (s) of another time, and its ratio to the larger value at the
    /// ends of that window.
    fn pick(&self, distance: f64, expected: f64, reach: f64) -> [f64; 2] {
        let station = self.distances.iter().position(|d| *d == distance).unwrap();
        let trace = crate::largest::records(&self.envelopes[station]);
        let [first, last] =
            [expected - reach, expected + reach].map(|t| ((t / self.dt) as usize).min(trace.len() - 2));
        let top = (first..=last)
            .max_by(|a, b| trace[*a].total_cmp(&trace[*b]))
            .unwrap();
        // The maximum of the parabola through three samples.
        let [a, b, c] = [trace[top - 1], trace[top], trace[top + 1]];
        let shift = 0.5 * (a - c) / (a - 2.0 * b + c);
        [(top as f64 + shift) * self.dt, b / trace[first].max(trace[last])]
    }
}

/// A phase, and distances at which it is well separated from other phases.
struct Phase {
    name: &'static str,
    distances: [f64; 10],
    /// The arrival time (s) of rays at a distance (degrees).
    arrival: fn(&Shells, f64) -> Option<f64>,
}

/// The envelopes of a shot at the surface have maxima at the arrival times of rays, to half a per cent. They are sought
/// within `reach` seconds.
fn check(shot: &Shot, section: &Section, reach: f64, phases: &[Phase]) {
    let mut distances: Vec<f64> = phases.iter().flat_map(|phase| phase.distances).collect();
    distances.sort_by(f64::total_cmp);
    distances.dedup();
    let all = records(section, shot, &distances);
    let wave = match shot.kind {
        Kind::Compression | Kind::Pressure => Wave::P,
        Kind::Horizontal => Wave::S,
    };
    let shells = Shells::new(&Radial::prem(true), wave, CORE, 2e4);
    let mut wrong = Vec::new();
    for Phase {
        name,
        distances,
        arrival,
    } in phases
    {
        for distance in distances {
            let expected = arrival(&shells, *distance).unwrap();
            let [measured, clear] = all.pick(*distance, expected, reach);
            let apart = 100.0 * (measured / expected - 1.0);
            let line = format!(
                "{name} at {distance}: {expected:.1} s, found {apart:+.2} %, {clear:.1} times the ends"
            );
            println!("{line}");
            if apart.abs() >= 0.5 || clear <= 2.0 {
                wrong.push(line);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "not within half a per cent, or not well separated: {wrong:#?}"
    );
}

/// Checks the arrival times of these phases in a section of 100 degrees, for a source with a period of 50 s at the
/// surface.
fn check_long(kind: Kind, seconds: f64, phases: &[Phase]) {
    let section = Section {
        end: 100.0,
        columns: 115,
        rows: 20.0,
    };
    let shot = Shot {
        kind,
        from: SURFACE,
        frequency: 0.02,
        seconds,
    };
    check(&shot, &section, 40.0, phases);
}

#[test]
fn s_and_its_reflections_arrive_when_rays_do() {
    let phases = [
        Phase {
            name: "S",
            distances: [30.0, 36.0, 42.0, 48.0, 54.0, 60.0, 66.0, 72.0, 84.0, 96.0],
            arrival: |shells, distance| shells.first(SURFACE, distance, false),
        },
        Phase {
            name: "ScS",
            distances: [52.0, 53.0, 54.0, 55.0, 56.0, 58.0, 60.0, 62.0, 64.0, 66.0],
            arrival: |shells, distance| shells.first(SURFACE, distance, true),
        },
        Phase {
            name: "SS",
            distances: [48.0, 52.0, 54.0, 56.0, 62.0, 64.0, 76.0, 80.0, 84.0, 88.0],
            arrival: |shells, distance| Some(2.0 * shells.first(SURFACE, distance / 2.0, false)?),
        },
    ];
    check_long(Kind::Horizontal, 1900.0, &phases);
}

#[test]
fn p_arrives_when_rays_do() {
    let phase = Phase {
        name: "P",
        distances: [36.0, 42.0, 48.0, 54.0, 60.0, 66.0, 72.0, 78.0, 84.0, 90.0],
        arrival: |shells, distance| shells.first(SURFACE, distance, false),
    };
    check_long(Kind::Compression, 1000.0, &[phase]);
}

#[test]
fn p_comes_back_from_the_core_when_rays_do() {
    let phase = Phase {
        name: "PcP",
        distances: [6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0],
        arrival: |shells, distance| shells.first(SURFACE, distance, true),
    };
    let section = Section {
        end: 26.0,
        columns: 140,
        rows: 12.0,
    };
    let shot = Shot {
        kind: Kind::Pressure,
        from: SURFACE,
        frequency: 0.05,
        seconds: 640.0,
    };
    check(&shot, &section, 30.0, &[phase]);
}
