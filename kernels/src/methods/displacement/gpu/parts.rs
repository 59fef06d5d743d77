//! The division of a slab's step into launches: edges that neighbours wait for and the interior, each in chunks of
//! planes.
//!
//! A block advances along the planes of its column, and starting it has a cost ([`START`]). Blocks of one launch run in
//! waves that fill the device; at the end of a launch, blocks of the next one fill the multiprocessors that are left.
//! Chunks should therefore be few and thick, but the last part, the interior, should be thin: it only has to take
//! longer than the exchange that it hides.

use crate::methods::displacement::GHOST;
use std::collections::BTreeMap;

/// Cost of the start of a block, in planes: eight planes of stress before its own, and the latency of loading them.
const START: usize = 11;

/// Numbers of chunks that are tried.
const CHUNKS: [usize; 16] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96];

/// The launches of a step on a slab with neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Number of planes of an edge.
    pub edge: usize,
    /// Number of blocks per column in an edge.
    pub edge_chunks: usize,
    /// Number of blocks per column in the interior.
    pub interior_chunks: usize,
}

/// The fastest division of `own` planes of `columns` columns on a device that holds `resident` blocks at once, with
/// `edges` neighbours. The interior has at least `hidden` planes if the slab is thick enough.
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
                let parts = Parts {
                    edge,
                    edge_chunks,
                    interior_chunks,
                };
                let cost = makespan(&launches, resident);
                if cost < best.0 {
                    best = (cost, Some(parts));
                }
            }
        }
    }
    best.1.expect("one chunk always fits")
}

/// Time at which the last block ends, in planes of one block; each block starts as soon as there is room.
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
        // Blocks of the next launch run while block 133 does.
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
                let parts = parts(columns, 132, own, edges, 24);
                assert!(
                    parts.edge >= GHOST.min(own) && parts.edge <= own,
                    "{own} {parts:?}"
                );
                assert!(edges * parts.edge <= own.max(2 * GHOST), "{own} {parts:?}");
            }
        }
    }
}
