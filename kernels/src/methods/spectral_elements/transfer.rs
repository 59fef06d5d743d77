//! Copies fields from points to the lanes of a block, and forces from lanes to the memory of elements.
//!
//! The three components of a point and the number after them are read and written as a register of four, and registers
//! are transposed for all lanes at once: copying number by number would take a third of the time of the arithmetic.

use super::Number;
use pulp::Simd;

use super::assembly::Block;
use super::lanes::{LANES, Lanes, Part};

/// Copies a field at the points of a block.
#[inline(always)]
pub(super) fn gather<S: Simd, const D: usize, const C: usize>(
    simd: S,
    block: &Block<D>,
    out: &mut [[Lanes; C]],
    field: &[[Number; C]],
) {
    if C != 3 {
        for (numbers, lanes) in block.points.iter().zip(out) {
            for (lane, number) in numbers.iter().enumerate() {
                let u = &field[*number as usize];
                (0..C).for_each(|c| lanes[c].0[lane] = u[c]);
            }
        }
        return;
    }
    // There is no number after the last point.
    let mut last = [0.0; 4];
    if let Some(point) = field.last() {
        last[..C].copy_from_slice(point);
    }
    let flat = field.as_flattened();
    let mut seats = [[0.0; 4]; LANES];
    let step = Part::<S>::seat(1) - Part::<S>::seat(0);
    for (numbers, lanes) in block.points.iter().zip(out) {
        for (k, numbers) in numbers.as_chunks::<4>().0.iter().enumerate() {
            let seat = Part::<S>::seat(4 * k);
            for (j, number) in numbers.iter().enumerate() {
                let first = 3 * *number as usize;
                let own = flat.get(first..first + 4).and_then(<[Number]>::first_chunk);
                seats[(seat + j * step) % LANES] = *own.unwrap_or(&last);
            }
        }
        for part in Part::all(simd) {
            let registers = part.parted(&seats);
            (0..C).for_each(|c| part.store(&mut lanes[c], registers[c]));
        }
    }
}

/// Subtracts a multiple of another field: `strained = field - square * strained`.
#[inline(always)]
pub(super) fn step_back<S: Simd, const C: usize>(
    part: Part<S>,
    field: &[[Lanes; C]],
    square: Number,
    strained: &mut [[Lanes; C]],
) {
    let square = part.splat(square);
    for (strained, field) in strained.iter_mut().zip(field) {
        for c in 0..C {
            let before = part.load(&field[c]) - square * part.load(&strained[c]);
            part.store(&mut strained[c], before);
        }
    }
}

/// Copies forces, element by element.
#[inline(always)]
pub(super) fn scatter<S: Simd, const D: usize, const C: usize, const N: usize>(
    simd: S,
    block: &Block<D>,
    force: &[[Lanes; C]],
    out: &mut [Number],
) {
    let (count, size) = (block.elements.len(), force.len() * C);
    if C != 3 {
        for (lane, out) in out.chunks_exact_mut(size).take(count).enumerate() {
            for (out, force) in out.as_chunks_mut::<C>().0.iter_mut().zip(force) {
                (0..C).for_each(|c| out[c] = force[c].0[lane]);
            }
        }
        return;
    }
    // Rows of points are written one after the other; the first number of a point overwrites the fourth one of the
    // previous point.
    let mut seats = [[[0.0; 4]; LANES]; N];
    for (row, forces) in force.chunks_exact(N).enumerate() {
        for (seats, force) in seats.iter_mut().zip(forces) {
            for part in Part::all(simd) {
                let [x, y, z] = [part.load(&force[0]), part.load(&force[1]), part.load(&force[2])];
                part.joined([x, y, z, part.zero()], seats);
            }
        }
        for (lane, out) in out.chunks_exact_mut(size).take(count).enumerate() {
            let out = &mut out[row * N * C..][..N * C];
            for (point, seats) in seats.iter().enumerate() {
                let numbers = &seats[Part::<S>::seat(lane)];
                match out[point * C..].first_chunk_mut::<4>() {
                    Some(out) => *out = *numbers,
                    None => out[point * C..].copy_from_slice(&numbers[..C]),
                }
            }
        }
    }
}
