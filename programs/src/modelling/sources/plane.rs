//! Double couples in 2-D: only the part of a moment tensor in the plane x-z makes waves there.

use anyhow::bail;
use kernels::source::Action;
use rsf_io::Job;

/// Components of a moment tensor below this fraction of its largest one are rounding errors of its angles.
const ROUNDING: f64 = 1e-10;

/// The share of the components across the plane above which a warning mentions them.
const ACROSS: f64 = 1e-6;

/// Sets components that are rounding errors to zero, refuses double couples without a part in the plane, and warns of
/// parts across it.
pub fn checked(job: &Job, mut actions: Vec<Action>) -> anyhow::Result<Vec<Action>> {
    for action in &mut actions {
        if let Action::Moment(m) = action {
            let all = largest(m);
            m.iter_mut()
                .filter(|m| m.abs() <= ROUNDING * all)
                .for_each(|m| *m = 0.0);
        }
    }
    if actions.iter().any(|action| tensor(action) != [0.0; 6]) && actions.iter().all(is_outside) {
        let azimuth = job.double("xaz")?;
        bail!(
            "all sources have the strength zero in the plane x-z: src=dc with these angles moves rock along y only, which makes SH waves, and a 2-D run does not model them; the azimuth of the x axis is xaz={azimuth}, and strike={} dip=45 rake=90, for instance, acts in the plane",
            (azimuth + 90.0).rem_euclid(360.0)
        );
    }
    warn(job, &actions);
    Ok(actions)
}

fn tensor(action: &Action) -> [f64; 6] {
    match *action {
        Action::Moment(m) => m,
        Action::Force(_) => [0.0; 6],
    }
}

fn largest(m: &[f64; 6]) -> f64 {
    m.iter().fold(0.0, |most, m| most.max(m.abs()))
}

/// True if nothing of a moment tensor acts in the plane x-z.
fn is_outside(action: &Action) -> bool {
    let [xx, _, zz, _, xz, _] = tensor(action);
    [xx, zz, xz] == [0.0; 3]
}

/// Warns of double couples that shear rock out of the plane.
fn warn(job: &Job, actions: &[Action]) {
    let across = |action: &Action| {
        let m = tensor(action);
        m[3].hypot(m[5]) > ACROSS * largest(&m)
    };
    let mut rest = actions.iter().enumerate().filter(|(_, action)| across(action));
    let Some((first, action)) = rest.next() else {
        return;
    };
    let others = rest.count();
    let m = tensor(action);
    let parts: Vec<String> = [("Mxy", m[3]), ("Myz", m[5])]
        .into_iter()
        .filter(|(_, m)| *m != 0.0)
        .map(|(name, m)| format!("{name}={m:.3e}"))
        .collect();
    let source = match actions.len() {
        1 => "of src=dc".into(),
        _ => format!("of source {}", first + 1),
    };
    let others = match others {
        0 => String::new(),
        _ => format!(" (and {others} more)"),
    };
    let parts = parts.join(", ");
    job.warn(&match is_outside(action) {
        true => format!(
            "the double couple {source}{others} moves rock only across the plane x-z ({parts}): it generates SH waves, which a 2-D run does not model, and has no effect"
        ),
        false => format!(
            "the double couple {source}{others} also moves rock across the plane x-z ({parts}): that part generates SH waves, which a 2-D run does not model"
        ),
    });
}
