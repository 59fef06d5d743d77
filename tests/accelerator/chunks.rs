//! How a sweep is cut into chunks of planes must not show.

use crate::runs::{record, with_tile};
use crate::shim::Shim;
use crate::worlds::{World, difference, settings};
use kernels::displacement::gpu::tile::{Form, Terms, Tile};
use kernels::medium::Symmetry;
use std::sync::Arc;

#[test]
fn any_number_of_chunks_gives_the_same_bits() {
    if crate::played::skipped() {
        return;
    }
    for ndim in [2, 3] {
        let world = World::small(ndim);
        let shot = world.shot(settings()[0]);
        let medium = world.medium();
        let terms = Terms {
            ndim,
            double: false,
            symmetry: Symmetry::Orthorhombic,
            cells: usize::MAX,
            architecture: 90,
            shared_bytes: 1 << 18,
        };
        for tile in Tile::all(&terms).into_iter().filter(|t| t.form != Form::Small) {
            let run = |multiprocessors: usize| {
                let machine = |_| Arc::new(Shim::new().with_multiprocessors(multiprocessors));
                with_tile(&shot, &medium, &[], (Symmetry::Orthorhombic, Some(tile)), machine)
            };
            let one = run(1);
            for multiprocessors in [3, 6, 9, 13] {
                let found = difference(&one, &run(multiprocessors));
                assert!(found.is_none(), "{tile:?} {multiprocessors}: {found:?}");
            }
        }
        let _ = record(&shot, &medium, &[], Symmetry::Orthorhombic, |_| Arc::new(Shim::new()));
    }
}
