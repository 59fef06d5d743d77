//! Records that are longer than the buffer that carries them off a device, which has the size of the grid.

use crate::bench::{Random, plain, records};
use crate::devices::{Open, both};
use kernels::device::accelerator::Accelerator;
use kernels::methods::velocity_stress::Quantity;
use kernels::methods::velocity_stress::born::Born;

/// Number of receivers; their records are several times longer than the grid, but the records of a few receivers are
/// shorter.
const RECEIVERS: usize = 80;
const AT_A_TIME: usize = 4;

/// The records of a receiver have the same bits among many receivers, whose records are sent in several pieces, as
/// among a few, whose records are sent in one.
fn records_of_many_receivers_come_in_pieces<A: Accelerator>(open: Open<A>) {
    let mut case = plain(2);
    case.quantity = Quantity::Pressure;
    let grid = case.grid();
    let place = |k: usize| {
        let cells = [2.0 + 0.21 * k as f32, 3.0 + 0.23 * k as f32];
        [0, 1, 2].map(|a| grid.o[a] + cells.get(a).map_or(0.0, |cells| cells * grid.d[a]))
    };
    let [_, mut born] = both(open, &case);
    let model = case.perturbation(&born, &mut Random(2115));
    let mut shot = case.shot();
    let mut of_receivers = |born: &mut Born<f32>, which: std::ops::Range<usize>| {
        shot.receivers = which.map(place).collect();
        born.next_shot(&shot).expect("points in the grid");
        assert_eq!(born.values(), shot.receivers.len());
        records(born, Some(&model))
    };
    let all = of_receivers(&mut born, 0..RECEIVERS);
    let with_frame = case.shot().frame.around(&grid).cells();
    assert!(all[0].len() > 3 * with_frame, "one piece would be enough");
    for first in (0..RECEIVERS).step_by(AT_A_TIME) {
        let few = of_receivers(&mut born, first..first + AT_A_TIME);
        assert!(few[0].len() < grid.cells());
        for (all, few) in all.iter().zip(&few) {
            let rows = all.chunks_exact(RECEIVERS).zip(few.chunks_exact(AT_A_TIME));
            for (step, (all, few)) in rows.enumerate() {
                assert_eq!(
                    all[first..first + AT_A_TIME],
                    *few,
                    "receiver {first}, step {step}"
                );
            }
        }
    }
}

pub mod emulated {
    use crate::devices::emulated::open;

    on!(open; records_of_many_receivers_come_in_pieces);
}

pub mod gpus {
    use crate::devices::gpus::open;

    on!(open; records_of_many_receivers_come_in_pieces);
}
