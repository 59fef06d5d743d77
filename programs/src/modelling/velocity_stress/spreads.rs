//! The sources and receivers of each shot of a survey of this method.

use crate::modelling::fibre::Fibre;
use crate::modelling::spreads::Spreads;
use kernels::grid::Padded;
use kernels::grid::points::Point;
use kernels::methods::velocity_stress::{Shot, check_points};

/// Refuses points outside the grid.
pub fn check(spreads: &Spreads, padded: &Padded) -> anyhow::Result<()> {
    spreads.check(|[sources, receivers]| {
        check_points(padded, sources, "source")?;
        Ok(check_points(padded, receivers, "receiver")?)
    })
}

/// Appends the ends of the gauges of a fibre to the receivers of every shot.
pub fn lay(spreads: &mut Spreads, fibre: &Fibre, padded: &Padded) -> anyhow::Result<()> {
    for channels in &mut spreads.receivers {
        let ends = fibre.ends(channels);
        for first in 0..2 {
            let side: Vec<Point> = ends.iter().skip(first).step_by(2).copied().collect();
            check_points(padded, &side, "an end of the gauge of receiver")?;
        }
        channels.extend(ends);
    }
    Ok(())
}

/// Moves the sources and receivers to the positions of a shot.
pub fn move_to(spreads: &Spreads, shot: &mut Shot, number: usize) {
    let [sources, receivers] = spreads.of(number);
    for (source, &point) in shot.sources.iter_mut().zip(sources) {
        source.point = point;
    }
    shot.receivers = receivers.to_vec();
}
