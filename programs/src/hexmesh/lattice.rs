//! The corners of the elements of a box on an integer lattice with the axes x, up and y.
//!
//! An element of the top row is `UNIT` wide and a row `2 UNIT` high, so that the midpoints of edges, faces
//! and elements are also whole numbers. Except in bricks, an element is a quadrilateral in a vertical plane,
//! which is extruded across the plane in 3-D.

/// The width of an element of the top row, such that the coordinates of all midpoints are whole numbers, even
/// in bricks.
pub(super) const UNIT: i64 = 64;
/// Height of a row.
pub(super) const ROW: i64 = 2 * UNIT;

/// A place: x, up, y.
pub(super) type Place = [i64; 3];

/// How a row changes the number of elements above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Plain,
    DoubleX,
    DoubleY,
    /// Doubles along x and y in one row, in 3-D.
    Brick,
}

/// A row: its kind, its layer, and the number of elements along x and y below it (0 along y in 2-D).
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) layer: usize,
    pub(super) counts: [usize; 2],
}

/// A quadrilateral in a vertical plane, with one horizontal coordinate and one that points up; its corners are
/// counter-clockwise if the horizontal axis points to the right.
type Quad = [[i64; 2]; 4];

impl Row {
    /// The number of elements of the row.
    pub(super) fn elements(&self) -> u128 {
        let [nx, ny] = self.counts.map(|n| n as u128);
        match self.kind {
            Kind::Plain => nx * ny.max(1),
            Kind::DoubleX => 3 * nx * ny.max(1),
            Kind::DoubleY => 3 * nx * ny,
            Kind::Brick => 7 * nx * ny,
        }
    }

    /// The number of elements along x and y above the row.
    pub(super) fn above(&self) -> [usize; 2] {
        let [nx, ny] = self.counts;
        match self.kind {
            Kind::Plain => [nx, ny],
            Kind::DoubleX => [2 * nx, ny],
            Kind::DoubleY => [nx, 2 * ny],
            Kind::Brick => [2 * nx, 2 * ny],
        }
    }
}

/// The corners of a row's elements in Gmsh's order, with a positive Jacobian if up is minus z. `top` is the
/// number of elements at the top of the box, and `low` is the height of the bottom of the row.
pub(super) fn corners(row: &Row, top: [usize; 2], low: i64) -> Vec<Vec<Place>> {
    let width = |axis: usize| UNIT * (top[axis] / row.counts[axis].max(1)) as i64;
    let raised = |[s, t]: [i64; 2]| [s, low + t];
    let pattern = |axis: usize, doubles: bool| -> Vec<Quad> {
        let cells = 0..row.counts[axis];
        let quads = cells.flat_map(|k| {
            if doubles {
                doubled(k, width(axis))
            } else {
                plain(k, width(axis))
            }
        });
        quads.map(|quad| quad.map(raised)).collect()
    };
    let across = |axis: usize| (0..row.counts[axis] as i64).map(move |k| [k, k + 1]);
    let mut elements = Vec::new();
    match (row.kind, row.counts[1]) {
        (kind, 0) => {
            for quad in pattern(0, kind == Kind::DoubleX) {
                // Up is minus z, which reverses the orientation.
                elements.push([0, 3, 2, 1].map(|k| [quad[k][0], quad[k][1], 0]).to_vec());
            }
        }
        (Kind::Brick, _) => {
            for j in 0..row.counts[1] {
                for i in 0..row.counts[0] {
                    elements.extend(brick([i, j], [width(0), width(1)], low));
                }
            }
        }
        (Kind::DoubleY, _) => {
            for ends in across(0).collect::<Vec<_>>() {
                for quad in pattern(1, true) {
                    let at = |end: usize| quad.map(|[s, t]| [ends[end] * width(0), t, s]);
                    elements.push([at(1), at(0)].concat());
                }
            }
        }
        (kind, _) => {
            for ends in across(1).collect::<Vec<_>>() {
                for quad in pattern(0, kind == Kind::DoubleX) {
                    let at = |end: usize| quad.map(|[s, t]| [s, t, ends[end] * width(1)]);
                    elements.push([at(0), at(1)].concat());
                }
            }
        }
    }
    elements
}

fn plain(k: usize, width: i64) -> Vec<Quad> {
    let (a, b) = (k as i64 * width, (k as i64 + 1) * width);
    vec![[[a, 0], [b, 0], [b, ROW], [a, ROW]]]
}

/// The three quadrilaterals between one element below and two above. Each even cell and its successor are mirror
/// images, and the side between them is cut in the middle.
fn doubled(k: usize, width: i64) -> Vec<Quad> {
    let (half, middle) = (ROW / 2, width / 2);
    let quads = [
        [[0, 0], [width, 0], [width, half], [middle, half]],
        [[0, 0], [middle, half], [middle, ROW], [0, ROW]],
        [[middle, half], [width, half], [width, ROW], [middle, ROW]],
    ];
    let first = k as i64 * width;
    let place = |quad: Quad| match k % 2 {
        0 => quad.map(|[s, t]| [first + s, t]),
        _ => [1, 0, 3, 2].map(|n| [first + width - quad[n][0], quad[n][1]]),
    };
    quads.map(place).to_vec()
}

/// The heights inside a brick, which give the mesh of Komatitsch et al. (2010) the largest stable step.
const LOWER: i64 = 5 * ROW / 16;
const UPPER: i64 = 5 * ROW / 8;

/// The seven hexahedra between one element below and two times two above, as in the doubling brick of one layer of
/// SPECFEM3D_GLOBE. The lowest element narrows along x; doublings along y are on its slope and on its top. Four cells
/// are mirror images of each other.
fn brick(cell: [usize; 2], [width, depth]: [i64; 2], low: i64) -> Vec<Vec<Place>> {
    let (half, middle) = (width / 2, depth / 2);
    let foot = [[0, 0], [width, 0], [width, LOWER], [half, LOWER]];
    let mut elements = vec![[0, depth].map(|y| foot.map(|[x, up]| [x, up, y])).concat()];
    for [[x0, z0], [x1, z1]] in [[[0, 0], [half, LOWER]], [[half, LOWER], [width, LOWER]]] {
        let quads = |z: i64| {
            [
                [[0, z], [depth, z], [depth, UPPER], [middle, UPPER]],
                [[0, z], [middle, UPPER], [middle, ROW], [0, ROW]],
                [[middle, UPPER], [depth, UPPER], [depth, ROW], [middle, ROW]],
            ]
        };
        let (near, far) = (quads(z0), quads(z1));
        for k in 0..3 {
            let at = |quad: [[i64; 2]; 4], x: i64| quad.map(|[y, up]| [x, up, y]);
            elements.push([at(far[k], x1), at(near[k], x0)].concat());
        }
    }
    let first = [cell[0] as i64 * width, cell[1] as i64 * depth];
    for corners in &mut elements {
        for place in corners.iter_mut() {
            let turned = |k: usize, at: i64, size: i64| match cell[k] % 2 {
                0 => first[k] + at,
                _ => first[k] + size - at,
            };
            *place = [
                turned(0, place[0], width),
                low + place[1],
                turned(1, place[2], depth),
            ];
        }
        if (cell[0] + cell[1]) % 2 == 1 {
            corners.rotate_left(4);
        }
    }
    elements
}
