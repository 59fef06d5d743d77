//! Cutting the slowest axis into slabs. Arithmetic only.

use crate::Error;
use std::ops::Range;

/// Planes of ghost on either side of a slab: two derivatives in a row reach twice the stencil's radius.
pub const GHOST: usize = 2 * crate::stencil::RADIUS;

/// Planes at either end of the grid that the one-way condition ties together; they are updated in one piece.
pub const FACE: usize = crate::boundary::one_way::DEPTH + 1;

/// One slab of the grid and how a step walks through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// Own planes, in padded indices.
    pub own: Range<usize>,
    /// Planes with those whose new values the lower neighbour waits for (and the face they may be tied to); empty
    /// without one.
    pub low_edge: Range<usize>,
    /// The same for the upper neighbour.
    pub high_edge: Range<usize>,
    /// The rest.
    pub interior: Range<usize>,
}

/// Cuts `planes` planes into `slabs` slabs of nearly equal thickness (the first ones get one more).
pub fn partition(planes: usize, slabs: usize) -> Result<Vec<Slab>, Error> {
    let most = (planes / GHOST).max(1);
    if slabs == 0 || slabs > most {
        return Err(Error::setup(format!(
            "ngpu={slabs} slabs do not fit {planes} planes (frame included): a slab needs at least {GHOST} planes, so 1 to {most} slabs are possible"
        )));
    }
    let (thin, rest) = (planes / slabs, planes % slabs);
    let sizes: Vec<usize> = (0..slabs).map(|k| thin + usize::from(k < rest)).collect();
    cut(planes, &sizes)
}

/// Cuts `planes` planes into slabs of the given thicknesses.
pub fn cut(planes: usize, sizes: &[usize]) -> Result<Vec<Slab>, Error> {
    if sizes.iter().sum::<usize>() != planes || (sizes.len() > 1 && sizes.iter().any(|&s| s < GHOST)) {
        return Err(Error::setup(format!(
            "slabs of {sizes:?} planes do not make up {planes} planes of at least {GHOST} each"
        )));
    }
    let mut start = 0;
    let mut slabs = Vec::with_capacity(sizes.len());
    for (k, size) in sizes.iter().enumerate() {
        slabs.push(walk(start..start + size, planes, k > 0, k + 1 < sizes.len()));
        start += size;
    }
    Ok(slabs)
}

/// Neighbours wait for eight planes, but parts of like size cost devices the least, for each recomputes the stress of
/// eight planes beyond it (`benches/RESULTS-GPU.md`); what is left for the interior still hides the exchange.
fn walk(own: Range<usize>, planes: usize, below: bool, above: bool) -> Slab {
    let parts = 1 + usize::from(below) + usize::from(above);
    let edge = (own.len() / parts).max(GHOST);
    let mut low = own.start..if below { own.start + edge } else { own.start };
    let mut high = if above { own.end - edge } else { own.end }..own.end;
    // A face group is never split: what it changes must be final before it is sent.
    if low.end > planes - FACE.min(planes) && !low.is_empty() {
        low.end = own.end;
    }
    if high.start < FACE && !high.is_empty() {
        high.start = own.start;
    }
    high.start = high.start.max(low.end);
    let interior = low.end..high.start;
    Slab {
        own,
        low_edge: low,
        high_edge: high,
        interior,
    }
}

impl Slab {
    /// The non-empty parts in the order of a step: edges, then the interior.
    pub fn edges(&self) -> impl Iterator<Item = Range<usize>> {
        [self.low_edge.clone(), self.high_edge.clone()]
            .into_iter()
            .filter(|r| !r.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tile_every_slab_and_faces_stay_whole() {
        for planes in 9..120 {
            for count in 1..=planes / GHOST {
                let slabs = partition(planes, count).unwrap();
                let mut next = 0;
                for s in &slabs {
                    assert_eq!(s.own.start, next);
                    next = s.own.end;
                    assert_eq!((s.low_edge.start, s.high_edge.end), (s.own.start, s.own.end));
                    assert_eq!(
                        (s.low_edge.end, s.high_edge.start),
                        (s.interior.start, s.interior.end)
                    );
                    for part in s.edges().chain([s.interior.clone()]).filter(|r| !r.is_empty()) {
                        for face in [0..FACE, planes - FACE..planes] {
                            let inside = face.clone().filter(|p| part.contains(p)).count();
                            assert!(
                                inside == 0 || inside == face.len().min(planes),
                                "{planes} {count} {part:?}"
                            );
                        }
                    }
                }
                assert_eq!(next, planes);
            }
            assert!(partition(planes, planes / GHOST + 1).is_err() || planes / GHOST == 0);
        }
    }
}
