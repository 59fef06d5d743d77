//! A graph of nodes and edges, cut into subdomains by its edges: scalar waves `u'' = sum over edges of k (u_j - u_i)`.
//!
//! An edge gives a contribution to either of its nodes. Nodes whose edges belong to several subdomains are shared: their
//! contributions travel, and every subdomain that has the node adds all of them in the order of the edges.

use kernels::parallel::halo::{Link, OrderedSum, Traffic};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// An edge: its nodes and its stiffness.
pub type Edge = (usize, usize, f32);

/// A contribution: which nodes of the subdomain, and the stiffness of the edge between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Contribution {
    pub node: i32,
    pub other: i32,
    pub stiffness: f32,
}

/// A subdomain, without its fields. The exchanged memory holds the sums of the nodes, then the contributions of shared
/// nodes, those of the others, and those that arrive.
#[derive(Clone, Debug)]
pub struct Part {
    pub number: usize,
    /// Global numbers of its nodes, rising.
    pub nodes: Vec<usize>,
    /// Those that no lower subdomain has.
    pub owned: Vec<usize>,
    pub contributions: Vec<Contribution>,
    /// How many of the contributions are those of shared nodes.
    pub shared: usize,
    pub links: Vec<Link>,
    pub sums: OrderedSum,
    /// Numbers of the exchanged memory.
    pub numbers: usize,
}

/// The subdomain of `edges` on either side of each node, as (node, edge) in the order of nodes and edges.
fn ends(edges: &[Edge], mine: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let all = edges.iter().enumerate().filter(|&(e, _)| mine(e));
    let mut ends: Vec<_> = all.flat_map(|(e, &(a, b, _))| [(a, e), (b, e)]).collect();
    ends.sort_unstable();
    ends
}

/// Cuts a graph: edge `e` belongs to subdomain `owner[e]`.
pub fn cut(edges: &[Edge], owner: &[usize]) -> Vec<Part> {
    let count = owner.iter().max().expect("a graph has edges") + 1;
    let mut holders: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (&(a, b, _), &part) in edges.iter().zip(owner) {
        holders.entry(a).or_default().insert(part);
        holders.entry(b).or_default().insert(part);
    }
    let ends_of: Vec<_> = (0..count).map(|p| ends(edges, |e| owner[e] == p)).collect();
    (0..count).map(|p| part(p, edges, &holders, &ends_of)).collect()
}

fn part(
    number: usize,
    edges: &[Edge],
    holders: &BTreeMap<usize, BTreeSet<usize>>,
    ends_of: &[Vec<(usize, usize)>],
) -> Part {
    let mine = |node: &usize| holders[node].contains(&number);
    let nodes: Vec<usize> = holders.keys().copied().filter(mine).collect();
    let local = |node: usize| nodes.binary_search(&node).expect("a node of the subdomain");
    let is_shared = |node: usize| holders[&node].len() > 1;
    // Contributions of shared nodes first.
    let (first, rest): (Vec<_>, Vec<_>) = ends_of[number].iter().partition(|end| is_shared(end.0));
    let own: Vec<(usize, usize)> = first.iter().chain(&rest).copied().collect();
    let contribution = |&(node, e): &(usize, usize)| {
        let (a, b, stiffness) = edges[e];
        Contribution {
            node: local(node) as i32,
            other: local(if a == node { b } else { a }) as i32,
            stiffness,
        }
    };
    // Where the contribution of an edge to a node stands.
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    places.extend(own.iter().copied().zip(nodes.len()..));
    let mut numbers = nodes.len() + own.len();
    let mut links = Vec::new();
    let neighbours: BTreeSet<usize> = nodes.iter().flat_map(|n| holders[n].iter().copied()).collect();
    for neighbour in neighbours.into_iter().filter(|&other| other != number) {
        let both: Vec<usize> = nodes
            .iter()
            .copied()
            .filter(|n| holders[n].contains(&neighbour))
            .collect();
        let mut traffic = Traffic::default();
        for &node in &both {
            let of = |part: usize| ends_of[part].iter().copied().filter(move |end| end.0 == node);
            let from = places[&of(number).next().expect("an edge of a shared node")];
            traffic.send.push(from..from + of(number).count());
            let start = numbers;
            for end in of(neighbour) {
                places.insert(end, numbers);
                numbers += 1;
            }
            traffic.receive.push(start..numbers);
        }
        links.push(Link {
            neighbour,
            stages: vec![traffic],
        });
    }
    let mut sums = OrderedSum {
        targets: (0..nodes.len() as u32).collect(),
        starts: vec![0],
        terms: Vec::new(),
    };
    for &node in &nodes {
        // In the order of the edges of the whole graph.
        let terms = places
            .range((node, 0)..(node + 1, 0))
            .map(|(_, &place)| place as u32);
        sums.terms.extend(terms);
        sums.starts.push(sums.terms.len() as u32);
    }
    Part {
        number,
        owned: nodes
            .iter()
            .copied()
            .filter(|n| holders[n].first() == Some(&number))
            .collect(),
        contributions: own.iter().map(contribution).collect(),
        shared: first.len(),
        links,
        sums,
        numbers,
        nodes,
    }
}

impl Part {
    /// The place of a global node here.
    pub fn local(&self, node: usize) -> usize {
        self.nodes.binary_search(&node).expect("a node of the subdomain")
    }

    /// Nodes that follow each other, as ranges of their global numbers.
    pub fn ranges(nodes: &[usize]) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for &node in nodes {
            match ranges.last_mut() {
                Some(last) if last.end == node => last.end += 1,
                _ => ranges.push(node..node + 1),
            }
        }
        ranges
    }
}
