//! Attenuation by memory variables: `s' = c_U e' + sum_l r_l`, `tau_l r_l' = -r_l - w_l (phi c_U) e'` for every stress
//! (Robertsson et al. 1994; coarse-grained: Day & Bradley 2001), each advanced by a step that is centred in time.

use super::Shot;
use super::layout::{fields, stress};
use super::medium::{OnPlanes, Staggered};
use super::rows::STRESSES;
use super::stress_rows::{Loss as RowLoss, Pattern};
use crate::device::{
    cpu::{Buffer, Cpu},
    simd::Real,
};
use crate::grid::{PITCH, Padded};
use crate::medium::attenuation::{Law, Loss, Mechanisms};
use crate::medium::voigt::slot;
use crate::medium::{Coefficients, Medium, Symmetry, lines_of_plane, needed, plane_names};
use crate::{Error, Hint, message};
use std::collections::HashMap;
use std::sync::Arc;

/// Quality factors of a model and the approximation of constant Q.
#[derive(Clone, Debug)]
pub struct Attenuation {
    /// Q of P waves in file order, or one number for all cells; 0 or infinity means no attenuation.
    pub qp: Arc<[f32]>,
    /// Q of S waves, in the same form as `qp`.
    pub qs: Arc<[f32]>,
    /// The relaxation mechanisms.
    pub mechanisms: Mechanisms,
    /// Band of frequencies in Hz in which Q is constant.
    pub band: [f64; 2],
    /// Frequency in Hz at which the model's speeds hold.
    pub reference: f64,
}

impl Attenuation {
    /// The relaxation law of a run in `ndim` dimensions, fitted to the mean loss (1/Q) of its cells.
    pub fn law(&self, ndim: usize) -> Law {
        let finite = || {
            self.qp
                .iter()
                .chain(&*self.qs)
                .filter(|q| q.is_finite() && **q > 0.0)
        };
        let lost: f64 = finite().map(|&q| 1.0 / f64::from(q)).sum();
        let typical = if lost > 0.0 {
            finite().count() as f64 / lost
        } else {
            100.0
        };
        self.law_of(typical, ndim)
    }

    /// The relaxation law for cells of one Q.
    fn law_of(&self, q: f64, ndim: usize) -> Law {
        let count = match self.mechanisms {
            Mechanisms::Everywhere(n) => n,
            Mechanisms::Coarse => 1 << ndim,
        };
        Law::new(count, self.band, self.reference, q)
    }

    /// Memory variables per stress and cell.
    pub fn variables(&self) -> usize {
        match self.mechanisms {
            Mechanisms::Everywhere(n) => n,
            Mechanisms::Coarse => 1,
        }
    }

    /// The ratio of the fastest unrelaxed speed to the fastest speed of the model: stiffness grows with frequency.
    pub fn quickening(&self, ndim: usize) -> f64 {
        let law = self.law(ndim);
        let finite = self
            .qp
            .iter()
            .chain(&*self.qs)
            .filter(|q| q.is_finite() && **q > 0.0);
        let lowest = finite.copied().fold(f32::INFINITY, f32::min);
        law.loss(f64::from(lowest)).unrelaxed.max(1.0).sqrt()
    }

    /// Refuses coarse-grained mechanisms for cells whose Q is too low: the single mechanism of a cell replaces all
    /// mechanisms, so the relaxed stiffness would fall below zero and waves would grow.
    ///
    /// # Errors
    /// Returns an error that names the lowest possible Q.
    fn check_coarse(&self, ndim: usize) -> Result<(), Error> {
        if self.mechanisms != Mechanisms::Coarse {
            return Ok(());
        }
        let grows = |law: &Law, q: f64| {
            let share = law.weights.len() as f64 * law.weights.iter().copied().fold(0.0, f64::max);
            law.loss(q).phi * share >= 1.0
        };
        let law = self.law(ndim);
        let lossy = || self.qp.iter().chain(&*self.qs).copied().filter(|q| *q > 0.0);
        let lowest = f64::from(lossy().fold(f32::INFINITY, f32::min));
        if !grows(&law, lowest) {
            return Ok(());
        }
        // A few cells of low Q hardly affect the law, but in a uniform model the law depends entirely on its Q.
        let uniform = lossy().all(|q| f64::from(q) == lowest);
        let would_grow = |q: f64| match uniform {
            true => grows(&self.law_of(q, ndim), q),
            false => grows(&law, q),
        };
        let possible = (1..200).find(|&q| f64::from(q) > lowest && !would_grow(f64::from(q)));
        Err(Error::setup(message![
            Hint::CoarseMechanisms,
            format!(
                " make waves grow where Q is {lowest}: use Q of {} or more, or ",
                possible.unwrap_or(200)
            ),
            Hint::ThreeMechanisms,
        ]))
    }

    /// Refuses quality factors and bands that are invalid for the model of this grid or make waves grow.
    pub fn check(&self, padded: &Padded) -> Result<(), Error> {
        let cells = padded.model.cells();
        for (name, q) in [(Hint::QualityOfP, &self.qp), (Hint::QualityOfS, &self.qs)] {
            if q.len() != 1 && q.len() != cells {
                return Err(Error::setup(message![
                    name,
                    format!(
                        " has {} values for {cells} cells: give one for each cell, or a single one for all",
                        q.len()
                    ),
                ]));
            }
            if let Some(bad) = q.iter().position(|q| q.is_nan() || *q < 0.0) {
                return Err(Error::setup(message![
                    name,
                    format!(
                        " has the value {} at cell {bad}: quality factors must be positive, or 0 for no attenuation",
                        q[bad]
                    ),
                ]));
            }
        }
        let [low, high] = self.band;
        if !(low > 0.0 && high >= low && high.is_finite() && self.reference > 0.0) {
            return Err(Error::setup(format!(
                "the band of constant Q is {} to {} Hz with the reference {} Hz: they must be positive and in this order",
                low as f32, high as f32, self.reference as f32
            )));
        }
        if let Mechanisms::Everywhere(n) = self.mechanisms
            && !(1..=4).contains(&n)
        {
            return Err(Error::setup(format!("{n} mechanisms: 1 to 4 are possible")));
        }
        self.check_coarse(padded.ndim())
    }
}

/// The attenuation data that the slabs of a run share.
pub(super) struct Relaxation<T> {
    /// Relaxing stiffness.
    weak: Staggered<T>,
    /// Patterns `[parity of the plane][mechanism][parity of the row]`.
    patterns: [Vec<[Pattern<T>; 2]>; 2],
}

impl<T: Real> Relaxation<T> {
    /// Turns the medium, whose speeds hold at the reference frequency, into the unrelaxed one on the prepared planes.
    /// Also returns the relaxing part of the medium on the nodes.
    pub fn new(
        raw: &mut Medium<T>,
        class: Symmetry,
        (losses, shot): (&Attenuation, &Shot),
        on: OnPlanes<'_>,
    ) -> Result<(Self, Medium<T>), Error> {
        let padded = raw.padded().clone();
        losses.check(&padded)?;
        let law = losses.law(padded.ndim());
        let weak = split(raw, losses, &law, on)?;
        let relaxation = Self {
            weak: Staggered::relaxing(&weak, class, (shot.dt, shot.shears_in_place), on)?,
            patterns: [0, 1].map(|plane| patterns(&law, losses.mechanisms, padded.ndim(), plane, shot.dt)),
        };
        Ok((relaxation, weak))
    }

    /// Memory variables per stress and cell.
    pub fn mechanisms(&self) -> usize {
        self.patterns[0].len()
    }

    /// `dt` times the relaxing stiffness of one place in [`super::rows::PAIR`].
    pub fn stiffness(&self, place: usize) -> &[T] {
        self.weak.stiffness(place)
    }

    /// Coefficients of the mechanisms, by parity of the plane, by mechanism, by parity of the row.
    pub fn patterns(&self) -> &[Vec<[Pattern<T>; 2]>; 2] {
        &self.patterns
    }

    /// Bytes of the relaxing stiffness.
    pub fn bytes(&self) -> usize {
        self.weak.bytes()
    }

    /// Memory variables of zero for `planes` planes, `[mechanism][stress][plane][row][z]`.
    pub fn memory(&self, padded: &Padded, planes: usize) -> Result<Buffer<T>, Error> {
        let stresses = fields(padded.ndim()) - padded.ndim();
        Buffer::zeroed(self.mechanisms() * stresses * planes * padded.plane_len())
    }

    /// The attenuation data of a plane, with the memory variables that begin at `memory`; `local` is the index at
    /// which the plane begins in an array of length `len`, `global` the index in the medium.
    pub fn plane(
        &self,
        padded: &Padded,
        memory: *mut T,
        (len, local, global): (usize, usize, usize),
        plane: usize,
    ) -> RowLoss<'_, T> {
        let ndim = padded.ndim();
        let number = |k: usize| {
            if ndim == 3 || k.is_multiple_of(2) {
                stress(ndim, k) - ndim
            } else {
                0
            }
        };
        let r: [*mut T; STRESSES] = std::array::from_fn(|k| memory.wrapping_add(number(k) * len + local));
        RowLoss {
            r,
            mechanism: (fields(ndim) - ndim) * len,
            patterns: &self.patterns[plane & 1],
            c: std::array::from_fn(|k| self.weak.stiffness(k)[global..].as_ptr()),
        }
    }
}

/// Coefficients of every mechanism on an odd or even plane.
pub(super) fn patterns<T: Real>(
    law: &Law,
    mechanisms: Mechanisms,
    ndim: usize,
    plane: usize,
    dt: f64,
) -> Vec<[Pattern<T>; 2]> {
    let step = |k: usize, share: f64| {
        let half = 0.5 * dt / law.times[k];
        [
            (1.0 - half) / (1.0 + half),
            2.0 * half * share * law.weights[k] / (1.0 + half),
        ]
    };
    let make = |which: &dyn Fn(usize) -> usize, share: f64| Pattern {
        keep: std::array::from_fn::<T, PITCH, _>(|z| T::of(step(which(z), share)[0])),
        take: std::array::from_fn::<T, PITCH, _>(|z| T::of(step(which(z), share)[1])),
    };
    match mechanisms {
        Mechanisms::Everywhere(n) => (0..n).map(|k| [make(&|_| k, 1.0); 2]).collect(),
        Mechanisms::Coarse => {
            let all = 1 << ndim;
            let cell = |row: usize| {
                let across = if ndim == 3 { 2 * row + 4 * plane } else { 2 * plane };
                make(&move |z| z % 2 + across, f64::from(all))
            };
            vec![[cell(0), cell(1)]]
        }
    }
}

/// A cache of losses by quality factor. Neighbouring cells tend to have the same Q, so the last one is tried first.
struct Known<'a> {
    law: &'a Law,
    last: Option<(u32, Loss)>,
    losses: HashMap<u32, Loss>,
}

impl<'a> Known<'a> {
    fn new(law: &'a Law) -> Self {
        Self {
            law,
            last: None,
            losses: HashMap::new(),
        }
    }

    /// The loss of a cell; `q` contains the quality factor of every cell, or one for all cells.
    fn loss(&mut self, q: &[f32], cell: usize) -> Loss {
        let q = if q.len() == 1 { q[0] } else { q[cell] };
        match self.last {
            Some((bits, loss)) if bits == q.to_bits() => loss,
            _ => {
                let new = || self.law.loss(f64::from(q));
                let loss = *self.losses.entry(q.to_bits()).or_insert_with(new);
                self.last = Some((q.to_bits(), loss));
                loss
            }
        }
    }
}

/// Number of values processed at once.
const BLOCK: usize = 4 << 20;

/// Makes a medium unrelaxed where the `prepared` planes of the grid need it, and returns its relaxing part.
fn split<T: Real>(
    raw: &mut Medium<T>,
    losses: &Attenuation,
    law: &Law,
    OnPlanes { cpu, prepared, .. }: OnPlanes<'_>,
) -> Result<Medium<T>, Error> {
    let padded = raw.padded().clone();
    let (nz, rows) = (padded.model.n[0], lines_of_plane(&padded));
    let mut weak = Medium::part(&padded, raw.planes())?;
    let arrays = plane_names(padded.ndim()).len() + 1;
    let (held, needed_planes) = (raw.planes(), needed(&padded, prepared));
    let (first, end) = (
        held.start.max(needed_planes.start) * rows,
        held.end.min(needed_planes.end) * rows,
    );
    let most = (BLOCK / (nz * arrays)).clamp(1, end - first);
    let mut unrelaxed = vec![T::of(0.0); arrays * most * nz];
    let mut relaxing = unrelaxed.clone();
    for line in (first..end).step_by(most) {
        let len = arrays * most.min(end - line) * nz;
        let (unrelaxed, relaxing) = (&mut unrelaxed[..len], &mut relaxing[..len]);
        raw.copy_lines(line, unrelaxed);
        let split = Split {
            padded: &padded,
            losses,
            law,
        };
        split.lines(line, unrelaxed, relaxing, cpu);
        raw.fill_all(cpu, line, unrelaxed);
        weak.fill_all(cpu, line, relaxing);
    }
    Ok(weak)
}

/// Splits a medium into an unrelaxed and a relaxing medium. Normal stiffnesses relax like P waves and shear stiffnesses
/// like S waves; a coupling `c13 = (c13 + 2 c55) - 2 c55` has a part of each kind.
pub(super) struct Split<'a> {
    pub padded: &'a Padded,
    pub losses: &'a Attenuation,
    pub law: &'a Law,
}

impl Split<'_> {
    /// Makes lines of the medium unrelaxed and writes their relaxing part, the first being line `first` of the model;
    /// both are `[stiffness in memory order, density][line][z]`.
    pub fn lines<T: Real>(&self, first: usize, lines: &mut [T], relaxing: &mut [T], cpu: &Cpu) {
        use rayon::prelude::*;
        let nz = self.padded.model.n[0];
        let arrays = plane_names(self.padded.ndim()).len() + 1;
        let array = lines.len() / arrays;
        // The unrelaxed and the relaxing part of each line, `[array][z]`.
        let from = &*lines;
        let parts: Vec<[Vec<T>; 2]> = cpu.install(|| {
            let each = (0..array / nz).into_par_iter();
            let start = || [Known::new(self.law), Known::new(self.law)];
            let line = |known: &mut [Known<'_>; 2], line: usize| {
                let c = |k: usize, z: usize| from[k * array + line * nz + z];
                split_line(self.padded, self.losses, known, first + line, &c)
            };
            each.map_init(start, line).collect()
        });
        for (k, to) in [lines, relaxing].into_iter().enumerate() {
            cpu.install(|| {
                let each = to.par_chunks_mut(array).enumerate();
                each.for_each(|(a, values)| {
                    let lines = values.chunks_mut(nz).zip(&parts);
                    lines.for_each(|(to, part)| to.copy_from_slice(&part[k][a * nz..(a + 1) * nz]));
                });
            });
        }
    }
}

/// The unrelaxed and the relaxing part of line `line` of the model, `[stiffness in memory order, density][z]`, from
/// its values `c(k, z)`.
fn split_line<T: Real>(
    padded: &Padded,
    losses: &Attenuation,
    [known_p, known_s]: &mut [Known<'_>; 2],
    line: usize,
    c: &dyn Fn(usize, usize) -> T,
) -> [Vec<T>; 2] {
    let (ndim, nz) = (padded.ndim(), padded.model.n[0]);
    let pairs = Coefficients::Orthorhombic.table(ndim).pairs;
    let planes = pairs.len();
    let mut parts = [(); 2].map(|()| vec![T::of(0.0); (planes + 1) * nz]);
    for z in 0..nz {
        let cell = line * nz + z;
        let (p, s) = (known_p.loss(&losses.qp, cell), known_s.loss(&losses.qs, cell));
        let c = |k: usize| c(k, z).f64();
        for (part, [p, s]) in parts.iter_mut().zip([
            [p.unrelaxed, s.unrelaxed],
            [p.unrelaxed * p.phi, s.unrelaxed * s.phi],
        ]) {
            for (k, &(i, j)) in pairs.iter().enumerate() {
                part[k * nz + z] = T::of(if i != j {
                    let shear = c(slot(ndim, (9 - i - j, 9 - i - j)));
                    p * (c(k) + 2.0 * shear) - 2.0 * s * shear
                } else if i > 3 {
                    s * c(k)
                } else {
                    p * c(k)
                });
            }
            part[planes * nz + z] = T::of(c(planes));
        }
    }
    parts
}
