//! Images of several kinds, with lags in space.
//!
//! An image is a sum over the steps of fields of the shot times fields of the data, which go backward in time, at the same place, or
//! (Sava and Fomel 2006) a lag `h` before it and behind it: `I(x, h) = sum a(x - h) b(x + h)`. Fields of the shot are kept on the way
//! forward ([`Film`]). What is multiplied, by [`Kind`]:
//!
//! - PP: the pressures (Claerbout 1971). Normal stresses know P waves alone in an isotropic medium. The tape has their rates `e_k` in
//!   the shot, so the correlation at equal times is summed by parts: `sum_n p_n q_n = sum_k e_k sum_(n >= k) q_n`, the inner sum being
//!   made on the way back. `q` is the pressure that waits, `sum c_ta g_aa` for what waits for the stresses
//! - PS, SP: the force of P waves and that of S waves, as vectors. Both turn around with the angle of incidence, so their product has
//!   one sign on both sides of a source, at any dip (Wang and McMechan 2015)
//! - SS: rotations
//! - energy: stresses less velocities, times what waits for them. That is the potential less the kinetic energy of both waves, which is
//!   nothing where they go the same way, and so has no trace of waves that were not reflected (Rocha, Tanushev and Sava 2016)
//!
//! Fields that lie between nodes are multiplied there, and the products averaged to the nodes at the end.

use super::grid::Shared;
use super::ladder::Ladder;
use super::program::{Discrete, State, Tape};
use super::{Born, Number, gpu};
use crate::Error;
use crate::methods::velocity_stress::layout::velocity;

/// What an image is made of: waves of the shot, then waves of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// P waves by P waves.
    Pp,
    /// P waves by S waves.
    Ps,
    /// S waves by P waves.
    Sp,
    /// S waves by S waves.
    Ss,
    /// All waves by all waves, in the norm of the energy.
    Energy,
}

impl Kind {
    /// Whether it takes P and S waves apart, which goes in isotropic media only.
    pub fn separates(self) -> bool {
        matches!(self, Self::Ps | Self::Sp | Self::Ss)
    }

    /// Where impedances grow, waves change their kind with the other sign than waves that keep it.
    pub(super) fn sign(self) -> f64 {
        match self {
            Self::Ps | Self::Sp => -1.0,
            _ => 1.0,
        }
    }
}

/// An image of a kind on the cells of the model, in file order.
pub struct Picture<T> {
    /// `[lag][cell]`
    pub image: Vec<T>,
    /// The squares of the shot's fields, summed over the steps, `[cell]`.
    pub light: Vec<T>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Kinds in the order of the answer.
    pub kinds: Vec<Kind>,
    /// Lags in cells along z, x, y.
    pub lags: Vec<[isize; 3]>,
}

impl Wanted {
    /// The image of P waves by P waves alone, without lags.
    pub fn plain() -> Self {
        Self {
            kinds: vec![Kind::Pp],
            lags: vec![[0; 3]],
        }
    }

    /// Lags along the axes of the grid: z, rows, planes.
    pub(super) fn along(&self, ndim: usize) -> impl Iterator<Item = [isize; 3]> + '_ {
        self.lags.iter().map(move |&[z, x, y]| match ndim {
            3 => [z, x, y],
            _ => [z, 0, x],
        })
    }
}

/// A field between the nodes: by axis (z, row, plane) whether half a cell beyond them.
type Half = [bool; 3];

/// Fields of the shot after a step, by kind, each behind each other.
#[derive(Clone)]
struct Film<T>(Vec<Vec<T>>);

/// The sums of a kind.
struct Sums<T> {
    kind: Kind,
    halves: Vec<Half>,
    /// `[lag][field]` fields.
    images: Vec<Vec<Vec<T>>>,
    /// `[field]`
    light: Vec<Vec<T>>,
}

/// Images in the making.
pub struct Imaging<T> {
    sums: Vec<Sums<T>>,
    /// Lags along the axes of the grid: z, rows, planes.
    lags: Vec<[isize; 3]>,
    films: Vec<Film<T>>,
    /// The share of the normal stresses that is the potential of P waves.
    share: Vec<T>,
    /// The pressure that waits, summed over the steps so far.
    later: Vec<T>,
}

impl<T: Number> Imaging<T> {
    /// Room for what is wanted, and for so many steps.
    pub fn new(program: &Discrete<T>, wanted: &Wanted, steps: usize) -> Self {
        let len = program.rows.len;
        let zeros = |fields: usize| vec![vec![T::of(0.0); len]; fields];
        let sums = wanted.kinds.iter().map(|&kind| {
            let halves = halves(program, kind);
            Sums {
                kind,
                images: wanted.lags.iter().map(|_| zeros(halves.len())).collect(),
                light: zeros(halves.len()),
                halves,
            }
        });
        Self {
            sums: sums.collect(),
            lags: wanted.along(program.ndim()).collect(),
            films: vec![Film(Vec::new()); steps],
            share: program.share_of_pressure(),
            later: vec![T::of(0.0); len],
        }
    }

    /// Keeps what the shot has after step number `at` of a segment.
    pub fn film(&mut self, program: &Discrete<T>, state: &State<T>, tape: &Tape<T>, at: usize) {
        let kinds: Vec<Kind> = self.sums.iter().map(|sums| sums.kind).collect();
        let [of_p, of_s] = self.forces(program, &state.stress);
        // The pressure that shines is the mean of the normal stresses.
        let mean = 1.0 / program.ndim() as f64;
        let fields = |kind: &Kind| match kind {
            // What is multiplied, and what shines.
            Kind::Pp => [
                normal(program, &tape.strain, 1.0),
                normal(program, &state.stress, mean),
            ]
            .concat(),
            Kind::Ps => of_p.clone(),
            Kind::Sp => of_s.clone(),
            Kind::Ss => program.rotation(&state.velocity),
            Kind::Energy => {
                let mut all = state.velocity.clone();
                all.iter_mut().for_each(|v| *v = T::of(0.0) - *v);
                all.extend_from_slice(&state.stress);
                all
            }
        };
        let film: Vec<Vec<T>> = kinds.iter().map(fields).collect();
        self.films[at] = Film(film);
    }

    /// The forces of P and S waves, where a kind needs them.
    fn forces(&self, program: &Discrete<T>, stress: &[T]) -> [Vec<T>; 2] {
        match self
            .sums
            .iter()
            .any(|sums| matches!(sums.kind, Kind::Ps | Kind::Sp))
        {
            true => program.forces(stress, &self.share),
            false => [Vec::new(), Vec::new()],
        }
    }

    /// Adds what step number `at` of a segment has of the images, with what waits for the fields behind it.
    pub fn correlate(&mut self, program: &Discrete<T>, waits: &State<T>, at: usize) {
        let len = program.rows.len;
        let stress = program.stress_of_waiting(waits);
        let [of_p, of_s] = self.forces(program, &stress);
        add_normal(program, &stress, 1.0, &mut self.later);
        for (sums, shot) in self.sums.iter_mut().zip(&self.films[at].0) {
            let turned;
            let fields: Vec<&[T]> = match sums.kind {
                Kind::Pp => vec![&self.later],
                Kind::Ps => of_s.chunks_exact(len).collect(),
                Kind::Sp => of_p.chunks_exact(len).collect(),
                Kind::Ss => {
                    turned = program.rotation(&program.velocity_of_waiting(waits));
                    turned.chunks_exact(len).collect()
                }
                Kind::Energy => waits
                    .velocity
                    .chunks_exact(len)
                    .chain(waits.stress.chunks_exact(len))
                    .collect(),
            };
            // On the way back steps come in one order, whatever the memory.
            let shining = match sums.kind {
                Kind::Pp => &shot[len..],
                // Stresses have another unit than velocities, and as much of the energy.
                Kind::Energy => &shot[..program.ndim() * len],
                _ => &shot[..],
            };
            for (light, own) in sums.light.iter_mut().zip(shining.chunks_exact(len)) {
                correlate(program, (own, own), [0; 3], light);
            }
            for (lag, images) in self.lags.iter().zip(&mut sums.images) {
                let pairs = shot.chunks_exact(len).zip(&fields);
                for (image, (own, other)) in images.iter_mut().zip(pairs) {
                    correlate(program, (own, other), *lag, image);
                }
            }
        }
    }

    /// The pictures on the cells of the model.
    pub fn finish(self, program: &Discrete<T>) -> Vec<Picture<T>> {
        let picture = |sums: Sums<T>| {
            let sign = T::of(sums.kind.sign());
            let together = |fields: &[Vec<T>], sign: T| {
                let mut all = vec![T::of(0.0); program.rows.len];
                for (field, half) in fields.iter().zip(&sums.halves) {
                    add_to_nodes(program, field, (*half, sign), &mut all);
                }
                program.model_of(&all)
            };
            Picture {
                image: sums
                    .images
                    .iter()
                    .flat_map(|fields| together(fields, sign))
                    .collect(),
                light: together(&sums.light, T::of(1.0)),
            }
        };
        self.sums.into_iter().map(picture).collect()
    }
}

impl<T: Number> Discrete<T> {
    /// A field on the cells of the model, in file order.
    pub fn model_of(&self, field: &[T]) -> Vec<T> {
        let (rows, p) = (&self.rows, &self.rows.padded);
        let last = self.ndim() - 1;
        let lines = match self.ndim() {
            3 => p.low[1]..p.low[1] + p.model.n[1],
            _ => 0..1,
        };
        let mut model = Vec::with_capacity(p.model.cells());
        for plane in p.low[last]..p.low[last] + p.model.n[last] {
            for row in lines.clone() {
                model.extend_from_slice(&field[rows.at(plane, row) + p.low[0]..][..p.model.n[0]]);
            }
        }
        model
    }
}

/// Where the fields of a kind lie.
pub(super) fn halves<T: Number>(program: &Discrete<T>, kind: Kind) -> Vec<Half> {
    let half = |axes: &[usize]| [0, 1, 2].map(|axis| axes.contains(&axis));
    let velocities = || {
        let mut axes = program.rows.axes().to_vec();
        axes.sort_by_key(|&axis| velocity(program.ndim(), axis));
        axes.into_iter().map(|axis| half(&[axis])).collect::<Vec<_>>()
    };
    let turns = || program.turns().iter().map(|pair| half(pair)).collect::<Vec<_>>();
    match kind {
        Kind::Pp => vec![half(&[])],
        Kind::Ps | Kind::Sp => velocities(),
        Kind::Ss => turns(),
        Kind::Energy => {
            let normal = vec![half(&[]); program.ndim()];
            [velocities(), normal, turns()].concat()
        }
    }
}

/// `share` times the sum of the fields of all axes, which come first: of normal strains or stresses.
fn normal<T: Number>(program: &Discrete<T>, fields: &[T], share: f64) -> Vec<T> {
    let mut sum = vec![T::of(0.0); program.rows.len];
    add_normal(program, fields, share, &mut sum);
    sum
}

/// Adds `share` times the sum of the fields of all axes.
fn add_normal<T: Number>(program: &Discrete<T>, fields: &[T], share: f64, sum: &mut [T]) {
    let (rows, n, share) = (&program.rows, program.rows.z.len(), T::of(share));
    let to = Shared::new(sum);
    rows.each(&program.cpu, 0, |_, plane, row| {
        let first = rows.at(plane, row) + rows.z.start;
        // SAFETY: every row of the fields belongs to one call.
        let sum = unsafe { to.row(first, n) };
        for field in fields.chunks_exact(rows.len).take(program.ndim()) {
            sum.iter_mut()
                .zip(&field[first..])
                .for_each(|(sum, x)| *sum += share * *x);
        }
    });
}

/// Cells `x` of a range for which `x - lag` and `x + lag` are in it, too.
fn inside(range: &std::ops::Range<usize>, lag: isize) -> std::ops::Range<usize> {
    let lag = lag.unsigned_abs();
    let end = range.end.saturating_sub(lag);
    (range.start + lag).min(end)..end
}

/// `image(x) += own(x - lag) other(x + lag)`
fn correlate<T: Number>(program: &Discrete<T>, (own, other): (&[T], &[T]), lag: [isize; 3], image: &mut [T]) {
    let rows = &program.rows;
    let z = inside(&rows.z, lag[0]);
    let (lines, planes) = (inside(&rows.rows, lag[1]), inside(&rows.planes, lag[2]));
    let to = Shared::new(image);
    rows.each(&program.cpu, 0, |_, plane, row| {
        if !lines.contains(&row) || !planes.contains(&plane) {
            return;
        }
        let at = |sign: isize| {
            let place = |x: usize, lag: isize| x.wrapping_add_signed(sign * lag);
            rows.at(place(plane, lag[2]), place(row, lag[1])) + place(z.start, lag[0])
        };
        // SAFETY: every row of the fields belongs to one call.
        let image = unsafe { to.row(rows.at(plane, row) + z.start, z.len()) };
        let pairs = own[at(-1)..].iter().zip(&other[at(1)..]);
        image
            .iter_mut()
            .zip(pairs)
            .for_each(|(image, (a, b))| *image += *a * *b);
    });
}

/// Adds a field that may lie between the nodes to nodes, with a sign: the mean of those around each.
fn add_to_nodes<T: Number>(program: &Discrete<T>, field: &[T], (half, sign): (Half, T), nodes: &mut [T]) {
    let rows = &program.rows;
    let back: Vec<usize> = (0..3)
        .filter(|&axis| half[axis])
        .map(|axis| rows.stride[axis])
        .collect();
    let share = sign * T::of(0.5f64.powi(back.len() as i32));
    let least: usize = back.iter().sum();
    for (at, node) in nodes.iter_mut().enumerate().skip(least) {
        let mut sum = T::of(0.0);
        for corner in 0..1usize << back.len() {
            let steps = back.iter().enumerate().filter(|(k, _)| corner >> k & 1 == 1);
            sum += field[at - steps.map(|(_, stride)| stride).sum::<usize>()];
        }
        *node += share * sum;
    }
}

impl<T: Number> Born<T> {
    /// Bytes of a checkpoint and of a step on the way back of [`Born::images`].
    pub fn sizes_of_images(&self, wanted: &Wanted) -> [usize; 2] {
        let [state, tape] = self.sizes();
        if self.engine.is_some() || self.placed.is_some() {
            return [state, tape + gpu::film_of_images(&self.program, wanted)];
        }
        let fields = |&kind: &Kind| match kind {
            Kind::Pp => 2,
            _ => halves(&self.program, kind).len(),
        };
        let fields: usize = wanted.kinds.iter().map(fields).sum();
        [state, tape + fields * self.program.rows.len * size_of::<T>()]
    }

    /// Images of `data`, `[record][component][receiver]`, in the order of the kinds that are wanted. The way back is that of
    /// [`Born::sizes_of_images`].
    ///
    /// # Errors
    /// Fields that are not finite; a device that fails or has too little memory.
    pub fn images(&self, data: &[T], ladder: &Ladder, wanted: &Wanted) -> Result<Vec<Picture<T>>, Error> {
        if let Some(engine) = &self.engine {
            return engine.images(&self.program, data, (ladder, wanted));
        }
        let mut back = self.back(ladder, data);
        back.imaging = Some(Imaging::new(&self.program, wanted, back.tapes.len()));
        self.go_back(ladder, &mut back)?;
        let pictures = back.imaging.map(|imaging| imaging.finish(&self.program));
        Ok(pictures.unwrap_or_default())
    }
}
