//! Numbers that look like those of other units than SI: told before a run, which goes on.

use rsf_io::Job;

/// No rock and no fluid of the Earth is slower for P waves, in m/s: a model in km/s is.
const SLOW: f64 = 100.0;
/// No rock is lighter, in kg/m3: a model in g/cm3 is.
const LIGHT: f64 = 50.0;

/// Warns where the fastest wave of a model, in m/s, is slower than any of the Earth.
pub fn speed(job: &Job, fastest: f64) {
    if fastest < SLOW {
        job.warn(&format!(
            "the fastest wave of the model runs at {fastest:.4} m/s: units are SI, m/s and m (Pa for ccc=); a model in km/s must be multiplied by 1000, its axes and points, too"
        ));
    }
}

/// Warns of a density in kg/m3 that no rock has, at a place or in a part of the model.
pub fn density(job: &Job, density: f64, place: &str) {
    if density < LIGHT {
        job.warn(&format!(
            "the density is {} kg/m3 {place}: units are SI; a density in g/cm3 must be multiplied by 1000, or amplitudes are wrong",
            density as f32
        ));
    }
}

/// Warns of all receivers in a part of the model as small as `part`.
pub fn receivers(job: &Job, count: usize, part: &str) {
    job.warn(&format!(
        "all {count} receivers lie within {part}: are the units of rec= those of the model, m?"
    ));
}
