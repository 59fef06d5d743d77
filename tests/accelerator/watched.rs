//! A few short runs that use every kernel, for tools that watch each access (tests/gpu/run sanitize).

use crate::cases::{World, settings};
use crate::runs::{How, Machines, misfit, record};
use crate::shots::{Tape, medium, run_on};
use crate::tiles::listed;
use kernels::boundary::one_way::Form;
use kernels::device::accelerator::Accelerator;
use kernels::medium::{Speeds, Stiffness, Symmetry};
use kernels::methods::displacement::{Shot, SourceKind};
use kernels::receiver::Quantity;

fn close<A: Accelerator>(machines: &Machines<A>, world: &World, shot: &Shot, how: How<'_>) {
    let speeds = Speeds {
        vp: 3.0,
        vs: 1.6,
        rho: 2.1,
    };
    let earth = || match how.symmetry {
        Symmetry::Orthorhombic => world.medium(),
        _ => medium(&world.padded, |_| (Stiffness::isotropic(speeds), 2.1)),
    };
    let cpu: Tape<f32> = run_on(shot, earth(), 1, &[]).expect("the shot runs");
    let far = misfit(&cpu, &record(machines, shot, &earth(), how));
    assert!(far < 1e-5, "{} {:?}: {far}", how.symmetry, how.slabs);
}

pub fn every_kernel<A: Accelerator>(machines: &Machines<A>) {
    for (ndim, n, cut) in [(2, &[9, 11][..], &[8, 11][..]), (3, &[5, 6, 13], &[9, 12])] {
        let mut world = World::tiny(n);
        // Stress sources, potentials, traction, the published form; steps are replayed, because no snapshot interrupts
        // them.
        world.steps = 44;
        let mut first = world.shot(settings()[4]);
        (first.nbell, first.quantity, first.snapshots) = (1, Quantity::Potentials, None);
        close(machines, &world, &first, How::PLAIN);
        // This run has force sources, the upwind form, slabs, snapshots, checks in between, and the kernels of a class.
        world.steps = 10;
        let mut second = world.shot(settings()[1]);
        assert_eq!(second.kind, SourceKind::Force);
        (second.nbell, second.one_way, second.jdata, second.jcheck) = (1, Form::Upwind, 2, 3);
        second.snapshots.as_mut().expect("the world has snapshots").every = 4;
        let how = How {
            slabs: cut,
            symmetry: Symmetry::Isotropic,
            tile: None,
        };
        close(machines, &world, &second, how);
        // Runs with rigid boundaries are launched step by step, with every form of the sweep.
        let third = world.shot(settings()[if ndim == 2 { 7 } else { 6 }]);
        let third = Shot { nbell: 1, ..third };
        for tile in listed::<f32, A>(machines, ndim) {
            let tile = Some(tile);
            close(machines, &world, &third, How { tile, ..How::PLAIN });
        }
    }
}
