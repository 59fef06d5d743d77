//! From the sums by coefficient that a reverse sweep leaves to derivatives by the parameters, which is work for processors: a device
//! can run the next shots meanwhile.

use super::Number;
use super::coefficients::Background;
use super::parameters::Parametrisation;
use super::program::{Changes, Discrete};
use rayon::prelude::*;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

/// Reusable memory for sums by coefficient, shared by the sweeps of a device: each entry has the sums of all shots that run together.
pub type Spare<T> = Arc<Mutex<Vec<Vec<Changes<T>>>>>;

/// What a reverse sweep has found of every shot, before it is put in terms of the parameters.
pub struct Derivatives<T: Number> {
    pub(super) program: Discrete<T>,
    pub(super) medium: Arc<Background>,
    pub(super) parameters: Arc<Parametrisation>,
    pub(super) sums: Vec<Changes<T>>,
    /// Whether they are put in terms of the parameters here: of ranks that share a shot by rank 0 alone.
    pub(super) leads: bool,
    /// Where the memory of the sums goes when they are not needed any more.
    pub(super) spare: Option<Spare<T>>,
}

impl<T: Number> Derivatives<T> {
    /// The derivatives of every shot, `[parameter][cell of the model in file order]`, on the threads of the shot. Of ranks that share it rank 0
    /// gets them, the others nothing for each shot.
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
