//! Quality factors of the velocity-stress programs.

use super::files;
use crate::modelling::exact_time::Timing;
use crate::modelling::losses::{refuse_low_quality, uneven};
use crate::modelling::model::on_the_grid;
use crate::modelling::plan::free_memory;
use crate::modelling::words::counted;
use anyhow::bail;
use kernels::grid::Padded;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::Attenuation;
use rsf_io::{Input, Job, NumberOrFile};

/// The lower end of the band as a fraction of the upper one.
const BAND: f64 = 1.0 / 12.0;

/// The least Q for coarse-grained mechanisms, of which four share a block in 2-D and eight in 3-D. In 2-D the
/// attenuation of S waves after six wavelengths is wrong by 8 % at a Q of 25 and by less than 2 % at 50; in
/// 3-D it is wrong by less than 2 % at 30.
const COARSE: [f32; 2] = [50.0, 20.0];

/// The number of values of a file that are read at a time.
const CHUNK: usize = 1 << 20;

/// Reads qp=, qs= and related parameters, with relaxation times corrected for the time of the steps.
pub fn read(job: &mut Job, padded: &Padded, timing: &Timing) -> anyhow::Result<Option<Attenuation>> {
    let both = match files::quality(job, &padded.model)? {
        Some([qp, qs]) => {
            refuse_low_quality("layers", &qp)?;
            refuse_low_quality("layers", &qs)?;
            (Some(qp), Some(qs))
        }
        None => (factors(job, "qp", padded)?, factors(job, "qs", padded)?),
    };
    let (Some(qp), Some(qs)) = both else {
        if job.given("qp") || job.given("qs") {
            bail!("qp= and qs= belong together: give both (0 means no attenuation)");
        }
        return Ok(None);
    };
    let highest = timing.band.max;
    let band = match job.floats("qband")?.as_slice() {
        [] => [BAND * highest, highest],
        &[low, high] => [f64::from(low), f64::from(high)],
        list => bail!(
            "qband= has {}; it takes two, the lowest and the highest frequency",
            counted(list.len(), "number")
        ),
    };
    let reference = job.double_opt("qref")?.unwrap_or((band[0] * band[1]).sqrt());
    let attenuation = Attenuation {
        qp: qp.into(),
        qs: qs.into(),
        mechanisms: match job.choice("qmech")? {
            "coarse" => Mechanisms::Coarse,
            count => Mechanisms::Everywhere(count.parse()?),
        },
        band: band.map(|end| end / timing.relaxation()),
        reference: reference / timing.relaxation(),
    };
    attenuation.check(padded)?;
    inexact(job, &attenuation, padded.ndim());
    if let Some(q) = lowest_loss(&attenuation) {
        let law = attenuation.law(padded.ndim());
        let more = match attenuation.mechanisms != Mechanisms::Everywhere(4) {
            true => ", or more mechanisms (qmech=4)",
            false => "",
        };
        uneven(job, &law, (q, band), more);
    }
    Ok(Some(attenuation))
}

/// The lowest quality factor of a model, if any part of it attenuates.
fn lowest_loss(attenuation: &Attenuation) -> Option<f64> {
    let factors = attenuation.qp.iter().chain(&*attenuation.qs).copied();
    let lossy = factors.filter(|q| *q > 0.0 && q.is_finite());
    lossy.min_by(f32::total_cmp).map(f64::from)
}

/// Warns if one mechanism per cell is known to be inaccurate.
fn inexact(job: &Job, attenuation: &Attenuation, ndim: usize) {
    let lowest = lowest_loss(attenuation).map_or(f32::INFINITY, |q| q as f32);
    let least = COARSE[ndim - 2];
    if attenuation.mechanisms == Mechanisms::Coarse && lowest < least {
        let by = if ndim == 2 {
            " (in 2-D by 8 % after six wavelengths at a Q of 25)"
        } else {
            ""
        };
        job.warn(&format!(
            "qmech=coarse needs a Q of {least} or more in {ndim}-D, but the lowest is {lowest}: amplitudes \
            are wrong there{by}; qmech=3 has three mechanisms in every cell and is more accurate"
        ));
    }
}

/// Whether the factors fit into memory: one for P and one for S waves in every cell, each twice while they are
/// prepared. If not, a plan continues with the lowest factor for all cells, so that it still prints the memory that the
/// run needs.
///
/// # Errors
/// Returns an error for a run whose factors do not fit.
pub fn fits(job: &Job, cells: usize) -> anyhow::Result<bool> {
    let needed = cells as f64 * (4 * size_of::<f32>()) as f64;
    let free = free_memory().unwrap_or(f64::INFINITY);
    if needed <= free {
        return Ok(true);
    }
    if job.flag("plan")? {
        return Ok(false);
    }
    bail!(
        "the quality factors of {cells} cells alone need {:.2} GB of memory, but {:.2} GB are free: it was \
        not started; plan=y prints what the run needs and what would fit",
        needed / 1e9,
        free / 1e9
    );
}

/// The lowest factor that implies attenuation; 0 if there is none. A number that is not a quality factor takes
/// precedence, so that it is refused.
pub fn lowest(factors: &[f32]) -> f32 {
    let strange = factors.iter().copied().find(|q| q.is_nan() || *q < 0.0);
    let losses = factors.iter().copied().filter(|q| *q > 0.0);
    strange
        .or_else(|| losses.min_by(f32::total_cmp))
        .unwrap_or_default()
}

/// Like [`lowest`], for a file, which is read a part at a time.
fn lowest_of(file: &mut Input) -> anyhow::Result<f32> {
    let (mut left, mut minima) = (file.len(), Vec::new());
    while left > 0 {
        let mut part = vec![0.0; CHUNK.min(left as usize)];
        file.read_f32(&mut part)?;
        left -= part.len() as u64;
        minima.push(lowest(&part));
    }
    Ok(lowest(&minima))
}

/// A number for all cells, or a file with one number for each cell.
fn factors(job: &mut Job, key: &str, padded: &Padded) -> anyhow::Result<Option<Vec<f32>>> {
    let factors = match job.number_or_file(key)? {
        None => None,
        Some(NumberOrFile::Number(q)) => Some(vec![q]),
        Some(NumberOrFile::File(mut file)) => {
            on_the_grid(&file, (&files::of_the_grid(job)?, &padded.model))?;
            Some(match fits(job, padded.model.cells())? {
                true => file.read_all_f32()?,
                false => vec![lowest_of(&mut file)?],
            })
        }
    };
    refuse_low_quality(key, factors.as_deref().unwrap_or_default())?;
    Ok(factors)
}

#[cfg(test)]
mod tests {
    use super::lowest;

    /// A factor of 0 stands for no attenuation, and impossible factors are found wherever they are.
    #[test]
    fn the_lowest_factor_is_the_strongest_attenuation() {
        for (factors, expected) in [
            (&[80.0, 0.0, 40.0, 200.0][..], 40.0),
            (&[0.0, f32::INFINITY, 30.0], 30.0),
            (&[0.0, 0.0], 0.0),
            (&[], 0.0),
            (&[20.0, -3.0, 10.0], -3.0),
        ] {
            assert_eq!(lowest(factors), expected, "{factors:?}");
        }
        assert!(lowest(&[20.0, f32::NAN, 10.0]).is_nan());
    }
}
