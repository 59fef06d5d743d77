//! Internal forces of the elements of a block.

use super::assembly::{Block, LANES, Lanes, Stiffness, triangle};
use super::attenuation::Memory;

/// `sum += factor * x`, lane by lane.
#[inline(always)]
fn add_scaled(sum: &mut Lanes, factor: f32, x: &Lanes) {
    for l in 0..LANES {
        sum[l] += factor * x[l];
    }
}

/// `sum += a * b`, lane by lane.
#[inline(always)]
fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    for l in 0..LANES {
        sum[l] += a[l] * b[l];
    }
}

/// Room for one block: values of a field and the fluxes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// `[point][component]`
    field: Vec<Lanes>,
    /// `[point][axis of the cell][component]`
    flux: Vec<Lanes>,
}

impl Scratch {
    fn make_room(&mut self, points: usize, dimension: usize, components: usize) {
        self.field.resize(points * components, [0.0; LANES]);
        self.flux.resize(points * dimension * components, [0.0; LANES]);
    }
}

/// Derivatives of the basis, `[q][p]`, in single precision.
pub(super) type Derivatives<const N: usize> = [[f32; N]; N];

/// A gradient `[i][c]` or a flux of a field at a point of all elements of a block.
type Tensor<const D: usize, const C: usize> = [[Lanes; D]; C];

/// The displacement, what is to be added to it for the memory variables (dt), and the velocity: `[point][component]`.
#[derive(Clone, Copy)]
pub(super) struct Motion<'a, const D: usize> {
    pub(super) displacement: &'a [[f32; D]],
    pub(super) velocity: &'a [[f32; D]],
    pub(super) dt: f32,
}

/// Writes the internal forces of a block of solids, `[point][component]`, and advances its memory variables.
#[inline(always)]
pub(super) fn forces<const D: usize, const N: usize>(
    block: &Block,
    derivative: &Derivatives<N>,
    motion: Motion<D>,
    memory: Option<&mut Memory>,
    scratch: &mut Scratch,
    out: &mut [Lanes],
) {
    scratch.make_room(block.weight.len(), D, D);
    gather(block, &mut scratch.field, |point| motion.displacement[point]);
    match (&block.stiffness, &memory) {
        (Stiffness::Isotropic { lambda, mu }, None) => {
            fluxes::<D, D, N>(block, derivative, scratch, |_, gradient| {
                isotropic(lambda, mu, gradient)
            });
        }
        (Stiffness::Isotropic { lambda, mu }, Some(memory)) => {
            fluxes::<D, D, N>(block, derivative, scratch, |point, gradient| {
                let mut stress = isotropic(lambda, mu, gradient);
                memory.relax(point, &mut stress);
                stress
            });
        }
        (Stiffness::Anisotropic(c), None) => {
            fluxes::<D, D, N>(block, derivative, scratch, |_, gradient| anisotropic(c, gradient));
        }
        (Stiffness::Anisotropic(c), Some(memory)) => {
            fluxes::<D, D, N>(block, derivative, scratch, |point, gradient| {
                let mut stress = anisotropic(c, gradient);
                memory.relax(point, &mut stress);
                stress
            });
        }
        (Stiffness::Fluid { .. }, _) => {}
    }
    divergence::<D, D, N>(derivative, &scratch.flux, out);
    if let Some(memory) = memory {
        gather(block, &mut scratch.field, |point| {
            let (u, v) = (motion.displacement[point], motion.velocity[point]);
            std::array::from_fn::<f32, D, _>(|c| u[c] + motion.dt * v[c])
        });
        for point in 0..block.weight.len() {
            let gradient = gradient::<D, D, N>(block, derivative, &scratch.field, point);
            memory.advance(point, &gradient);
        }
    }
}

/// Writes the right side of a block of fluids, one number a point, for a potential.
#[inline(always)]
pub(super) fn fluid_forces<const D: usize, const N: usize>(
    block: &Block,
    derivative: &Derivatives<N>,
    potential: &[[f32; 1]],
    scratch: &mut Scratch,
    out: &mut [Lanes],
) {
    let Stiffness::Fluid { lightness } = &block.stiffness else {
        return;
    };
    scratch.make_room(block.weight.len(), D, 1);
    gather(block, &mut scratch.field, |point| potential[point]);
    fluxes::<D, 1, N>(block, derivative, scratch, |_, gradient| {
        let mut flux = *gradient;
        flux[0]
            .iter_mut()
            .for_each(|x| (0..LANES).for_each(|l| x[l] *= lightness[l]));
        flux
    });
    divergence::<D, 1, N>(derivative, &scratch.flux, out);
}

/// Copies a field at the points of a block.
#[inline(always)]
fn gather<const C: usize>(block: &Block, field: &mut [Lanes], value: impl Fn(usize) -> [f32; C]) {
    for (point, numbers) in block.points.iter().enumerate() {
        for (lane, number) in numbers.iter().enumerate() {
            let u = value(*number as usize);
            (0..C).for_each(|c| field[point * C + c][lane] = u[c]);
        }
    }
}

/// Stride of an axis of the cell and place of a point on it.
#[inline(always)]
fn along<const N: usize>(point: usize, axis: usize) -> (usize, usize) {
    let stride = N.pow(axis as u32);
    (stride, point / stride % N)
}

/// The gradient of a field at a point.
#[inline(always)]
fn gradient<const D: usize, const C: usize, const N: usize>(
    block: &Block,
    derivative: &Derivatives<N>,
    field: &[Lanes],
    q: usize,
) -> Tensor<D, C> {
    let mut slopes = [[[0.0; LANES]; C]; D];
    for (a, slopes) in slopes.iter_mut().enumerate() {
        let (stride, at) = along::<N>(q, a);
        for p in 0..N {
            let values = &field[(q - at * stride + p * stride) * C..][..C];
            (0..C).for_each(|i| add_scaled(&mut slopes[i], derivative[at][p], &values[i]));
        }
    }
    let inverse = &block.inverse[q * D * D..][..D * D];
    let mut gradient = [[[0.0; LANES]; D]; C];
    for (i, row) in gradient.iter_mut().enumerate() {
        for (c, entry) in row.iter_mut().enumerate() {
            (0..D).for_each(|a| add_product(entry, &inverse[a * D + c], &slopes[a][i]));
        }
    }
    gradient
}

/// The flux of every point by a law, weighted and turned to the axes of the cell.
#[inline(always)]
fn fluxes<const D: usize, const C: usize, const N: usize>(
    block: &Block,
    derivative: &Derivatives<N>,
    scratch: &mut Scratch,
    law: impl Fn(usize, &Tensor<D, C>) -> Tensor<D, C>,
) {
    for q in 0..block.weight.len() {
        let flux = law(q, &gradient::<D, C, N>(block, derivative, &scratch.field, q));
        let inverse = &block.inverse[q * D * D..][..D * D];
        for a in 0..D {
            for i in 0..C {
                let mut sum = [0.0; LANES];
                (0..D).for_each(|c| add_product(&mut sum, &inverse[a * D + c], &flux[i][c]));
                let place = &mut scratch.flux[(q * D + a) * C + i];
                (0..LANES).for_each(|l| place[l] = -block.weight[q][l] * sum[l]);
            }
        }
    }
}

/// Sums of the fluxes with the slopes of every point's polynomial.
#[inline(always)]
fn divergence<const D: usize, const C: usize, const N: usize>(
    derivative: &Derivatives<N>,
    flux: &[Lanes],
    out: &mut [Lanes],
) {
    for p in 0..out.len() / C {
        let mut sum = [[0.0; LANES]; C];
        for a in 0..D {
            let (stride, at) = along::<N>(p, a);
            for q in 0..N {
                let values = &flux[((p - at * stride + q * stride) * D + a) * C..][..C];
                (0..C).for_each(|i| add_scaled(&mut sum[i], derivative[q][at], &values[i]));
            }
        }
        out[p * C..(p + 1) * C].copy_from_slice(&sum);
    }
}

/// Hooke's law with Lame's constants; `[i][c]`.
#[inline(always)]
fn isotropic<const D: usize>(lambda: &Lanes, mu: &Lanes, gradient: &[[Lanes; D]; D]) -> [[Lanes; D]; D] {
    let mut trace = [0.0; LANES];
    for (i, row) in gradient.iter().enumerate() {
        (0..LANES).for_each(|l| trace[l] += row[i][l]);
    }
    let mut stress = [[[0.0; LANES]; D]; D];
    for i in 0..D {
        for c in 0..D {
            for l in 0..LANES {
                let shear = mu[l] * (gradient[i][c][l] + gradient[c][i][l]);
                stress[i][c][l] = if i == c {
                    lambda[l] * trace[l] + shear
                } else {
                    shear
                };
            }
        }
    }
    stress
}

/// Voigt's index of two axes of space.
const VOIGT: [[usize; 3]; 3] = [[0, 5, 4], [5, 1, 3], [4, 3, 2]];

/// Hooke's law with 21 constants, of which 2-D takes those of x and z.
#[inline(always)]
fn anisotropic<const D: usize>(c: &[Lanes], gradient: &[[Lanes; D]; D]) -> [[Lanes; D]; D] {
    let axis = |k: usize| if D == 2 { 2 * k } else { k };
    let mut strain = [[0.0; LANES]; 6];
    for i in 0..D {
        for k in i..D {
            let voigt = VOIGT[axis(i)][axis(k)];
            for l in 0..LANES {
                // Shear strains are twice those of the tensor.
                let twice = gradient[i][k][l] + gradient[k][i][l];
                strain[voigt][l] = if i == k { gradient[i][i][l] } else { twice };
            }
        }
    }
    let mut stress = [[[0.0; LANES]; D]; D];
    for i in 0..D {
        for k in i..D {
            let row = VOIGT[axis(i)][axis(k)];
            let mut sum = [0.0; LANES];
            for column in 0..6 {
                let entry = triangle(row.min(column), row.max(column));
                add_product(&mut sum, &c[entry], &strain[column]);
            }
            (stress[i][k], stress[k][i]) = (sum, sum);
        }
    }
    stress
}
