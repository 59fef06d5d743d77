//! Subdomains and ranks give the same bits as the whole mesh in one piece. A fluid is above an attenuating solid, so
//! that every stage of a step and every kind of exchange occurs; the cuts pass through the contact and through
//! absorbing sides.

use std::ops::Range;
use std::sync::Arc;

use kernels::communicator::Communicator;
use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Medium, steps};
use kernels::mesh::{Basis, Mesh};
use kernels::methods::spectral_elements::{
    Lumping, Quantity, Relaxation, Setup, Shot, Source, Sponge, Strength, subdomains,
};
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::ParallelOptions;

use crate::cases::ricker;
use crate::laws::bent;
use crate::shots::Tape;
use crate::thread_ranks::{Capabilities, thread_ranks};

/// Water over rock.
struct World {
    mesh: Mesh<3>,
    basis: Basis,
    media: Vec<Medium>,
    dt: f64,
    relaxations: [Relaxation; 2],
    sponge: Option<Sponge>,
    sources: Vec<Source<3>>,
    shot: Shot<3>,
}

const SPEEDS: [[f64; 2]; 2] = [[1500.0, 0.0], [2800.0, 1600.0]];

impl World {
    fn new() -> Self {
        let (mesh, basis) = (bent([7, 4, 4], true), Basis::new(4).unwrap());
        let media = vec![
            Medium::isotropic(1000.0, 1500.0, 0.0),
            Medium::isotropic(2300.0, 2800.0, 1600.0),
        ];
        let bound = steps(&mesh, &basis, &media)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        let (dt, nt) = (0.8 * bound, 120);
        let source = |at: [f64; 3]| Source {
            at,
            strength: Strength::Moment([[1e12, 0.0, 0.0], [0.0, 1e12, 0.0], [0.0, 0.0, 1e12]]),
            history: ricker(12.0, dt, nt),
        };
        let snapshot_points =
            (0..24).map(|k| [30.0 + 27.0 * f64::from(k), 190.0, 60.0 + 12.0 * f64::from(k)]);
        let law = Relaxation {
            tau_stress: [0.5, 0.1, 0.02],
            tau_shear: [0.55, 0.11, 0.022],
            tau_bulk: [0.52, 0.104, 0.0205],
            factors: [1.05, 1.02],
        };
        Self {
            shot: Shot {
                nt,
                jdata: 3,
                receivers: vec![[333.0, 210.0, 130.0], [90.0, 95.0, 330.0], [610.0, 260.0, 290.0]],
                quantity: Quantity::Velocity,
                jsnap: Some(50),
                snapshot_points: snapshot_points.collect(),
                jcheck: 40,
            },
            // One source is in the water, one in the rock, and one at a corner that eight elements of the rock share.
            sources: vec![
                source([310.0, 190.0, 120.0]),
                source([420.0, 220.0, 290.0]),
                source(mesh.nodes()[3 + 8 * (2 + 5 * 3)]),
            ],
            relaxations: [law; 2],
            sponge: None,
            mesh,
            basis,
            media,
            dt,
        }
    }

    fn setup(&self) -> Setup<'_, 3> {
        Setup {
            mesh: &self.mesh,
            basis: &self.basis,
            media: &self.media,
            speeds: &SPEEDS,
            points: None,
            dt: self.dt,
            relaxations: Some((&self.relaxations[..]).into()),
            lumping: Lumping::Matrix,
            sponge: self.sponge,
            pml: None,
            sources: &self.sources,
        }
    }

    /// The records of rank 0 if the elements are cut at the numbers `cuts`, and rank k has `dealt[k]` subdomains.
    fn run(&self, cuts: &[usize], dealt: &[usize]) -> Tape<f32> {
        let ends = cuts.iter().copied().chain([self.mesh.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let parts: Vec<Range<usize>> = starts.zip(ends).map(|(a, b)| a..b).collect();
        let one = |ranks: &dyn Communicator| {
            let cpu = Arc::new(Cpu::new(1).unwrap());
            let first: usize = dealt[..ranks.rank()].iter().sum();
            let own = first..first + dealt[ranks.rank()];
            let mut group = subdomains(cpu, &self.setup(), &self.shot, (&parts, own)).unwrap();
            let mut tape = Tape::default();
            let options = ParallelOptions {
                snapshots: SnapshotWriter::Root,
                ..ParallelOptions::default()
            };
            group.run_among(ranks, &mut tape, options).unwrap();
            tape
        };
        let mut all = thread_ranks(dealt.len(), Capabilities::default(), |ranks| one(ranks));
        all.swap_remove(0)
    }
}

#[test]
fn subdomains_and_ranks_give_the_same_bits() {
    let world = World::new();
    let whole = world.run(&[], &[1]);
    assert!(whole.peak() > 0.0 && whole.snapshots.len() == 3);
    // There are 112 elements, 16 in every slice across the longest side.
    let cases: [(&[usize], &[usize]); 5] = [
        (&[50], &[2]),
        (&[16, 40, 41], &[4]),
        (&[10, 33, 60, 64, 100, 111], &[7]),
        (&[37, 70], &[1, 2]),
        (&[20, 40, 60, 80], &[2, 1, 2]),
    ];
    for (cuts, dealt) in cases {
        let tape = world.run(cuts, dealt);
        assert!(tape.traces == whole.traces, "traces of {cuts:?} {dealt:?}");
        assert!(
            tape.snapshots == whole.snapshots,
            "snapshots of {cuts:?} {dealt:?}"
        );
    }
}

/// A sponge acts in the same way on points that subdomains share and on all other points, in water and in rock.
#[test]
fn subdomains_share_a_sponge() {
    let mut world = World::new();
    let bare = world.run(&[], &[1]);
    world.sponge = Some(Sponge {
        thickness: 130.0,
        left: 0.01,
    });
    let whole = world.run(&[], &[1]);
    assert!(whole.peak() > 0.0 && whole.traces != bare.traces);
    let cases: [(&[usize], &[usize]); 2] = [(&[16, 40, 41], &[4]), (&[37, 70], &[1, 2])];
    for (cuts, dealt) in cases {
        let tape = world.run(cuts, dealt);
        assert!(tape.traces == whole.traces, "traces of {cuts:?} {dealt:?}");
        assert!(
            tape.snapshots == whole.snapshots,
            "snapshots of {cuts:?} {dealt:?}"
        );
    }
}

#[test]
fn parts_that_do_not_fit_are_a_sentence() {
    let world = World::new();
    let cpu = Arc::new(Cpu::new(1).unwrap());
    let parts = [0..50, 50..50, 50..112];
    let failed = subdomains(cpu, &world.setup(), &world.shot, (&parts, 0..3))
        .err()
        .unwrap();
    assert!(
        failed
            .to_string()
            .contains("3 subdomains do not fit 112 elements"),
        "{failed}"
    );
}
