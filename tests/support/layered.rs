//! Point and line sources in plane layers of fluids and solids, by sums over horizontal wavenumbers and complex
//! frequencies (Bouchon & Aki 1977): a reference without grids.
//!
//! At a wavenumber `k` and a frequency `w` a layer carries waves `exp(s z)`, `s = -+sqrt(k^2 - w^2/c^2)`, of P with the
//! displacement (along k, along z) `(i k, s)`, of SV with `(-s, i k)`, and of SH. Displacement and traction are
//! continuous across the interfaces; at the depth of a force `f` traction jumps by `-f`, and at the depth of an
//! explosion in a fluid the normal displacement jumps by the moment over the bulk modulus. The moment `M_xy` is the
//! force `-i k M (sin 2a, cos 2a)` along and across a `k` of the azimuth `a`. Integrals over the azimuth of `k` are
//! Bessel functions.
//!
//! Kjartansson's (1979) modulus gives each rock a constant Q. Coordinates are (z, x, y), with z downwards.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use crate::shots::Ricker;
use fourier::num_complex::Complex;
use std::f64::consts::{PI, TAU};

pub type C = Complex<f64>;

/// A homogeneous layer; with an S speed of zero it is a fluid.
#[derive(Clone, Copy, Debug)]
pub struct Rock {
    /// P and S velocity.
    pub speeds: [f64; 2],
    pub rho: f64,
    /// Q of P and S waves; infinite without attenuation.
    pub q: [f64; 2],
}

impl Rock {
    pub fn new(vp: f64, vs: f64, rho: f64) -> Self {
        Self {
            speeds: [vp, vs],
            rho,
            q: [f64::INFINITY; 2],
        }
    }

    fn is_fluid(&self) -> bool {
        self.speeds[1] == 0.0
    }

    /// P and S modulus at a frequency.
    fn moduli(&self, reference: f64, w: C) -> [C; 2] {
        [0, 1].map(|k| self.rho * modulus(self.speeds[k], self.q[k], reference, w))
    }
}

/// Kjartansson's modulus of a wave of the speed `c` at the reference frequency, divided by density:
/// `c^2 cos^2(pi g/2) (i w/w0)^(2 g)`, `g = atan(1/Q)/pi`.
pub fn modulus(c: f64, q: f64, reference: f64, w: C) -> C {
    let g = (1.0 / q).atan() / PI;
    let turned = C::new(0.0, 1.0) * w / (TAU * reference);
    c * c * (0.5 * PI * g).cos().powi(2) * turned.powf(2.0 * g)
}

/// Layers from the top down.
pub struct Stack<'a> {
    pub rocks: &'a [Rock],
    /// Depths of the interfaces between them.
    pub interfaces: &'a [f64],
    /// Whether there is a free surface at depth 0; without one the first rock is a half-space.
    pub surface: bool,
    /// Frequency for which the velocities of rocks with a finite Q are given.
    pub reference: f64,
}

impl Stack<'_> {
    /// The index of the rock at a depth.
    fn rock_at(&self, z: f64) -> usize {
        self.interfaces.iter().filter(|&&d| z > d).count()
    }
}

/// The source at x = y = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A downward force.
    Force,
    /// An explosion in a fluid.
    Explosion,
    /// The moments xy and yx.
    Twist,
}

/// A source, and the times of the samples of its response.
pub struct Shot<'a> {
    pub source: Source,
    pub depth: f64,
    /// 3 for a point, 2 for a line along y.
    pub ndim: usize,
    pub dt: f64,
    pub nt: usize,
    /// Time of the first sample.
    pub first: f64,
    /// Spectrum of the time function for which displacements are computed.
    pub spectrum: &'a dyn Fn(C) -> C,
    /// Highest angular frequency of that spectrum.
    pub highest: f64,
    /// Spread of the source along x and y, as `exp(-x^2/bell)`; 0 for a point.
    pub bell: f64,
}

/// The spectrum of a Ricker wavelet.
pub fn spectrum_of(w: &Ricker) -> impl Fn(C) -> C + '_ {
    let k = 2.0 * (PI * w.f).powi(2);
    move |s: C| (TAU / k).sqrt() * s * s / k * (-s * s / (2.0 * k)).exp() * (C::new(0.0, -w.t0) * s).exp()
}

/// One kind of wave in a layer: its vertical slope, the depth at which its amplitude is one, displacement and traction
/// (along k and along z, or across and zero).
struct Wave {
    slope: C,
    anchor: f64,
    u: [C; 2],
    traction: [C; 2],
}

impl Wave {
    fn at(&self, z: f64) -> C {
        (self.slope * (z - self.anchor)).exp()
    }
}

/// The waves of a layer between two depths (at an infinite one there is no interface), across `k` or in its plane.
fn waves_of(
    rock: &Rock,
    [m, mu]: [C; 2],
    [top, bottom]: [f64; 2],
    (k, w): (f64, C),
    across: bool,
) -> Vec<Wave> {
    let (i, zero) = (C::new(0.0, 1.0), C::new(0.0, 0.0));
    let slope = |modulus: C| (k * k - rock.rho * w * w / modulus).sqrt();
    let ways = [(-1.0, top), (1.0, bottom)];
    let ways = ways.into_iter().filter(|(_, anchor)| anchor.is_finite());
    let mut out = Vec::new();
    for (sign, anchor) in ways {
        let mut push = |slope, u, traction| {
            out.push(Wave {
                slope,
                anchor,
                u,
                traction,
            })
        };
        if across {
            let s = sign * slope(mu);
            push(s, [C::new(1.0, 0.0), zero], [mu * s, zero]);
            continue;
        }
        let s = sign * slope(m);
        let normal = 2.0 * mu * k * k - rock.rho * w * w;
        push(s, [i * k, s], [2.0 * i * k * mu * s, normal]);
        if !rock.is_fluid() {
            let s = sign * slope(mu);
            push(s, [-s, i * k], [-mu * (s * s + k * k), 2.0 * i * k * mu * s]);
        }
    }
    out
}

/// The solution of linear equations whose right-hand sides are in the last column.
fn solved(mut rows: Vec<Vec<C>>) -> Vec<C> {
    let n = rows.len();
    for k in 0..n {
        let best = (k..n).max_by(|&a, &b| rows[a][k].norm_sqr().total_cmp(&rows[b][k].norm_sqr()));
        rows.swap(k, best.expect("there are rows"));
        let pivot = rows[k].clone();
        for row in &mut rows[k + 1..] {
            let factor = row[k] / pivot[k];
            if factor.norm_sqr() > 0.0 {
                (k..=n).for_each(|c| row[c] -= factor * pivot[c]);
            }
        }
    }
    let mut out = vec![C::new(0.0, 0.0); n];
    for k in (0..n).rev() {
        let sum: C = (k + 1..n).map(|c| rows[k][c] * out[c]).sum();
        out[k] = (rows[k][n] - sum) / rows[k][k];
    }
    out
}

/// Jumps of displacement and of traction at the depth of a source, along k and z (or across).
type Jumps = [[C; 2]; 2];

/// The layers at one wavenumber and frequency, divided at the depth of the source, and the equations between them.
struct System<'a> {
    stack: &'a Stack<'a>,
    across: bool,
    /// Depths where pieces meet.
    ends: Vec<f64>,
    /// Each piece with its rock, its waves, and the index of its first wave.
    pieces: Vec<(usize, Vec<Wave>, usize)>,
    /// Number of all waves.
    waves: usize,
    /// Factor that scales tractions to the size of displacements.
    unit: f64,
    rows: Vec<Vec<C>>,
}

impl<'a> System<'a> {
    fn new(stack: &'a Stack<'a>, depth: f64, (k, w): (f64, C), across: bool) -> Self {
        let mut ends = stack.interfaces.to_vec();
        if !(stack.surface && depth == 0.0) {
            ends.push(depth);
            ends.sort_by(f64::total_cmp);
        }
        let above = if stack.surface { 0.0 } else { f64::NEG_INFINITY };
        let bounds = [&[above][..], &ends[..], &[f64::INFINITY][..]].concat();
        let (mut pieces, mut waves) = (Vec::new(), 0);
        for b in bounds.windows(2) {
            let inside = match (b[0].is_finite(), b[1].is_finite()) {
                (true, true) => 0.5 * (b[0] + b[1]),
                (true, false) => b[0] + 1.0,
                _ => b[1] - 1.0,
            };
            let rock = stack.rock_at(inside);
            let of = &stack.rocks[rock];
            let of_layer = waves_of(of, of.moduli(stack.reference, w), [b[0], b[1]], (k, w), across);
            waves += of_layer.len();
            let first = waves - of_layer.len();
            pieces.push((rock, of_layer, first));
        }
        Self {
            stack,
            across,
            ends,
            pieces,
            waves,
            unit: 1.0 / (stack.rocks[0].rho * stack.rocks[0].speeds[0] * w.norm()),
            rows: Vec::new(),
        }
    }

    fn is_fluid(&self, piece: usize) -> bool {
        !self.across && self.stack.rocks[self.pieces[piece].0].is_fluid()
    }

    /// Adds an equation: traction or displacement, along k (or across) or along z, of the waves of some pieces at a
    /// depth, with signs, equals the right-hand side.
    fn row(&mut self, parts: &[(usize, f64)], z: f64, (traction, way): (bool, usize), right: C) {
        let mut row = vec![C::new(0.0, 0.0); self.waves + 1];
        let scale = if traction { self.unit } else { 1.0 };
        for &(piece, sign) in parts {
            let (_, waves, first) = &self.pieces[piece];
            for (c, wave) in waves.iter().enumerate() {
                let of = if traction { wave.traction } else { wave.u };
                row[first + c] = sign * scale * of[way] * wave.at(z);
            }
        }
        row[self.waves] = scale * right;
        self.rows.push(row);
    }

    /// Adds the equations for all interfaces, with these jumps at the depth of the source.
    fn join(&mut self, depth: f64, jumps: &Jumps) {
        let none = C::new(0.0, 0.0);
        let ways: &[usize] = if self.across { &[0] } else { &[0, 1] };
        let at_top = self.stack.surface && depth == 0.0;
        if self.stack.surface {
            let free: &[usize] = if self.is_fluid(0) { &[1] } else { ways };
            for &way in free {
                self.row(
                    &[(0, 1.0)],
                    0.0,
                    (true, way),
                    if at_top { jumps[1][way] } else { none },
                );
            }
        }
        for (j, z) in self.ends.clone().into_iter().enumerate() {
            let right = |kind: usize, way: usize| {
                if z == depth && !at_top {
                    jumps[kind][way]
                } else {
                    none
                }
            };
            for &way in ways {
                // Along an interface with a fluid, displacement may jump and traction is zero.
                if way == 0 && (self.is_fluid(j) || self.is_fluid(j + 1)) {
                    let solids = [j, j + 1].into_iter().filter(|&piece| !self.is_fluid(piece));
                    for solid in solids.collect::<Vec<_>>() {
                        self.row(&[(solid, 1.0)], z, (true, 0), none);
                    }
                    continue;
                }
                let both = [(j + 1, 1.0), (j, -1.0)];
                self.row(&both, z, (false, way), right(0, way));
                self.row(&both, z, (true, way), right(1, way));
            }
        }
    }

    /// Displacement at some depths.
    fn displacement(self, depths: &[f64]) -> Vec<[C; 2]> {
        let amplitudes = solved(self.rows);
        let at = |&z: &f64| {
            let (_, waves, first) = &self.pieces[self.ends.iter().filter(|&&d| z > d).count()];
            let mut u = [C::new(0.0, 0.0); 2];
            for (c, wave) in waves.iter().enumerate() {
                let amount = amplitudes[first + c] * wave.at(z);
                (0..2).for_each(|way| u[way] += amount * wave.u[way]);
            }
            u
        };
        depths.iter().map(at).collect()
    }
}

/// Displacement at some depths, for one wavenumber and frequency.
fn response(
    stack: &Stack<'_>,
    (depth, jumps): (f64, Jumps),
    at: (f64, C),
    across: bool,
    depths: &[f64],
) -> Vec<[C; 2]> {
    let mut system = System::new(stack, depth, at, across);
    system.join(depth, &jumps);
    system.displacement(depths)
}

/// The term of one wavenumber in the sum: displacement along z, away from the source, and across.
fn of_wavenumber(stack: &Stack<'_>, shot: &Shot<'_>, (k, w): (f64, C), depths: &[f64]) -> Vec<[C; 3]> {
    let none = [C::new(0.0, 0.0); 2];
    let one = C::new(1.0, 0.0);
    let jumps = match shot.source {
        Source::Force => [none, [none[0], -one]],
        Source::Twist => [none, [-one, none[0]]],
        Source::Explosion => {
            let rock = stack.rocks[stack.rock_at(shot.depth)];
            assert!(rock.is_fluid(), "explosions are for fluids here");
            [[none[0], 1.0 / rock.moduli(stack.reference, w)[0]], none]
        }
    };
    let plane = response(stack, (shot.depth, jumps), (k, w), false, depths);
    let across = match shot.source {
        Source::Twist => response(stack, (shot.depth, jumps), (k, w), true, depths),
        _ => vec![none; depths.len()],
    };
    plane
        .iter()
        .zip(across)
        .map(|(u, v)| [u[1], u[0], v[0]])
        .collect()
}

/// Factors for one receiver at one wavenumber, from (z, away, across) to (z, x, y).
fn weights(shot: &Shot<'_>, k: f64, [_, x, y]: [f64; 3]) -> [[C; 3]; 3] {
    let (i, none) = (C::new(0.0, 1.0), C::new(0.0, 0.0));
    let line = |v: f64| C::new(v / PI, 0.0);
    if shot.ndim == 2 {
        assert!(shot.source != Source::Twist, "a line along y has no such moment");
        let (sin, cos) = (k * x).sin_cos();
        return [[line(cos), none, none], [none, i * line(sin), none], [none; 3]];
    }
    let r = x.hypot(y);
    let (s, c) = if r > 0.0 { (y / r, x / r) } else { (0.0, 1.0) };
    let bessel = |n: i32| libm::jn(n, k * r) * k / TAU;
    // The components are along z, away from the source, and around it.
    let (z, away, around) = match shot.source {
        Source::Twist => {
            let (sin, cos) = (2.0 * s * c, c * c - s * s);
            let (sum, difference) = (bessel(1) + bessel(3), bessel(1) - bessel(3));
            let half = 0.5 * k;
            (
                i * k * bessel(2) * sin,
                [half * sin * difference, half * sin * sum],
                [half * cos * sum, half * cos * difference],
            )
        }
        _ => (C::new(bessel(0), 0.0), [0.0; 2], [0.0; 2]),
    };
    if shot.source != Source::Twist {
        let out = i * bessel(1);
        return [[z, none, none], [none, c * out, none], [none, s * out, none]];
    }
    let turn = |a: f64, b: f64, way: usize| C::new(a * away[way] + b * around[way], 0.0);
    [
        [z, none, none],
        [none, turn(c, -s, 0), turn(c, -s, 1)],
        [none, turn(s, c, 0), turn(s, c, 1)],
    ]
}

/// Traces at receivers (z, x, y): `[receiver][component z, x, y][sample]`.
pub fn traces(stack: &Stack<'_>, shot: &Shot<'_>, receivers: &[[f64; 3]]) -> Vec<[Vec<f64>; 3]> {
    let speeds = || stack.rocks.iter().flat_map(|r| r.speeds).filter(|&c| c > 0.0);
    let (fastest, slowest) = (speeds().max_by(f64::total_cmp), speeds().min_by(f64::total_cmp));
    let [fastest, slowest] = [fastest, slowest].map(|speed| speed.expect("a rock"));
    let end = shot.first + shot.nt as f64 * shot.dt;
    let away = |r: &[f64; 3]| r[1].hypot(r[2]);
    let farthest = receivers
        .iter()
        .map(away)
        .max_by(f64::total_cmp)
        .expect("a receiver");
    // The sum repeats the source at distances from which no wave arrives in time, and the record after twice its
    // length.
    let dk = TAU / (farthest + 2.0 * fastest * end);
    let dw = PI / end;
    let fading = 1e4f64.ln() / (2.0 * end);
    // If source and receivers are at the same depth, the sum over large wavenumbers does not converge by itself: it is
    // tapered beyond all waves, smoothly for the nearest receiver.
    let nearest = receivers
        .iter()
        .map(|r| away(r).hypot(r[0] - shot.depth))
        .fold(f64::INFINITY, f64::min);
    let flat = |w: f64| 3.0 * w / slowest + 40.0 / nearest;
    let steps = |w: f64| (2.5 * flat(w) / dk) as usize;
    let table: Vec<Vec<[[C; 3]; 3]>> = (0..=steps(shot.highest))
        .map(|m| {
            receivers
                .iter()
                .map(|&r| weights(shot, m as f64 * dk, r))
                .collect()
        })
        .collect();
    let depths: Vec<f64> = receivers.iter().map(|r| r[0]).collect();
    let mut out = vec![[0, 1, 2].map(|_| vec![0.0; shot.nt]); receivers.len()];
    for n in 0..=(shot.highest / dw) as usize {
        let w = C::new(n as f64 * dw, -fading);
        let mut sums = vec![[C::new(0.0, 0.0); 3]; receivers.len()];
        for (m, weights) in table.iter().enumerate().take(steps(w.re) + 1) {
            // At k = 0 some waves vanish, so a small wavenumber is used.
            let k = (m as f64).max(1e-3) * dk;
            let faded = ((k / flat(w.re) - 1.0) / 1.5).clamp(0.0, 1.0);
            let spread = (-0.25 * k * k * shot.bell).exp();
            let share = (0.5 * PI * faded).cos().powi(2) * spread * if m == 0 { 0.5 } else { 1.0 };
            for ((sum, u), weights) in sums
                .iter_mut()
                .zip(of_wavenumber(stack, shot, (k, w), &depths))
                .zip(weights)
            {
                for (to, from) in sum.iter_mut().zip(weights) {
                    *to += share * dk * (0..3).map(|c| from[c] * u[c]).sum::<C>();
                }
            }
        }
        let share = (shot.spectrum)(w) * dw / PI * if n == 0 { 0.5 } else { 1.0 };
        let i = C::new(0.0, 1.0);
        let (start, turning) = ((i * w * shot.first).exp(), (i * w * shot.dt).exp());
        for (sum, out) in sums.iter().zip(&mut out) {
            for (sum, out) in sum.iter().zip(out) {
                let mut turn = sum * share * start;
                for sample in out.iter_mut() {
                    *sample += turn.re;
                    turn *= turning;
                }
            }
        }
    }
    out
}
