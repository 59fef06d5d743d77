//! On the GPUs of this machine: slabs go round them, so several slabs also meet on one.

use crate::real;
use crate::runs::Machines;
use crate::shots::{medium, shot};
use crate::worlds::World;
use kernels::device::accelerator::{Accelerator, Properties};
use kernels::device::cuda::{Cuda, probe};
use kernels::displacement::Snapshots;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use std::sync::{Arc, LazyLock};

/// The devices' contexts, kept while tests open and close them: none where there is no GPU.
static HELD: LazyLock<Vec<Cuda>> = LazyLock::new(|| match real::gpus("every test of gpus") {
    0 => Vec::new(),
    _ => {
        let found = probe().expect("devices were found a moment ago");
        let open = |device: &Properties| Cuda::open(device.number).expect("a device that was found opens");
        found.iter().map(open).collect()
    }
});

fn machines(_test: &str) -> Option<Machines<Cuda>> {
    let open = |k: usize| {
        let number = HELD[k % HELD.len()].properties().number;
        Arc::new(Cuda::open(number).expect("a device that was found opens"))
    };
    (!HELD.is_empty()).then_some(Machines { open, quick: true })
}

on!(machines);

#[test]
fn large_snapshots_travel_in_pieces() {
    let Some(machines) = machines("large_snapshots_travel_in_pieces") else {
        return;
    };
    // A piece has 32 MB: two of them in one slab, and cuts elsewhere.
    let padded = Padded::new(&Grid::new_2d([4080, 2080], [0.0; 2], [1.0, 1.0]), 10);
    let rock = Stiffness::isotropic(Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: 2.0,
    });
    let mut large = World::plane();
    large.padded = padded.clone();
    let mut shot = shot(
        0.06,
        vec![1.0; 2 * 4],
        vec![[5.0, 1040.0, 0.0]],
        vec![[9.0, 1040.0, 0.0]],
    );
    shot.snapshots = Some(Snapshots {
        every: 2,
        window: padded.n.map(|n| 0..n),
    });
    let cpu = crate::shots::run_on(&shot, medium::<f32>(&padded, |_| (rock, 2.0)), 4, &[]).expect("it runs");
    for slabs in [&[][..], &[1000, 1100], &[700, 1300, 100]] {
        let gpu = crate::runs::record(
            &machines,
            &shot,
            &medium(&padded, |_| (rock, 2.0)),
            crate::runs::on(slabs),
        );
        let apart = crate::runs::misfit(&cpu, &gpu);
        assert!(apart < 1e-5, "{slabs:?}: {apart:.1e}");
    }
}
