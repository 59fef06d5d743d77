//! Estimates of the memory that a run needs on a device and on its host, before it is allocated.

use super::arguments::{component_len, kept};
use super::medium::{DEPTH, block, lines};
use crate::device::device_to_host::{piece_planes, ring_bytes};
use crate::grid::Padded;
use crate::grid::stencil::RADIUS;
use crate::medium::{Coefficients, Symmetry};
use crate::methods::displacement::{GHOST, Shot};
use crate::parallel::slabs::Slab as Layout;

/// Bytes that the driver uses itself: the code of the kernels and their local memory.
const OWN: usize = 32 << 20;
/// Size of the pages in which the driver allocates memory.
const PAGE: usize = 2 << 20;

/// Peak bytes of device memory that one slab of a shot needs in float32 for a medium of this class. If the class is
/// not known before the model is read, it is [`Symmetry::widest`], because all coefficients are allocated and may be
/// kept. `outer` is the number of neighbours on other ranks to which messages are sent from device memory.
pub fn bytes(shot: &Shot, padded: &Padded, layout: &Layout, symmetry: Symmetry, outer: usize) -> usize {
    const NUMBER: usize = size_of::<f32>();
    let pages = |bytes: usize| bytes.next_multiple_of(PAGE);
    let array = pages(lines(padded, layout).len() * padded.pitch() * NUMBER);
    let medium = (kept(padded.ndim(), symmetry).len() + 1) * array;
    let level = pages(padded.ndim() * component_len(padded, layout) * NUMBER);
    let reading = DEPTH * pages(block(padded, symmetry.coefficients(), NUMBER).1);
    let running = 2 * level
        + pages(sources(shot, padded, layout))
        + pages(records(shot, padded, layout))
        + 2 * outer * pages(message(padded));
    medium + reading.max(running) + OWN
}

/// Peak bytes of page-locked host memory that the slabs of one rank need in float32: for blocks of the model while it
/// is read, then for records. `outer` is the number of neighbours on other ranks to which messages are sent from host
/// memory.
pub fn host_bytes(shot: &Shot, padded: &Padded, layouts: &[Layout], outer: usize) -> usize {
    let blocks =
        [Coefficients::Orthorhombic, Coefficients::All].map(|kind| block(padded, kind, size_of::<f32>()).1);
    let reading = DEPTH * blocks[0].max(blocks[1]);
    let records: usize = layouts.iter().map(|layout| records(shot, padded, layout)).sum();
    reading.max(records + 2 * outer * message(padded))
}

/// Bytes that are sent to or received from one neighbour in a step.
fn message(padded: &Padded) -> usize {
    padded.ndim() * GHOST * padded.plane_len() * size_of::<f32>()
}

/// Bytes of the wavelet and the tables of the sources, as if all sources were on the slab.
fn sources(shot: &Shot, padded: &Padded, layout: &Layout) -> usize {
    let (count, length) = (shot.sources.len(), 2 * shot.nbell + 2 + 2 * RADIUS);
    let across = if padded.ndim() == 3 {
        length.min(padded.rows())
    } else {
        1
    };
    let touched = count * across * length.min(layout.own.len());
    let lines = touched.min(layout.own.len() * padded.rows());
    // A line consists of six numbers and the list of its sources; a source consists of its position and six rows of
    // weights.
    4 * (shot.wavelet.len() + 6 * lines + touched + count * (3 + 6 * length))
}

/// Bytes of the records of receivers, as if all receivers were on the slab, and of the pieces of snapshots.
fn records(shot: &Shot, padded: &Padded, layout: &Layout) -> usize {
    let ring = ring_bytes(shot.components(padded.ndim()) * shot.receivers.len());
    let window = shot.snapshots.as_ref().map_or(0, |s| {
        let [z, x, _] = &s.window;
        let plane = z.len() * if padded.ndim() == 3 { x.len() } else { 1 };
        2 * plane * piece_planes(4 * plane, layout.own.len())
    });
    4 * (ring + 6 * shot.receivers.len() + window)
}
