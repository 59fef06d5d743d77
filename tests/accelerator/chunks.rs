//! The number of chunks of planes into which a sweep is cut does not change the results.

use crate::cases::{World, difference, settings};
use crate::emulator::Emulator;
use crate::runs::{How, Machines, record, skip};
use kernels::medium::Symmetry;
use kernels::methods::displacement::gpu::tile::{Form, Terms, Tile};
use std::sync::Arc;

/// Machines with more and more multiprocessors, so that sweeps are cut into more and more chunks.
const MACHINES: [fn(usize) -> Arc<Emulator>; 4] = [
    |_| Arc::new(Emulator::new().with_multiprocessors(3)),
    |_| Arc::new(Emulator::new().with_multiprocessors(6)),
    |_| Arc::new(Emulator::new().with_multiprocessors(9)),
    |_| Arc::new(Emulator::new().with_multiprocessors(13)),
];

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn any_number_of_chunks_gives_the_same_bits() {
    if let Err(why) = Emulator::available() {
        return skip("chunks::any_number_of_chunks_gives_the_same_bits", &why);
    }
    for ndim in [2, 3] {
        let world = World::small(ndim);
        let (shot, medium) = (world.shot(settings()[0]), world.medium());
        let terms = Terms {
            ndim,
            double: false,
            symmetry: Symmetry::Orthorhombic,
            cells: usize::MAX,
            shortest: usize::MAX,
            rows: 1 << 10,
            architecture: 90,
            clusters: false,
            shared_bytes: 1 << 18,
        };
        let tiles = Tile::all(&terms).into_iter();
        for tile in tiles.filter(|t| t.form != Form::Small && t.cluster == 1).take(2) {
            let how = How {
                tile: Some(tile),
                ..How::PLAIN
            };
            let tapes = MACHINES.map(|open| {
                record(
                    &Machines {
                        open,
                        quick: false,
                        open_memory: true,
                    },
                    &shot,
                    &medium,
                    how,
                )
            });
            for other in &tapes[1..] {
                assert_eq!(difference(&tapes[0], other), None, "{tile:?}");
            }
        }
    }
}
