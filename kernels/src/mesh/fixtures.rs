//! Meshes for tests: boxes of bricks whose nodes can be moved and whose elements can be reoriented.

use super::cell::{node_at, place};
use super::{Order, Parts};

/// The box [0, counts] divided into unit elements, all of region 0 and without lists of faces.
pub(super) fn bricks<const D: usize>(counts: [usize; D], order: Order) -> Parts<D> {
    let fine = if order == Order::Linear { 1 } else { 2 };
    let sizes = counts.map(|n| n * fine + 1);
    let flat = |k: [usize; D]| (0..D).rev().fold(0, |flat, a| flat * sizes[a] + k[a]);
    let split = |mut k: usize, sizes: [usize; D]| -> [usize; D] {
        std::array::from_fn(|a| {
            let along = k % sizes[a];
            k /= sizes[a];
            along
        })
    };
    let nodes = (0..sizes.iter().product()).map(|k| split(k, sizes).map(|i| i as f64 / fine as f64));
    let total = counts.iter().product();
    let mut elements = Vec::new();
    for element in 0..total {
        let first = split(element, counts);
        for node in 0..order.nodes::<D>() {
            let code = place::<D>(node);
            let step = |a: usize| usize::from(code[a]) * fine / 2;
            elements.push(flat(std::array::from_fn(|a| first[a] * fine + step(a))) as i32);
        }
    }
    Parts {
        nodes: nodes.collect(),
        per_element: order.nodes::<D>(),
        elements,
        regions: vec![0; total],
        ..Parts::default()
    }
}

/// Moves every node.
pub(super) fn bend<const D: usize>(mut parts: Parts<D>, to: impl Fn([f64; D]) -> [f64; D]) -> Parts<D> {
    parts.nodes.iter_mut().for_each(|x| *x = to(*x));
    parts
}

/// Renumbers the nodes of an element to another orientation with a positive Jacobian; `seed` chooses the permutation
/// of the axes and the axes that are reversed.
pub(super) fn turn<const D: usize>(parts: &mut Parts<D>, element: usize, seed: usize) {
    let n = parts.per_element;
    let nodes = parts.elements[element * n..(element + 1) * n].to_vec();
    let shift = seed % D;
    let mut flips: [bool; D] = std::array::from_fn(|a| ((seed / D) >> a) & 1 == 1);
    // In 2-D a cyclic shift by one changes the sign of the Jacobian, as every reversal does.
    let odd = flips.iter().filter(|f| **f).count() + if D == 2 { shift } else { 0 };
    if odd % 2 == 1 {
        flips[D - 1] = !flips[D - 1];
    }
    for node in 0..n {
        let code = place::<D>(node);
        let turned: [u8; D] = std::array::from_fn(|a| {
            let from = code[(a + shift) % D];
            if flips[a] { 2 - from } else { from }
        });
        parts.elements[element * n + node] = nodes[node_at::<D>(turned)];
    }
}
