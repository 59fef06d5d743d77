//! Sums and products of fields for the images, row by row.

use super::Number;
use super::forward::Waves;
use super::grid::Shared;
use super::imaging::Half;
use super::program::Discrete;

/// Adds the sum of the adjoint normal stresses of this step, the first fields of `back`, to the adjoint pressure
/// summed over the steps; `middle` becomes that sum with half of this step.
pub fn add_pressure<T: Number>(program: &Discrete<T>, back: &[T], (later, middle): (&mut [T], &mut [T])) {
    let (rows, n, half) = (&program.rows, program.rows.z.len(), T::of(0.5));
    let (later, middle) = (Shared::new(later), Shared::new(middle));
    rows.each(&program.setup.cpu, 1, |scratch, plane, row| {
        let first = rows.at(plane, row) + rows.z.start;
        let pressure = &mut scratch[0][..n];
        normal_sum(program, back, first, pressure);
        // SAFETY: every row of the fields belongs to one call.
        let (later, middle) = unsafe { (later.row(first, n), middle.row(first, n)) };
        let sums = later.iter_mut().zip(middle);
        sums.zip(&*pressure).for_each(|((later, middle), &p)| {
            *middle = *later + half * p;
            *later += p;
        });
    });
}

/// The sum of the first fields, one for each axis, in the cells that begin at `first`.
fn normal_sum<T: Number>(program: &Discrete<T>, fields: &[T], first: usize, sum: &mut [T]) {
    sum.fill(T::of(0.0));
    for field in fields.chunks_exact(program.rows.len).take(program.ndim()) {
        let pairs = sum.iter_mut().zip(&field[first..]);
        pairs.for_each(|(sum, x)| *sum += *x);
    }
}

/// Adds the square of the pressure of a shot, the mean of the normal stresses.
pub fn add_pressure_illumination<T: Number>(program: &Discrete<T>, waves: &Waves<T>, light: &mut [T]) {
    let (rows, n, ndim) = (&program.rows, program.rows.z.len(), program.ndim());
    let (to, mean) = (Shared::new(light), T::of(1.0 / ndim as f64));
    rows.each(&program.setup.cpu, 1, |scratch, plane, row| {
        let first = rows.at(plane, row) + rows.z.start;
        let pressure = &mut scratch[0][..n];
        pressure.fill(T::of(0.0));
        for field in ndim..2 * ndim {
            let pairs = pressure.iter_mut().zip(&waves.field(field)[first..]);
            pairs.for_each(|(sum, x)| *sum += *x);
        }
        // SAFETY: every row of the fields belongs to one call.
        let light = unsafe { to.row(first, n) };
        for (light, &sum) in light.iter_mut().zip(&*pressure) {
            let p = mean * sum;
            *light += p * p;
        }
    });
}

/// Cells `x` of a range for which `x - lag` and `x + lag` are in it, too.
fn inside(range: &std::ops::Range<usize>, lag: isize) -> std::ops::Range<usize> {
    let lag = lag.unsigned_abs();
    let end = range.end.saturating_sub(lag);
    (range.start + lag).min(end)..end
}

/// `image(x) += own(x - lag) other(x + lag)`
pub fn correlate<T: Number>(
    program: &Discrete<T>,
    (own, other): (&[T], &[T]),
    lag: [isize; 3],
    image: &mut [T],
) {
    let rows = &program.rows;
    let z = inside(&rows.z, lag[0]);
    let (lines, planes) = (inside(&rows.rows, lag[1]), inside(&rows.planes, lag[2]));
    let to = Shared::new(image);
    rows.each(&program.setup.cpu, 0, |_, plane, row| {
        if !lines.contains(&row) || !planes.contains(&plane) {
            return;
        }
        let at = |sign: isize| {
            let place = |x: usize, lag: isize| x.wrapping_add_signed(sign * lag);
            rows.at(place(plane, lag[2]), place(row, lag[1])) + place(z.start, lag[0])
        };
        // SAFETY: every row of the fields belongs to one call.
        let image = unsafe { to.row(rows.at(plane, row) + z.start, z.len()) };
        let pairs = own[at(-1)..].iter().zip(&other[at(1)..]);
        image
            .iter_mut()
            .zip(pairs)
            .for_each(|(image, (a, b))| *image += *a * *b);
    });
}

/// Adds a field that may lie between the nodes to the nodes, with a sign, averaged over the values around each node.
pub fn add_to_nodes<T: Number>(program: &Discrete<T>, field: &[T], (half, sign): (Half, T), nodes: &mut [T]) {
    let rows = &program.rows;
    let back: Vec<usize> = (0..3)
        .filter(|&axis| half[axis])
        .map(|axis| rows.stride[axis])
        .collect();
    let share = sign * T::of(0.5f64.powi(back.len() as i32));
    let least: usize = back.iter().sum();
    for (at, node) in nodes.iter_mut().enumerate().skip(least) {
        let mut sum = T::of(0.0);
        for corner in 0..1usize << back.len() {
            let steps = back.iter().enumerate().filter(|(k, _)| corner >> k & 1 == 1);
            sum += field[at - steps.map(|(_, stride)| stride).sum::<usize>()];
        }
        *node += share * sum;
    }
}
