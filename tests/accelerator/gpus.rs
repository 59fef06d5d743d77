//! On the GPUs of this machine: slabs go round them, so several slabs also meet on one.

use crate::runs::{Machines, skip};
use crate::shots::{medium, shot};
use crate::worlds::World;
use kernels::device::cuda::{Cuda, probe};
use kernels::displacement::Snapshots;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Speeds, Stiffness};
use std::sync::{Arc, LazyLock, Once};

/// The numbers of the GPUs, or why there are none.
static FOUND: LazyLock<Result<Vec<usize>, String>> = LazyLock::new(|| {
    let found = probe().map_err(|absent| absent.to_string())?;
    Ok(found.iter().map(|device| device.number).collect())
});

/// Keeps the devices' contexts while tests open and close them.
static HELD: LazyLock<Vec<Cuda>> = LazyLock::new(|| {
    let open = |&number: &usize| Cuda::open(number).expect("a device that was found opens");
    FOUND.iter().flatten().map(open).collect()
});

/// GPUs that `REQUIRE_GPU` says must be there.
fn required() -> usize {
    let value = std::env::var("REQUIRE_GPU").unwrap_or_default();
    let number = || {
        value
            .parse()
            .unwrap_or_else(|_| panic!("REQUIRE_GPU={value}: it must be a number of GPUs"))
    };
    if value.is_empty() { 0 } else { number() }
}

fn machines(test: &str) -> Option<Machines<Cuda>> {
    let (count, required) = (FOUND.as_ref().map_or(0, Vec::len), required());
    let absent = FOUND.as_ref().err();
    assert!(
        count >= required,
        "REQUIRE_GPU={required}, but there are {count} GPUs{}",
        absent.map_or(String::new(), |why| format!(": {why}"))
    );
    if let Some(why) = absent {
        static SAID: Once = Once::new();
        SAID.call_once(|| skip(&format!("gpus::{test} and all others of gpus"), why));
        return None;
    }
    Some(Machines {
        open: |k| {
            let device = &HELD[k % HELD.len()];
            let number = kernels::device::accelerator::Accelerator::properties(device).number;
            Arc::new(Cuda::open(number).expect("a device that was found opens"))
        },
        quick: true,
    })
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
