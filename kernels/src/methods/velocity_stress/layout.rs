//! The fields, their order and their positions on the staggered grid.
//!
//! Normal stresses lie on the nodes; a velocity lies half a cell beyond its node along its own axis, a shear stress
//! along both of its axes. In 3-D the fields are `vz vx vy`, `szz sxx syy szx szy sxy`; in 2-D `vz vx`, `szz sxx szx`.

/// Width in cells of the rim along every face, which is never computed: the reach of the widest derivative. The rim
/// is zero except for the images above a free surface.
pub const RIM: usize = 4;

/// Number of fields of a run.
pub fn fields(ndim: usize) -> usize {
    if ndim == 3 { 9 } else { 5 }
}

/// The field of the velocity along axis 0 = z, 1 = row, 2 = plane.
pub fn velocity(ndim: usize, axis: usize) -> usize {
    if ndim == 3 { axis } else { axis / 2 }
}

/// The field of a stress in the order of [`super::rows::PAIR`].
pub fn stress(ndim: usize, pair: usize) -> usize {
    if ndim == 3 { 3 + pair } else { 2 + pair / 2 }
}

/// Whether a field sits half a cell beyond its node along z, x, y.
pub fn staggered(ndim: usize, field: usize) -> [bool; 3] {
    let axes: &[usize] = match (ndim, field) {
        (3, 0..3) => &[field],
        (3, 6) => &[0, 1],
        (3, 7) => &[0, 2],
        (3, 8) => &[1, 2],
        (2, 0..2) => &[field],
        (2, 4) => &[0, 1],
        _ => &[],
    };
    [0, 1, 2].map(|a| axes.contains(&a))
}

/// The fields of the symmetric tensor with the components xx, yy, zz, xy, xz, yz; `None` for those along y in 2-D.
pub fn tensor(ndim: usize) -> [Option<usize>; 6] {
    match ndim {
        3 => [Some(4), Some(5), Some(3), Some(8), Some(6), Some(7)],
        _ => [Some(3), None, Some(2), None, Some(4), None],
    }
}

/// The fields of the normal stresses.
pub fn normal(ndim: usize) -> std::ops::Range<usize> {
    ndim..2 * ndim
}
