//! The rock of each layer.

use anyhow::{Context, Result, bail};
use kernels::medium::{Coefficients, Speeds, Stiffness, Thomsen, rotate, triclinic};
use rsf_io::Job;

use super::planes::Medium;
use crate::stiffness::warn_of_percent;

/// One layer: constant, or linear in depth.
pub(super) struct Rock {
    /// Density, P and S velocity at `datum`, and their gradients with depth.
    at_datum: [f64; 3],
    growth: [f64; 3],
    datum: f64,
    weak: Thomsen,
    /// Tilt and azimuth of the axis, degrees.
    turned: [f64; 2],
}

impl Rock {
    /// The rock of all `layers`, from the top down.
    ///
    /// # Errors
    /// Returns an error for lists whose length is neither one nor the number of layers, or lists that are
    /// missing.
    pub(super) fn all(job: &Job, layers: usize) -> Result<Vec<Self>> {
        let list = |key: &str| -> Result<Vec<f64>> {
            let values = job.floats(key)?;
            match values.len() {
                0 => bail!(
                    "{key}= is missing: give one number, or one for each of the {layers} layers from the top down"
                ),
                1 => Ok(vec![f64::from(values[0]); layers]),
                n if n == layers => Ok(values.into_iter().map(f64::from).collect()),
                n => bail!(
                    "{key}= has {n} numbers, but there are {layers} layers, one more than horizons= has entries"
                ),
            }
        };
        let lists = [
            "rho", "vp", "vs", "drho", "dvp", "dvs", "zref", "epsilon", "delta", "gamma", "nu", "alpha",
        ]
        .map(list);
        let mut columns = Vec::with_capacity(lists.len());
        for column in lists {
            columns.push(column?);
        }
        for (key, column) in ["epsilon", "delta", "gamma"].iter().zip(&columns[7..10]) {
            column.iter().for_each(|v| warn_of_percent(job, key, *v as f32));
        }
        let rock = |k: usize| {
            let v: Vec<f64> = columns.iter().map(|column| column[k]).collect();
            Self {
                at_datum: [v[0], v[1], v[2]],
                growth: [v[3], v[4], v[5]],
                datum: v[6],
                weak: Thomsen {
                    epsilon: v[7],
                    delta: v[8],
                    gamma: v[9],
                },
                turned: [v[10], v[11]],
            }
        };
        Ok((0..layers).map(rock).collect())
    }

    /// Whether the axis of symmetry is tilted.
    pub(super) fn is_turned(&self) -> bool {
        self.turned != [0.0; 2] && [self.weak.epsilon, self.weak.delta, self.weak.gamma] != [0.0; 3]
    }

    /// The depth at which `rho=`, `vp=` and `vs=` apply.
    pub(super) fn datum(&self) -> f64 {
        self.datum
    }

    /// Whether the rock is a fluid at that depth.
    pub(super) fn is_fluid(&self, z: f64) -> bool {
        self.values(z)[2] == 0.0
    }

    /// The medium at depth `z`.
    ///
    /// # Errors
    /// Returns an error for values that do not describe an elastic medium.
    pub(super) fn at(&self, z: f64) -> Result<Medium> {
        let [rho, vp, vs] = self.values(z);
        let there = || {
            let [z, rho, vp, vs] = [z, rho, vp, vs].map(|v| v as f32);
            format!("at z={z} with rho={rho} vp={vp} vs={vs}")
        };
        let sound = [rho, vp, vs].iter().all(|v| v.is_finite()) && rho > 0.0 && vp > 0.0 && vs >= 0.0;
        if !sound {
            bail!(
                "{}: density and vp must be positive, and vs positive or zero (a fluid); the gradients \
                drho=, dvp= and dvs= are relative to the depth zref=",
                there()
            );
        }
        let speeds = Speeds { vp, vs, rho };
        let mut c = Stiffness::vti(speeds, self.weak).with_context(there)?.voigt();
        if self.is_turned() {
            c = rotate::rotated(&c, &rotate::rotation(self.turned[0], self.turned[1]));
        }
        let table = Coefficients::All.table(3);
        let values: Vec<f64> = table.pairs.iter().map(|&pair| rotate::entry(&c, pair)).collect();
        match triclinic::fault(3, &values) {
            Some(_) if vs > vp => bail!(
                "{}: vs is larger than vp, but is at most 0.866 vp in a solid; vp= and vs= take numbers of one unit",
                there()
            ),
            Some(fault) => bail!("{}: {fault}", there()),
            None => Ok((rho, c)),
        }
    }

    /// Whether the rock is the same at every depth.
    pub(super) fn is_constant(&self) -> bool {
        self.growth.iter().all(|per_metre| *per_metre == 0.0)
    }

    fn values(&self, z: f64) -> [f64; 3] {
        std::array::from_fn(|k| self.at_datum[k] + self.growth[k] * (z - self.datum))
    }
}
