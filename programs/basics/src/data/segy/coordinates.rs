//! Coordinates in trace headers, their scale and unit.

use anyhow::{Result, bail, ensure};
use rsf_io::Job;

use super::layout::{FEET, Layout, METRES};
use super::samples::Order;

/// A point: x, y and z, positive downwards.
pub type Place = [f64; 3];

/// The length of a foot in m.
const FOOT: f64 = 0.3048;

/// First bytes of fields of the trace header: field record, trace in the record, source point, offset, elevations and
/// depths, their scalar, the scalar of coordinates, the coordinates, their unit.
pub const FLDR: usize = 8;
pub const TRACF: usize = 12;
pub const EP: usize = 16;
pub const OFFSET: usize = 36;
pub const GELEV: usize = 40;
pub const SELEV: usize = 44;
pub const SDEPTH: usize = 48;
pub const SCALEL: usize = 68;
pub const SCALCO: usize = 70;
pub const SOURCE: usize = 72;
pub const RECEIVER: usize = 80;
pub const COUNIT: usize = 88;

/// The smallest power of ten, at most 10000, with which integers of four bytes preserve all coordinates in
/// single precision, or else within its last digit; if none does, the largest that the integers allow. The
/// second number is the largest rounding error beyond that digit. `all` holds the coordinates and, for each,
/// the origin that is added before it is written.
pub fn divisor(all: &[(f64, f64)]) -> Result<(f64, f64)> {
    let sums = all.iter().map(|(x, origin)| (x + origin).abs());
    let largest = sums.fold(0.0, f64::max);
    ensure!(
        largest < f64::from(i32::MAX),
        "a coordinate of {largest} does not fit into the four bytes of a header: check the coordinates and origin="
    );
    let back = |(x, origin): (f64, f64), by: f64| ((x + origin) * by).round() / by - origin;
    // This is the error of sum, product and quotient in double precision, which is zero without an origin.
    let double = |(x, origin): (f64, f64)| match origin {
        0.0 => 0.0,
        _ => 4.0 * f64::EPSILON * (x + origin).abs(),
    };
    let same = |by: f64| {
        let kept = |&one: &(f64, f64)| {
            back(one, by) as f32 == one.0 as f32 || (back(one, by) - one.0).abs() <= double(one)
        };
        all.iter().all(kept)
    };
    let off = |one: (f64, f64), by: f64| {
        (one.0 - back(one, by)).abs() - one.0.abs() * f64::from(f32::EPSILON) - double(one)
    };
    let whole = |by: f64| all.iter().all(|&one| off(one, by) <= 1e-9);
    let fits = |by: &f64| largest * by < f64::from(i32::MAX);
    let powers: Vec<f64> = [1.0, 10.0, 100.0, 1000.0, 10000.0]
        .into_iter()
        .filter(fits)
        .collect();
    let last = powers.last().copied().unwrap_or(1.0);
    let by = powers.iter().copied().find(|&by| same(by));
    let by = by
        .or_else(|| powers.iter().copied().find(|&by| whole(by)))
        .unwrap_or(last);
    let rounded = all.iter().map(|&one| off(one, by)).fold(0.0, f64::max);
    Ok((by, if rounded > 1e-9 { rounded } else { 0.0 }))
}

/// The factor by which coordinates, elevations and depths are multiplied: that from feet to metres with `feet=convert`,
/// otherwise 1, with a warning if lengths are in feet.
pub fn unit_of(job: &Job, layout: &Layout, arc: Option<&str>) -> Result<f64> {
    let convert = match job.text("feet")?.as_deref() {
        None | Some("keep") => false,
        Some("convert") => true,
        Some(other) => {
            bail!("feet={other}: use keep (points stay in feet) or convert (to metres)")
        }
    };
    if convert {
        ensure!(
            layout.lengths != METRES && arc.is_none(),
            "feet=convert: the {}; leave out feet=",
            match arc {
                Some(arc) => format!("coordinates are {arc}"),
                None => "binary header says that lengths are in metres (mfeet=1)".into(),
            }
        );
        return Ok(FOOT);
    }
    if layout.lengths == FEET && arc.is_none() {
        job.warn("the binary header says that lengths are in feet (mfeet=2), but sou= and rec= hold coordinates unchanged: the modelling programs need metres, so convert points, depths and origin= by feet=convert");
    }
    Ok(1.0)
}

/// The points of source and receiver in a trace header.
pub fn places(order: Order, header: &[u8]) -> (Place, Place) {
    let scale = |at: usize| match order.int(header, at, 2) {
        0 => 1.0,
        by if by > 0 => f64::from(by),
        by => -1.0 / f64::from(by),
    };
    let (heights, coordinates) = (scale(SCALEL), scale(SCALCO));
    let value = |at: usize, scale: f64| f64::from(order.int(header, at, 4)) * scale;
    let depth = value(SDEPTH, heights) - value(SELEV, heights);
    let source = [value(SOURCE, coordinates), value(SOURCE + 4, coordinates), depth];
    let z = value(GELEV, heights);
    // This avoids a negative zero.
    let z = if z == 0.0 { 0.0 } else { -z };
    (
        source,
        [value(RECEIVER, coordinates), value(RECEIVER + 4, coordinates), z],
    )
}
