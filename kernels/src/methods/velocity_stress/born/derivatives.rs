//! Converts the sums by coefficient of a reverse sweep to derivatives with respect to the parameters. This runs on
//! processors, while a device can run the next shots.

use super::Number;
use super::coefficients::Background;
use super::parameters::Parametrisation;
use super::program::{Changes, Discrete};
use rayon::prelude::*;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

/// Reusable memory for sums by coefficient, shared by the sweeps of a device: each entry holds the sums of all shots
/// that run together.
pub type Spare<T> = Arc<Mutex<Vec<Vec<Changes<T>>>>>;

/// The results of a reverse sweep for each shot, before they are converted to derivatives with respect to the
/// parameters.
pub struct Derivatives<T: Number> {
    pub(super) program: Discrete<T>,
    pub(super) medium: Arc<Background>,
    pub(super) parameters: Arc<Parametrisation>,
    pub(super) sums: Vec<Changes<T>>,
    /// Whether the conversion is done here: among ranks that share a shot, on rank 0 only.
    pub(super) leads: bool,
    /// Receives the memory of the sums when they are no longer needed.
    pub(super) spare: Option<Spare<T>>,
}

impl<T: Number> Derivatives<T> {
    /// The derivatives of each shot, `[parameter][cell of the model in file order]`, computed by the threads of the
    /// shot. Among ranks that share the shot, rank 0 receives them; the others receive an empty vector for each shot.
    pub fn by_parameters(mut self) -> Vec<Vec<T>> {
        if !self.leads {
            return vec![Vec::new(); self.sums.len()];
        }
        let (program, medium, parameters) = (&self.program, &*self.medium, &*self.parameters);
        let of = |sums: &mut Changes<T>| program.changed_transposed(medium, parameters, sums);
        let sums = &mut self.sums;
        program
            .setup
            .cpu
            .install(|| sums.par_iter_mut().map(of).collect())
    }
}

impl<T: Number> Drop for Derivatives<T> {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare {
            let sums = take(&mut self.sums);
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
        }
    }
}
