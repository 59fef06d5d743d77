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

/// The same of regions, by the P speed and the density of each; `told` says of which of the two.
pub fn regions(job: &Job, regions: &[[f64; 2]], told: [bool; 2]) {
    let fastest = regions.iter().map(|[vp, _]| *vp).max_by(f64::total_cmp);
    fastest
        .filter(|_| told[0])
        .into_iter()
        .for_each(|vp| speed(job, vp));
    let densities = regions.iter().map(|[_, density]| *density).enumerate();
    let least = densities.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| told[1]);
    if let Some((region, least)) = least {
        density(job, least, &format!("in region {region}"));
    }
}

/// Warns of sources that all lie so near the origin as those of a model in km would.
pub fn sources(job: &Job, count: usize) {
    let who = if count == 1 {
        "the source lies".into()
    } else {
        format!("all {count} sources lie")
    };
    job.warn(&format!(
        "{who} within one cell of the origin: are the units of sou= those of the model, m?"
    ));
}

/// Warns of all receivers in a part of the model as small as `part`.
pub fn receivers(job: &Job, count: usize, part: &str) {
    job.warn(&format!(
        "all {count} receivers lie within {part}: are the units of rec= those of the model, m?"
    ));
}
