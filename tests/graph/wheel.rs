//! The graph of these tests: a wheel, its cuts and its runs.

use crate::graph::{Edge, Part, cut};
use crate::shots::Tape;
use crate::waves::{Fields, OnHost, Waves};
use kernels::parallel::group::{Group, Subdomain};
use kernels::parallel::halo::Network;
use kernels::time_loop::{Direction, Schedule};

const STEPS: usize = 120;
/// Number of rings of nodes around the middle, and number of nodes per ring.
const RINGS: usize = 7;
const SPOKES: usize = 20;
/// Nodes that are recorded.
const RECEIVERS: [usize; 4] = [0, 140, 33, 78];

/// A wheel whose rings are joined irregularly; node 0 is the middle.
fn edges() -> Vec<Edge> {
    let node = |ring: usize, spoke: usize| 1 + ring * SPOKES + spoke % SPOKES;
    let mut edges = Vec::new();
    for spoke in 0..SPOKES {
        edges.push((0, node(0, spoke), 0.3));
        for ring in 0..RINGS {
            let stiffness = 1.0 + 0.1 * ((7 * ring + 3 * spoke) % 11) as f32;
            edges.push((node(ring, spoke), node(ring, spoke + 1), stiffness));
            if ring + 1 < RINGS {
                edges.push((node(ring, spoke), node(ring + 1, spoke), stiffness));
            }
            if ring + 1 < RINGS && (ring + spoke) % 3 == 0 {
                edges.push((node(ring, spoke), node(ring + 1, spoke + 1), 0.7));
            }
        }
    }
    edges
}

fn nodes() -> usize {
    1 + RINGS * SPOKES
}

/// Cuts the wheel into sectors, which all contain the middle: with five sectors each has four neighbours. `turn`
/// rotates the cuts.
pub fn sectors(count: usize, turn: usize) -> Vec<Part> {
    let edges = edges();
    let spoke = |&(_, b, _): &Edge| ((b - 1) % SPOKES + turn) % SPOKES;
    let owner: Vec<usize> = edges.iter().map(|edge| spoke(edge) * count / SPOKES).collect();
    cut(&edges, &owner)
}

fn schedule() -> Schedule {
    Schedule {
        first: 0,
        nt: STEPS,
        direction: Direction::Forward,
        jdata: 3,
        receivers: RECEIVERS.len(),
        components: 1,
        snapshot_components: 1,
        jsnap: Some(40),
        jcheck: 50,
    }
}

pub fn group<F: Fields>(parts: Vec<Part>, mut fields: impl FnMut(&Part) -> F) -> Group<Waves<F>>
where
    F::Network: Network<Waves<F>>,
    Waves<F>: Subdomain<Number = f32>,
{
    let waves = |part: Part| Waves {
        fields: fields(&part),
        part,
        nodes: nodes(),
        receivers: RECEIVERS.to_vec(),
        direction: Direction::Forward,
        pieces: Default::default(),
        before: 0,
        fault: None,
    };
    Group::new(parts.into_iter().map(waves).collect(), schedule()).expect("a valid group")
}

pub fn on_host(parts: Vec<Part>) -> Group<Waves<OnHost>> {
    group(parts, OnHost::new)
}

pub fn run<S: Subdomain<Number = f32>>(mut group: Group<S>) -> Tape<f32> {
    let mut tape = Tape::default();
    group.run(&mut tape).expect("the waves run");
    assert_whole(&tape);
    tape
}

/// Asserts that a tape has one value per receiver in its records, and one per node in its snapshots.
pub fn assert_whole(tape: &Tape<f32>) {
    assert!(tape.peak() > 0.0, "nothing was recorded");
    assert!(tape.traces.iter().all(|record| record.len() == RECEIVERS.len()));
    assert!(
        tape.snapshots
            .iter()
            .all(|(_, snapshot)| snapshot.len() == nodes())
    );
}

/// Asserts that both tapes have the same bits.
pub fn assert_same(one: &Tape<f32>, other: &Tape<f32>) {
    assert_whole(one);
    assert_whole(other);
    assert_eq!(one.steps, other.steps);
    let bits = |lists: &[Vec<f32>]| -> Vec<Vec<u32>> {
        lists
            .iter()
            .map(|list| list.iter().map(|x| x.to_bits()).collect())
            .collect()
    };
    assert!(bits(&one.traces) == bits(&other.traces), "the records differ");
    let snapshots = |tape: &Tape<f32>| -> Vec<(usize, Vec<u32>)> {
        tape.snapshots
            .iter()
            .map(|(step, s)| (*step, s.iter().map(|x| x.to_bits()).collect()))
            .collect()
    };
    assert!(snapshots(one) == snapshots(other), "the snapshots differ");
}
