//! The files of derivatives with respect to sources, sougrad= and stfgrad=.

use super::super::Run;
use anyhow::ensure;
use kernels::methods::spectral_elements::Strength;
use kernels::methods::spectral_elements::adjoint::SourceGradient;
use rsf_io::{Axis, Job, Output};

/// The requested derivatives with respect to sources.
pub struct BySources {
    /// Whether the sources are forces; otherwise they are moments.
    forces: bool,
    /// Whether sougrad= and stfgrad= are given.
    parameters: bool,
    histories: bool,
}

/// The files of sougrad= and stfgrad=, if they are given.
pub struct SourceFiles {
    parameters: Option<Output>,
    histories: Option<Output>,
}

impl BySources {
    /// Reads sougrad= and stfgrad=; `None` if neither is given.
    ///
    /// # Errors
    /// Returns an error if a run has both forces and moments.
    pub fn read<const D: usize>(job: &Job, run: &Run<D>) -> anyhow::Result<Option<Self>> {
        let [parameters, histories] = ["sougrad", "stfgrad"].map(|word| job.given(word));
        if !(parameters || histories) {
            return Ok(None);
        }
        let forces = run
            .sources
            .iter()
            .filter(|source| matches!(source.strength, Strength::Force(_)));
        let forces = forces.count();
        ensure!(
            forces == 0 || forces == run.sources.len(),
            "sougrad= and stfgrad= take sources of one kind, but this run has {forces} forces and {} moments: give them to separate runs",
            run.sources.len() - forces
        );
        Ok(Some(Self {
            forces: forces > 0,
            parameters,
            histories,
        }))
    }

    /// Creates the files, with their headers.
    pub fn open<const D: usize>(&self, job: &mut Job, run: &Run<D>) -> anyhow::Result<SourceFiles> {
        let sources = Axis::new(run.sources.len(), 1.0, 1.0).label("source");
        let mut open = |word: &str, first: Axis| -> anyhow::Result<Output> {
            let mut file = job.tagged_output(word)?;
            for (k, axis) in [&first, &sources, &run.spreads.axis].into_iter().enumerate() {
                file.set_axis(k + 1, axis);
            }
            file.end_axes(3);
            for (key, text) in [
                ("quantity", "derivative of the misfit"),
                ("label", "Derivative of the misfit"),
                ("unit", ""),
                (
                    "convention",
                    "SI units, along the axes of the mesh, z down; t delays the source",
                ),
            ] {
                file.put_text(key, text);
            }
            Ok(file)
        };
        let names = names::<D>(self.forces);
        let of_names = Axis::new(names.split(' ').count(), 0.0, 1.0).label(names);
        let time = Axis::new(run.timing.steps, run.begin as f32, run.dt as f32)
            .label("t")
            .unit("s");
        Ok(SourceFiles {
            parameters: self.parameters.then(|| open("sougrad", of_names)).transpose()?,
            histories: self.histories.then(|| open("stfgrad", time)).transpose()?,
        })
    }

    /// The number of values of all sources of a shot in each of the two files.
    pub fn numbers<const D: usize>(&self, run: &Run<D>) -> [usize; 2] {
        let of_one = [names::<D>(self.forces).split(' ').count(), run.timing.steps];
        of_one.map(|numbers| numbers * run.sources.len())
    }

    /// The numbers of a shot: derivatives with respect to the parameters of all sources, then to their time functions.
    /// Also returns whether any of them are beyond the range of single precision.
    pub fn of_shot<const D: usize>(&self, run: &Run<D>, gradients: &[SourceGradient<D>]) -> (Vec<f32>, bool) {
        let (mut all, mut histories, mut lost) = (Vec::new(), Vec::new(), false);
        for (gradient, source) in gradients.iter().zip(&run.sources) {
            let (mut by_samples, mut history) = (gradient.history.clone(), source.history.clone());
            if let Some(exact) = &run.timing.exact {
                by_samples = exact.histories_adjoint(&by_samples, 0.0);
                history = exact.histories(&[history], 0.0).swap_remove(0);
            }
            let slopes = slopes(&history, run.dt);
            let late: f64 = slopes
                .iter()
                .zip(&by_samples)
                .map(|(slope, by)| -slope * by)
                .sum();
            by_samples.resize(run.timing.steps, 0.0);
            let by_strength = strength(&gradient.strength);
            // Each list is checked separately, because its numbers have the same unit: a number that underflows is lost
            // only if the largest of its unit underflows, too.
            let of_one_unit: [&[f64]; 4] = [&by_strength, &gradient.place, &[late], &by_samples];
            lost |= of_one_unit.into_iter().any(is_lost);
            all.extend(by_strength);
            // z is the first coordinate of files and the last of meshes.
            all.extend((0..D).map(|k| gradient.place[(k + D - 1) % D]));
            all.push(late);
            histories.extend(by_samples);
        }
        all.extend(histories);
        (all.iter().map(|x| *x as f32).collect(), lost)
    }
}

/// Whether numbers of one unit are beyond the range of single precision: one of them is too large, or even
/// the largest one is too small.
fn is_lost(numbers: &[f64]) -> bool {
    let largest = numbers.iter().map(|x| x.abs()).max_by(f64::total_cmp);
    largest.is_some_and(|x| x != 0.0 && !(f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&x))
}

impl SourceFiles {
    /// Writes the results of [`BySources::of_shot`] for all shots, with `numbers` values of each shot in the
    /// two files.
    pub fn write(self, job: &Job, numbers: [usize; 2], (all, lost): (&[f32], bool)) -> anyhow::Result<()> {
        if lost {
            job.warn("derivatives with respect to the sources are beyond the range of single precision: scale m0= (or fx=, mech=) and the data");
        }
        let files = [self.parameters, self.histories].into_iter().enumerate();
        for (k, mut file) in files.filter_map(|(k, file)| file.map(|file| (k, file))) {
            for shot in all.chunks_exact(numbers.iter().sum()) {
                let (parameters, histories) = shot.split_at(numbers[0]);
                file.write_f32([parameters, histories][k])?;
            }
            file.finish()?;
        }
        Ok(())
    }
}

/// The names of a source's parameters, in the order of files.
fn names<const D: usize>(forces: bool) -> &'static str {
    match (forces, D) {
        (true, 2) => "fz fx z x t",
        (true, _) => "fz fx fy z x y t",
        (false, 2) => "mzz mxx mxz z x t",
        (false, _) => "mzz mxx myy mxz myz mxy z x y t",
    }
}

/// The derivatives with respect to the components on the command line, in the order of [`names`]. A shear
/// component occurs twice in the tensor, so its derivatives are summed.
fn strength<const D: usize>(strength: &Strength<D>) -> Vec<f64> {
    let (x, y, z) = (0, D - 2, D - 1);
    match strength {
        Strength::Force(by) if D == 2 => vec![by[z], by[x]],
        Strength::Force(by) => vec![by[z], by[x], by[y]],
        Strength::Moment(by) => {
            let twice = |a: usize, b: usize| by[a][b] + by[b][a];
            match D {
                2 => vec![by[z][z], by[x][x], twice(x, z)],
                _ => vec![
                    by[z][z],
                    by[x][x],
                    by[y][y],
                    twice(x, z),
                    twice(y, z),
                    twice(x, y),
                ],
            }
        }
    }
}

/// The derivative of a time function, by central differences of eighth order; it is zero before its first sample and
/// constant after its last one.
fn slopes(history: &[f32], dt: f64) -> Vec<f64> {
    const WEIGHTS: [f64; 4] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
    let at = |k: isize| match usize::try_from(k) {
        Ok(k) => history
            .get(k.min(history.len() - 1))
            .map_or(0.0, |x| f64::from(*x)),
        Err(_) => 0.0,
    };
    let slope = |k: usize| {
        let k = k as isize;
        let terms = (1..)
            .zip(WEIGHTS)
            .map(|(apart, weight)| weight * (at(k + apart) - at(k - apart)));
        terms.sum::<f64>() / dt
    };
    (0..history.len()).map(slope).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_lost, slopes};

    #[test]
    fn slopes_of_a_pulse_are_those_of_its_formula() {
        // The time functions are a Gaussian with 20 samples per standard deviation, and a step that keeps its last
        // value.
        let (dt, width) = (0.01, 0.2);
        let time = |k: usize| (k as f64 * dt - 1.4) / width;
        let pulse: Vec<f32> = (0..280).map(|k| (-0.5 * time(k).powi(2)).exp() as f32).collect();
        for (k, slope) in slopes(&pulse, dt).into_iter().enumerate() {
            let truth = -time(k) / width * (-0.5 * time(k).powi(2)).exp();
            assert!((slope - truth).abs() < 5e-5, "{k}: {slope} {truth}");
        }
        assert!(slopes(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], dt)[6].abs() < 1e-9);
    }

    #[test]
    fn the_tail_of_a_history_may_be_next_to_nothing() {
        assert!(!is_lost(&[1e-14, 1e-60, 0.0]) && !is_lost(&[0.0; 3]));
        for lost in [[1e-60, 0.0], [1.0, 1e39], [1.0, f64::NAN]] {
            assert!(is_lost(&lost), "{lost:?}");
        }
    }
}
