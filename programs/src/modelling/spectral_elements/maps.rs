//! Regular grids of places that a run writes: snapshots of a window of the mesh or of its ground, and maps of the
//! largest values on the ground.

use crate::modelling::checkpoint::MOST_PLACES;
use crate::modelling::checksum::Checksum;
use crate::modelling::exact_time::{CLOCK, Timing};
use crate::modelling::quantity::of_data;
use crate::modelling::snapshots::{steps_between, takes_snapshots};
use anyhow::bail;
use kernels::grid::AXES;
use kernels::mesh::Mesh;
use kernels::mesh::ground::{self, Places};
use kernels::methods::spectral_elements::Shot;
use rsf_io::{Axis, Job, Output};

/// The default number of points along an axis.
const USUAL: usize = 101;

/// The limit on the number of points of a component of the snapshots: each keeps the weights of its element,
/// a kilobyte in 3-D.
const MOST: usize = 1 << 24;

/// Parameters for maps of the largest horizontal values, the value of data= that they need, and their unit.
const PEAKS: [(&str, &str, &str); 3] = [
    ("pgd", "displacement", "m"),
    ("pgv", "velocity", "m/s"),
    ("pga", "acceleration", "m/s2"),
];

/// The axes `first ..` of z, x[, y] that the command line requests, otherwise the axes of the mesh.
fn axes<const D: usize>(job: &Job, mesh: &Mesh<D>, first: usize) -> anyhow::Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for (a, name) in AXES.iter().enumerate().take(D).skip(first) {
        let c = (a + D - 1) % D;
        let bounds = mesh.nodes().iter().map(|x| x[c]);
        let (low, high) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
            (l.min(x), h.max(x))
        });
        let n = job
            .int_opt(&format!("nq{name}"))?
            .map_or(Ok(USUAL), usize::try_from)?;
        let o = job.float_opt(&format!("oq{name}"))?.unwrap_or(low as f32);
        let usual = ((high - f64::from(o)) / (n.max(2) - 1) as f64) as f32;
        let d = job.float_opt(&format!("dq{name}"))?.unwrap_or(usual);
        if !(d > 0.0 && d.is_finite() && o.is_finite()) {
            bail!(
                "snapshots and maps have oq{name}={o} and dq{name}={d}; the step must be a positive number \
                (the mesh extends from {low} to {high} along {name})"
            );
        }
        let mut axis = Axis::new(n, o, d);
        (axis.label, axis.unit) = (Some((*name).into()), Some("m".into()));
        axes.push(axis);
    }
    let points = axes
        .iter()
        .try_fold(1usize, |product, axis| product.checked_mul(axis.n));
    if points.is_none_or(|points| points > MOST) {
        bail!("snapshots or maps have more than {MOST} points: give smaller nqz=, nqx= or nqy=");
    }
    Ok(axes)
}

/// Puts the points of the regular grid of the snapshots, if there is one, into the shot and returns its axes:
/// z, x[, y], or x[, y] for the ground.
pub fn window<const D: usize>(job: &Job, mesh: &Mesh<D>, shot: &mut Shot<D>) -> anyhow::Result<Vec<Axis>> {
    let on_ground = job.flag("ground")?;
    if !takes_snapshots(job)? {
        if on_ground {
            job.warn("ground= has no effect without snap=y");
        }
        return Ok(Vec::new());
    }
    let axes = axes(job, mesh, usize::from(on_ground))?;
    shot.snapshot_points = match on_ground {
        // Where there is no ground, NaN marks a point without a place, and zeros are written for it.
        true => on_the_ground(mesh, &axes)
            .into_iter()
            .map(|place| place.unwrap_or([f64::NAN; D]))
            .collect(),
        false => inside(&axes),
    };
    shot.jsnap = Some(steps_between(job, "jsnap", shot.nt)?);
    Ok(axes)
}

/// All places on the axes z, x[, y].
fn inside<const D: usize>(axes: &[Axis]) -> Vec<[f64; D]> {
    let at = |number: usize| {
        let mut rest = number;
        let mut point = [0.0; D];
        for (a, axis) in axes.iter().enumerate() {
            point[(a + D - 1) % D] = f64::from(axis.o) + (rest % axis.n) as f64 * f64::from(axis.d);
            rest /= axis.n;
        }
        point
    };
    (0..axes.iter().map(|axis| axis.n).product()).map(at).collect()
}

/// All places on the axes x[, y] on the ground; `None` where there is no ground.
fn on_the_ground<const D: usize>(mesh: &Mesh<D>, axes: &[Axis]) -> Vec<Option<[f64; D]>> {
    let places = |k: usize| {
        axes.get(k).map_or(
            Places {
                first: 0.0,
                step: 1.0,
                count: 1,
            },
            |axis| Places {
                first: axis.o.into(),
                step: axis.d.into(),
                count: axis.n,
            },
        )
    };
    let horizontal = [places(0), places(1)];
    let point = |(number, z): (usize, Option<f64>)| {
        let at = [
            horizontal[0].at(number % horizontal[0].count),
            horizontal[1].at(number / horizontal[0].count),
        ];
        z.map(|z| std::array::from_fn(|c| if c == D - 1 { z } else { at[c] }))
    };
    let depths = ground::depths(mesh, horizontal);
    depths.into_iter().enumerate().map(point).collect()
}

/// A map of the peak horizontal motion of the ground.
#[derive(Clone, Debug)]
pub struct Peaks {
    /// The parameter, the quantity and the unit of the map.
    word: &'static str,
    what: &'static str,
    unit: &'static str,
    axes: Vec<Axis>,
    /// The index in the map of each receiver after the user's own receivers.
    places: Vec<usize>,
    /// The number of the user's receivers, and the number of steps from one of their records to the next.
    own: usize,
    every: usize,
    components: usize,
}

impl Peaks {
    /// Reads pgd=, pgv= or pga=; the places of the map become receivers of `shot`, which records them in every step.
    pub fn read<const D: usize>(
        job: &Job,
        mesh: &Mesh<D>,
        shot: &mut Shot<D>,
    ) -> anyhow::Result<Option<Self>> {
        let is_given = |(word, _, _): &&(&str, &str, &str)| job.given(word);
        let Some((word, what, unit)) = PEAKS.iter().find(is_given).copied() else {
            return Ok(None);
        };
        let (data, ..) = of_data(job)?;
        if data != what {
            bail!("{word}= is a map of {what}, but data={data}: give data={what}");
        }
        let axes = axes(job, mesh, 1)?;
        let all: usize = axes.iter().map(|axis| axis.n).product();
        if all > MOST_PLACES && job.given("checkpoint") {
            bail!(
                "{word}= has {all} places, but states hold maps of at most {MOST_PLACES}: give fewer with \
                nqx= and nqy=, or leave out checkpoint="
            );
        }
        let ground = on_the_ground(mesh, &axes);
        let own = shot.receivers.len();
        let mut places = Vec::new();
        for (place, point) in ground.into_iter().enumerate() {
            if let Some(point) = point {
                places.push(place);
                shot.receivers.push(point);
            }
        }
        if places.is_empty() {
            bail!(
                "{word}= has no place on the ground of the mesh: choose oqx=, dqx= and nqx= (oqy= ...) \
                within its extent"
            );
        }
        let every = std::mem::replace(&mut shot.jdata, 1);
        Ok(Some(Self {
            word,
            what,
            unit,
            axes,
            places,
            own,
            every,
            components: D,
        }))
    }

    /// The number of the user's receivers, without the places of the map.
    pub fn users(&self) -> usize {
        self.own
    }

    /// A checksum of the quantity of the map and of its places, which follow the user's own among `receivers`.
    pub fn sum<const D: usize>(&self, receivers: &[[f64; D]]) -> u64 {
        let places = receivers[self.own..].as_flattened();
        let text = format!("{} {:?} {:?}", self.word, self.axes, self.places);
        Checksum::new().with(places).with_text(&text).end()
    }

    /// Opens the file of the map.
    pub fn open(&self, job: &mut Job, timing: &Timing) -> anyhow::Result<Output> {
        let mut file = job.tagged_output(self.word)?;
        self.axes
            .iter()
            .enumerate()
            .for_each(|(k, axis)| file.set_axis(k + 1, axis));
        file.set_rank(self.axes.len());
        if let Some(clock) = timing.clock_of_steps() {
            file.put_text(CLOCK, &clock);
        }
        file.put_text("label", &format!("Peak ground {}", self.what));
        file.put_text("unit", self.unit);
        file.put_text(
            "quantity",
            &format!("largest horizontal {} in {} on the ground", self.what, self.unit),
        );
        Ok(file)
    }

    /// The map before the first step.
    pub fn rest(&self) -> Vec<f32> {
        vec![0.0; self.axes.iter().map(|axis| axis.n).product()]
    }

    /// Updates the map with the record of a step, `[component][receiver]`, z first; returns the user's part of the
    /// record, if one is due.
    pub fn take(&self, step: usize, record: &[f32], map: &mut [f32]) -> Option<Vec<f32>> {
        self.keep(record, map);
        step.is_multiple_of(self.every)
            .then(|| self.own(record).collect())
    }

    /// Updates the map with a record.
    fn keep(&self, record: &[f32], map: &mut [f32]) {
        let all = self.own + self.places.len();
        for (k, place) in self.places.iter().enumerate() {
            let value = |c: usize| record[c * all + self.own + k];
            let square: f32 = (1..self.components).map(|c| value(c) * value(c)).sum();
            map[*place] = map[*place].max(square.sqrt());
        }
    }

    /// The user's part of a record.
    fn own<'a>(&self, record: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        let own = self.own;
        let rows = record.chunks_exact(own + self.places.len());
        rows.flat_map(move |row| row[..own].iter().copied())
    }
}
