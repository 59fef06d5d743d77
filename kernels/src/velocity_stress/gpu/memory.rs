//! The memory of a device that a run takes, before anything of it is taken.

use super::arguments::field_len;
use super::frame::Sizes;
use super::medium::kept;
use crate::device::outgoing::{piece_planes, ring_bytes};
use crate::domain::partition::Slab as Layout;
use crate::grid::Padded;
use crate::medium::{Symmetry, lines_of_plane, needed};
use crate::velocity_stress::edges::Edges;
use crate::velocity_stress::layout::fields;
use crate::velocity_stress::points::NODES;
use crate::velocity_stress::{GHOST, Shot};

/// What the driver takes for itself: the code of the kernels and their local memory.
const OWN: usize = 32 << 20;
/// The driver gives memory out in pages of this size.
const PAGE: usize = 2 << 20;

/// Bytes of device memory that one slab of a shot needs, in float32, for a medium of this class. `messages`: what travels
/// to or from a neighbour on another rank in a step lies so many times in the memory of the device.
pub fn bytes(shot: &Shot, padded: &Padded, layout: &Layout, class: Symmetry, messages: usize) -> usize {
    let pages = |numbers: usize| (numbers * size_of::<f32>() + 128).next_multiple_of(PAGE);
    let ndim = padded.ndim();
    let plane = padded.plane_len();
    let array = pages(needed(padded, &layout.own).len() * lines_of_plane(padded) * padded.pitch());
    let (normal, shear) = kept(ndim, class == Symmetry::Isotropic);
    let stiffness = (normal.len() + shear.len()) * array;
    let losses = shot.attenuation.as_ref().map_or(0, |losses| {
        let stresses = fields(ndim) - ndim;
        stiffness + pages(losses.variables() * stresses * layout.own.len() * plane)
    });
    let edges = Edges::<f32>::new(padded, &shot.frame, shot.dt);
    let layers = pages(Sizes::new(padded, &edges, &layout.own).numbers(ndim));
    pages(fields(ndim) * field_len(padded, layout))
        + array
        + stiffness
        + losses
        + layers
        + pages(tables(shot, padded, layout))
        + messages * pages(shot.travelling(ndim).iter().sum::<usize>() * GHOST * plane)
        + OWN
}

/// Numbers for sources and receivers, as if all of them lay on the slab, the records and the pieces of snapshots.
fn tables(shot: &Shot, padded: &Padded, layout: &Layout) -> usize {
    let ndim = padded.ndim();
    let patch = NODES.pow(ndim as u32);
    let series: usize = shot.series.iter().map(Vec::len).sum();
    // A node is a place of eight bytes and a weight; of a source also its series and the start of its list.
    let sources = 5 * shot.sources.len() * (fields(ndim) - ndim) * patch;
    let values = shot.quantity.components(ndim) * shot.receivers.len();
    let receivers = 3 * values * ndim * patch + ring_bytes(values) + 2 * values;
    let window = shot.snapshots.as_ref().map_or(0, |s| {
        let [z, x, _] = &s.window;
        let plane = z.len() * if ndim == 3 { x.len() } else { 1 };
        2 * plane * piece_planes(4 * plane, layout.own.len())
    });
    series + sources + receivers + window
}
