//! Checks of quality factors, for all methods.

use super::words::counted;
use anyhow::bail;
use kernels::medium::attenuation::Law;
use rsf_io::Job;

/// Refuses quality factors below 1, for which a wave decays within a fraction of its wavelength; 0 means no
/// attenuation.
pub fn refuse_low_quality(key: &str, factors: &[f32]) -> anyhow::Result<()> {
    if let Some(q) = factors.iter().find(|q| q.is_nan() || **q < 1.0 && **q != 0.0) {
        bail!(
            "{key}= has the quality factor {q}: factors must be 1 or more (rock has 20 to 1000), or 0 for no \
            attenuation"
        );
    }
    Ok(())
}

/// The unevenness of the quality factor in its band above which there is a warning.
const UNEVEN: f64 = 0.1;

/// A quality factor that is typical of rocks, for which a band is judged.
pub const USUAL: f64 = 50.0;

/// Warns of a quality factor that the relaxation times of `law` do not keep constant over this band; `cure`
/// is advice in addition to a narrower band.
pub fn uneven(job: &Job, law: &Law, (q, [low, high]): (f64, [f64; 2]), cure: &str) {
    let off = law.unevenness(q);
    if off <= UNEVEN {
        return;
    }
    let times = counted(law.times.len(), "relaxation time");
    // If larger factors are constant in this band, the attenuation is too strong.
    let of_its_own = |q: f64| Law::new(law.times.len(), [low, high], high, q).unevenness(q);
    let least = (1..=USUAL as u32).find(|usual| of_its_own(f64::from(*usual)) <= UNEVEN);
    if let Some(least) = least {
        job.warn(&format!(
            "Q is wrong by up to {:.0} % between {low:.4} and {high:.4} Hz where it is {q}: {times} keep \
            factors of {least} and more constant within {:.0} % in this band; such rock absorbs a wave \
            within a wavelength",
            100.0 * off,
            100.0 * UNEVEN
        ));
    } else {
        job.warn(&format!(
            "Q is wrong by up to {:.0} % between {low:.4} and {high:.4} Hz: {times} cannot keep it constant over a \
            factor of {:.0} in frequency (3 relaxation times keep it within 3 % over a factor of 12); give a \
            narrower qband=, the band of the waves{cure}",
            100.0 * off,
            high / low
        ));
    }
}
