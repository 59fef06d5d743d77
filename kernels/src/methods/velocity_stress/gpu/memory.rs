//! The device memory of a run, computed before any of it is allocated.

use super::arguments::shot_len;
use super::frame::Sizes;
use super::medium::kept;
use crate::device::device_to_host::{piece_planes, ring_bytes};
use crate::grid::Padded;
use crate::medium::{Symmetry, lines_of_plane, needed};
use crate::methods::velocity_stress::absorbing_frame::Edges;
use crate::methods::velocity_stress::layout::fields;
use crate::methods::velocity_stress::points::NODES;
use crate::methods::velocity_stress::{GHOST, Shot};
use crate::parallel::slabs::Slab as Layout;
use crate::source::{Action, Source};

/// Memory that the driver uses itself: the code of the kernels and their local memory.
const OWN: usize = 32 << 20;
/// The driver allocates memory in pages of this size.
const PAGE: usize = 2 << 20;

/// Bytes of device memory that one slab needs for `shots` shots side by side, in float32, for a medium of this class.
/// `messages` is the number of copies in device memory of the planes that are exchanged with neighbours on other
/// ranks in a step.
pub fn bytes(
    (shot, shots): (&Shot, usize),
    padded: &Padded,
    layout: &Layout,
    (class, messages): (Symmetry, usize),
) -> usize {
    let pages = |numbers: usize| (numbers * size_of::<f32>() + 128).next_multiple_of(PAGE);
    let ndim = padded.ndim();
    let plane = padded.plane_len();
    let array = pages(needed(padded, &layout.own).len() * lines_of_plane(padded) * padded.pitch());
    let (normal, shear) = kept(ndim, class == Symmetry::Isotropic);
    let stiffness = (normal.len() + shear.len()) * array;
    let losses = shot.attenuation.as_ref().map_or(0, |losses| {
        let stresses = fields(ndim) - ndim;
        stiffness + pages(shots * losses.variables() * stresses * layout.own.len() * plane)
    });
    let edges = Edges::<f32>::new(padded, &shot.frame, shot.dt);
    let layers = Sizes::new(padded, &edges, &layout.own).pieces(ndim);
    let layers = layers.map(|numbers| shots * numbers);
    let pieces = layers.into_iter().chain(tables((shot, shots), padded, layout));
    pages(shots * shot_len(padded, layout))
        + array
        + stiffness
        + losses
        + shared_pages(pieces)
        + messages * pages(shot.travelling(ndim).iter().sum::<usize>() * GHOST * plane)
        + OWN
}

/// Bytes of arrays of these lengths, where large arrays occupy whole pages and small ones share pages.
fn shared_pages(arrays: impl Iterator<Item = usize>) -> usize {
    let bytes = arrays.map(|numbers| numbers * size_of::<f32>());
    let (small, large): (Vec<usize>, Vec<usize>) = bytes.partition(|&bytes| bytes < PAGE / 2);
    let large = large.iter().map(|bytes| bytes.next_multiple_of(PAGE));
    large.sum::<usize>() + small.iter().sum::<usize>().next_multiple_of(PAGE)
}

/// Length of each array for sources and receivers, as if all of them lay on the slab, for the records, the pieces of
/// snapshots and the largest speeds.
fn tables((shot, shots): (&Shot, usize), padded: &Padded, layout: &Layout) -> Vec<usize> {
    let ndim = padded.ndim();
    let patch = NODES.pow(ndim as u32);
    // Shorter series are padded with zeros to the length of the longest.
    let longest = shot.series.iter().map(Vec::len).max().unwrap_or(0);
    let (moments, forces): (Vec<&Source>, Vec<&Source>) = shot
        .sources
        .iter()
        .partition(|source| matches!(source.action, Action::Moment(_)));
    let spots = [moments.len() * (fields(ndim) - ndim), forces.len() * ndim].map(|n| shots * n * patch);
    let values = shots * shot.quantity.components(ndim) * shot.receivers.len();
    let nodes = values * shot.quantity.parts(ndim) * patch;
    let kept = if shot.quantity.runs() { values } else { 0 };
    let [z, x, _] = shot
        .snapshots
        .as_ref()
        .map_or([0..0, 0..0, 0..0], |s| s.window.clone());
    let plane = z.len() * if ndim == 3 { x.len() } else { 1 };
    let piece = plane * piece_planes(4 * plane, layout.own.len());
    let peaks = if shot.peaks {
        layout.own.len() * padded.rows()
    } else {
        0
    };
    // A node is an index of eight bytes and a weight; the node of a source also has its series and the start of its
    // list.
    let lists = spots.map(|n| vec![2 * n, n + 1, n, n]).concat();
    [
        vec![shots * shot.series.len() * longest],
        lists,
        vec![2 * nodes, nodes, values + 1, ring_bytes(values), kept, kept],
        vec![piece, piece, peaks],
    ]
    .concat()
}
