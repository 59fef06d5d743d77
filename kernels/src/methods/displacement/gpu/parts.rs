//! How the step of a slab is cut into launches: planes that neighbours wait for, and blocks along the planes.
//!
//! A block walks along the planes of its column and needs a start of its own ([`START`]). Blocks of one launch come in
//! waves that fill the device; where a launch ends, blocks of the next fill the gap. So parts should be few and thick,
//! and the last one, the interior, thin: it only has to take longer than the exchange that it hides.

use crate::methods::displacement::GHOST;
use std::collections::BTreeMap;

/// Planes that the start of a block costs: eight of stress in front of its own, and the time until they are there.
const START: usize = 11;

/// Numbers of chunks that are tried.
const CHUNKS: [usize; 16] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96];

/// What is launched on a slab with neighbours in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Planes of an edge.
    pub edge: usize,
    /// Blocks of a column in an edge.
    pub edge_chunks: usize,
    /// Blocks of a column in the interior.
    pub interior_chunks: usize,
}

/// The quickest way through `own` planes of so many columns on a device that holds `resident` blocks at once, with
/// `edges` neighbours. The interior has at least `hidden` planes where the slab is thick enough.
pub fn parts(columns: usize, resident: usize, own: usize, edges: usize, hidden: usize) -> Parts {
    let most = (own / edges).max(GHOST.min(own));
    let thickest = (own.saturating_sub(hidden) / edges).clamp(GHOST.min(own), most);
    let mut best = (usize::MAX, None);
    for share in 1..=8 {
        let edge = (thickest * share / 8).max(GHOST.min(own));
        let interior = own.saturating_sub(edges * edge);
        for edge_chunks in CHUNKS.into_iter().filter(|k| k * GHOST <= edge.max(GHOST)) {
            for interior_chunks in CHUNKS.into_iter().filter(|k| k * GHOST <= interior.max(GHOST)) {
                let launches = [
                    (edges * columns * edge_chunks, edge.div_ceil(edge_chunks)),
                    (columns * interior_chunks, interior.div_ceil(interior_chunks)),
                ];
                let found = Parts {
                    edge,
                    edge_chunks,
                    interior_chunks,
                };
                let cost = makespan(&launches, resident);
                if cost < best.0 {
                    best = (cost, Some(found));
                }
            }
        }
    }
    best.1.expect("one chunk always fits")
}

/// When the last block ends, each starting as soon as another made room, in planes of one block.
fn makespan(launches: &[(usize, usize)], resident: usize) -> usize {
    let mut room = BTreeMap::from([(0, resident.max(1))]);
    let mut last = 0;
    for &(mut blocks, planes) in launches.iter().filter(|l| l.1 > 0) {
        while blocks > 0 {
            let (time, free) = room.pop_first().expect("as many places as blocks run");
            let taken = free.min(blocks);
            blocks -= taken;
            if free > taken {
                room.insert(time, free - taken);
            }
            last = last.max(time + planes + START);
            *room.entry(time + planes + START).or_default() += taken;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other() {
        assert_eq!(makespan(&[(132, 100)], 132), 100 + START);
        assert_eq!(makespan(&[(133, 100)], 132), 200 + 2 * START);
        // The gap behind the 133rd takes what comes next.
        assert_eq!(makespan(&[(133, 100), (131, 50)], 132), 200 + 2 * START);
        assert_eq!(makespan(&[(5, 7), (0, 3), (3, 0)], 2), 3 * (7 + START));
    }

    #[test]
    fn a_thick_slab_has_thick_edges() {
        let ends = parts(722, 132, 608, 1, 24);
        assert!(ends.edge > 500 && ends.edge_chunks <= 2, "{ends:?}");
        let middle = parts(722, 132, 608, 2, 24);
        assert!(middle.edge > 200 && 2 * middle.edge <= 608 - 24, "{middle:?}");
    }

    #[test]
    fn any_slab_has_parts() {
        for own in 1..70 {
            for (edges, columns) in [(1, 1), (2, 1), (1, 17), (2, 900)] {
                let found = parts(columns, 132, own, edges, 24);
                assert!(
                    found.edge >= GHOST.min(own) && found.edge <= own,
                    "{own} {found:?}"
                );
                assert!(edges * found.edge <= own.max(2 * GHOST), "{own} {found:?}");
            }
        }
    }
}
