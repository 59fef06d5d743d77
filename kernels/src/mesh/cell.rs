//! The reference cell [-1, 1] in 2 or 3 dimensions: its nodes, corners and faces in the order of Gmsh, and the shape
//! functions of cells with 2 or 3 nodes along an edge.
//!
//! A node of the lattice of 3 x 3 (x 3) is coded with 0, 1, 2 for -1, 0, 1 along u, v (and w). The same code denotes an
//! entity of the cell: 1 marks an axis along which the entity extends, so that (0, 2, 1) is the edge with u = -1 and
//! v = 1. `D` is 2 or 3 throughout.

/// Number of nodes along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Two: bilinear and trilinear cells, quad4 and hex8.
    Linear,
    /// Three: biquadratic and triquadratic cells, quad9 and hex27.
    Quadratic,
}

impl Order {
    /// Number of nodes of a cell.
    pub fn nodes<const D: usize>(self) -> usize {
        match self {
            Self::Linear => 1 << D,
            Self::Quadratic => 3_usize.pow(D as u32),
        }
    }

    /// The order of cells with this number of nodes, if there is one.
    pub fn with_nodes<const D: usize>(nodes: usize) -> Option<Self> {
        [Self::Linear, Self::Quadratic]
            .into_iter()
            .find(|order| order.nodes::<D>() == nodes)
    }
}

/// The nodes of Gmsh's quad9, which begin with those of quad4.
const PLANE: [[u8; 3]; 9] = [
    [0, 0, 0],
    [2, 0, 0],
    [2, 2, 0],
    [0, 2, 0],
    [1, 0, 0],
    [2, 1, 0],
    [1, 2, 0],
    [0, 1, 0],
    [1, 1, 0],
];

/// The nodes of Gmsh's hex27, which begin with those of hex8: corners, edges 01 03 04 12 15 23 26 37 45 47 56 67,
/// faces, centre.
const SPACE: [[u8; 3]; 27] = [
    [0, 0, 0],
    [2, 0, 0],
    [2, 2, 0],
    [0, 2, 0],
    [0, 0, 2],
    [2, 0, 2],
    [2, 2, 2],
    [0, 2, 2],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [2, 1, 0],
    [2, 0, 1],
    [1, 2, 0],
    [2, 2, 1],
    [0, 2, 1],
    [1, 0, 2],
    [0, 1, 2],
    [2, 1, 2],
    [1, 2, 2],
    [1, 1, 0],
    [1, 0, 1],
    [0, 1, 1],
    [2, 1, 1],
    [1, 2, 1],
    [1, 1, 2],
    [1, 1, 1],
];

/// The position of a node in the reference cell: along each axis 0 at the low side, 1 in the middle, 2 at the high
/// side.
pub fn place<const D: usize>(node: usize) -> [u8; D] {
    let row = if D == 2 { PLANE[node] } else { SPACE[node] };
    std::array::from_fn(|axis| row[axis])
}

/// The node of a quadratic cell at this position, as [`place`] returns it.
pub fn node_at<const D: usize>(code: [u8; D]) -> usize {
    (0..Order::Quadratic.nodes::<D>())
        .find(|node| place::<D>(*node) == code)
        .unwrap_or(0)
}

/// A face of the reference cell, given by the axis normal to it and the end of that axis at which it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// The normal axis: 0, 1, 2 for u, v, w.
    pub axis: usize,
    /// Whether the face is at coordinate 1 on that axis rather than at -1.
    pub high: bool,
}

/// The face that Gmsh gives this number: w-, v-, u-, u+, v+, w+ of a hexahedron, and v-, u+, v+, u- of a quadrilateral.
pub fn face<const D: usize>(number: usize) -> Face {
    const SPACE_FACES: [(usize, bool); 6] = [
        (2, false),
        (1, false),
        (0, false),
        (0, true),
        (1, true),
        (2, true),
    ];
    const PLANE_FACES: [(usize, bool); 4] = [(1, false), (0, true), (1, true), (0, false)];
    let (axis, high) = if D == 2 {
        PLANE_FACES[number]
    } else {
        SPACE_FACES[number]
    };
    Face { axis, high }
}

/// Number of faces of a cell.
pub const fn faces<const D: usize>() -> usize {
    2 * D
}

impl Face {
    /// The code of this face.
    pub fn code<const D: usize>(self) -> [u8; D] {
        std::array::from_fn(|a| match (a == self.axis, self.high) {
            (false, _) => 1,
            (true, false) => 0,
            (true, true) => 2,
        })
    }

    /// The number of this face in Gmsh's order.
    pub fn number<const D: usize>(self) -> usize {
        (0..faces::<D>()).find(|n| face::<D>(*n) == self).unwrap_or(0)
    }

    /// The points on the face of an element with `n` points along each axis, in ascending order.
    pub fn points<const D: usize>(self, n: usize) -> Vec<usize> {
        let layer = if self.high { n - 1 } else { 0 };
        let stride = n.pow(self.axis as u32);
        (0..n.pow(D as u32))
            .filter(|point| point / stride % n == layer)
            .collect()
    }
}

/// The local numbers of the corners of an entity, with the first axis along which it extends fastest.
pub fn corners<const D: usize>(code: [u8; D]) -> Vec<usize> {
    let free: Vec<usize> = (0..D).filter(|a| code[*a] == 1).collect();
    (0..1_usize << free.len())
        .map(|bits| {
            let mut corner = code;
            for (k, axis) in free.iter().enumerate() {
                corner[*axis] = if bits >> k & 1 == 1 { 2 } else { 0 };
            }
            node_at::<D>(corner)
        })
        .collect()
}

/// The edges of a cell, each as the local numbers of its two corners.
pub fn edges<const D: usize>() -> Vec<[usize; 2]> {
    let all = (0..Order::Quadratic.nodes::<D>()).map(place::<D>);
    all.filter(|code| code.iter().filter(|c| **c == 1).count() == 1)
        .map(|code| {
            let ends = corners::<D>(code);
            [ends[0], ends[1]]
        })
        .collect()
}

/// Values and derivatives at `x` of the one-dimensional shape functions of the nodes coded 0, 1, 2.
pub fn along(order: Order, x: f64) -> ([f64; 3], [f64; 3]) {
    match order {
        Order::Linear => ([(1.0 - x) / 2.0, 0.0, (1.0 + x) / 2.0], [-0.5, 0.0, 0.5]),
        Order::Quadratic => (
            [x * (x - 1.0) / 2.0, 1.0 - x * x, x * (x + 1.0) / 2.0],
            [x - 0.5, -2.0 * x, x + 0.5],
        ),
    }
}

/// Value and gradient of the shape function of every node at `u`.
pub fn shape<const D: usize>(order: Order, u: [f64; D]) -> Vec<(f64, [f64; D])> {
    let axes = u.map(|x| along(order, x));
    (0..order.nodes::<D>())
        .map(|node| {
            let code = place::<D>(node);
            let value = (0..D).map(|a| axes[a].0[code[a] as usize]).product();
            let slope = |d: usize| {
                let factor = |a: usize| {
                    let (values, slopes) = &axes[a];
                    let along = if a == d { slopes } else { values };
                    along[code[a] as usize]
                };
                (0..D).map(factor).product()
            };
            (value, std::array::from_fn(slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const D: usize>(order: Order) {
        let count = order.nodes::<D>();
        assert_eq!(Order::with_nodes::<D>(count), Some(order));
        for node in 0..count {
            let u = place::<D>(node).map(|c| f64::from(c) - 1.0);
            for (other, (value, _)) in shape(order, u).iter().enumerate() {
                assert!((value - f64::from(node == other)).abs() < 1e-15);
            }
        }
        let (u, h) = (std::array::from_fn(|a| 0.3 - 0.4 * a as f64), 1e-6);
        let here = shape::<D>(order, u);
        assert!((here.iter().map(|s| s.0).sum::<f64>() - 1.0).abs() < 1e-14);
        for d in 0..D {
            let mut moved = u;
            moved[d] += h;
            for (a, b) in here.iter().zip(shape(order, moved)) {
                assert!(((b.0 - a.0) / h - a.1[d]).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn shape_functions_are_one_at_their_node_and_have_their_slopes() {
        for order in [Order::Linear, Order::Quadratic] {
            check::<2>(order);
            check::<3>(order);
        }
    }

    #[test]
    fn faces_and_edges_are_those_of_gmsh() {
        // The expected numbers are taken from the figures in Gmsh's documentation.
        let bottom = corners::<3>(face::<3>(0).code());
        assert_eq!(bottom.iter().sum::<usize>(), 6);
        assert_eq!(edges::<3>().len(), 12);
        assert_eq!(edges::<3>()[0], [0, 1]);
        assert!(edges::<3>()[1..3] == [[0, 3], [0, 4]]);
        assert_eq!(edges::<2>(), [[0, 1], [1, 2], [3, 2], [0, 3]]);
        for number in 0..6 {
            assert_eq!(face::<3>(number).number::<3>(), number);
            // The centre of the face is node 20 + number.
            assert_eq!(node_at::<3>(face::<3>(number).code()), 20 + number);
        }
        for number in 0..4 {
            assert_eq!(node_at::<2>(face::<2>(number).code()), 4 + number);
        }
        assert_eq!(face::<3>(3).points::<3>(2), [1, 3, 5, 7]);
    }
}
