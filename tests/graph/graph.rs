//! A graph of nodes and edges, cut into subdomains by its edges: scalar waves `u'' = sum over edges of k (u_j - u_i)`.
//!
//! Every edge contributes to each of its two nodes. Nodes whose edges belong to several subdomains are shared: their
//! contributions are exchanged, and every subdomain that has the node adds all of them in the order of the edges.

use kernels::parallel::halo::{Link, OrderedSum, Traffic};
use std::collections::{BTreeMap, BTreeSet};

/// An edge: its nodes and its stiffness.
pub type Edge = (usize, usize, f32);

/// The contribution of an edge to one of its nodes: its place in the exchanged memory, the two nodes in the subdomain,
/// and the stiffness.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Contribution {
    pub place: i32,
    pub node: i32,
    pub other: i32,
    pub stiffness: f32,
}

/// A subdomain, without its fields. The exchanged memory contains the sums of its nodes, then all contributions to
/// them, its own contributions and the ones that it receives, in the order of nodes and edges.
#[derive(Clone, Debug)]
pub struct Part {
    pub number: usize,
    /// Global numbers of its nodes, in ascending order, and of those nodes that no lower subdomain has.
    pub nodes: Vec<usize>,
    pub owned: Vec<usize>,
    /// Its own contributions; the first `shared` ones are to shared nodes.
    pub contributions: Vec<Contribution>,
    pub shared: usize,
    pub links: Vec<Link>,
    pub sums: OrderedSum,
    /// The stage of a step in which all of this happens; no stage follows it, and earlier stages do nothing.
    pub stage: usize,
}

/// Cuts a graph: edge `e` belongs to subdomain `owner[e]`.
pub fn cut(edges: &[Edge], owner: &[usize]) -> Vec<Part> {
    let ends = edges
        .iter()
        .enumerate()
        .flat_map(|(e, edge)| [(edge.0, e), (edge.1, e)]);
    let ends: BTreeSet<(usize, usize)> = ends.collect();
    let mut holders: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for &(node, e) in &ends {
        holders.entry(node).or_default().insert(owner[e]);
    }
    let count = owner.iter().max().expect("a graph has edges") + 1;
    (0..count)
        .map(|number| part(number, (edges, owner), &holders, &ends))
        .collect()
}

fn part(
    number: usize,
    (edges, owner): (&[Edge], &[usize]),
    holders: &BTreeMap<usize, BTreeSet<usize>>,
    ends: &BTreeSet<(usize, usize)>,
) -> Part {
    let nodes: Vec<usize> = holders
        .keys()
        .copied()
        .filter(|n| holders[n].contains(&number))
        .collect();
    let owned = nodes
        .iter()
        .copied()
        .filter(|n| holders[n].first() == Some(&number));
    let local = |node: usize| nodes.binary_search(&node).expect("a node of the subdomain");
    let (mut contributions, mut links) = (Vec::new(), BTreeMap::new());
    let (mut starts, mut end) = (vec![0; nodes.len() + 1], nodes.len());
    for &(node, e) in ends.iter().filter(|(node, _)| holders[node].contains(&number)) {
        let (place, others) = (
            end..end + 1,
            holders[&node].iter().filter(|&&other| other != number),
        );
        for &other in others {
            let traffic: &mut Traffic = links.entry(other).or_default();
            if owner[e] == number {
                traffic.send.push(place.clone());
            } else if owner[e] == other {
                traffic.receive.push(place.clone());
            }
        }
        if owner[e] == number {
            let (a, b, stiffness) = edges[e];
            let (here, other) = (local(node) as i32, local(a + b - node) as i32);
            contributions.push(Contribution {
                place: end as i32,
                node: here,
                other,
                stiffness,
            });
        }
        end += 1;
        starts[local(node) + 1] = (end - nodes.len()) as u32;
    }
    let is_shared = |c: &Contribution| holders[&nodes[c.node as usize]].len() > 1;
    contributions.sort_by_key(|c| !is_shared(c));
    let link = |(neighbour, traffic)| Link {
        neighbour,
        stages: vec![traffic],
    };
    Part {
        number,
        owned: owned.collect(),
        shared: contributions.iter().filter(|c| is_shared(c)).count(),
        contributions,
        links: links.into_iter().map(link).collect(),
        sums: OrderedSum {
            targets: (0..nodes.len() as u32).collect(),
            starts,
            terms: (nodes.len() as u32..end as u32).collect(),
        },
        stage: 0,
        nodes,
    }
}

impl Part {
    /// The local number of a global node, if it is one of the subdomain's.
    pub fn local(&self, node: usize) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    /// The number of values in the exchanged memory.
    pub fn numbers(&self) -> usize {
        self.nodes.len() + self.sums.terms.len()
    }
}
