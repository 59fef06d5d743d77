//! Findings do not depend on the blocks of a model, and equal the findings of a direct inspection of the whole model.

use super::*;
use crate::grid::Grid;
use crate::medium::{
    Destination, Discard, Filler, Medium, Property, Speeds, Stiffness, Tsvankin, plane_names,
};
use std::convert::Infallible;

/// A model whose extremes occur repeatedly, with density jumps along all axes.
struct Model {
    padded: Padded,
    /// Stiffness arrays in file order, then density.
    arrays: Vec<Vec<f32>>,
}

impl Model {
    fn new(n: &[usize]) -> Self {
        let grid = match *n {
            [z, x] => Grid::new_2d([z, x], [0.0; 2], [2.0, 3.0]),
            [z, x, y] => Grid::new_3d([z, x, y], [0.0; 3], [2.0, 3.0, 4.0]),
            _ => unreachable!("two or three axes"),
        };
        let mut arrays = vec![Vec::new(); plane_names(grid.ndim).len() + 1];
        let mut seed = 9u64;
        for cell in 0..grid.cells() {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let kind = (seed >> 40) % 23;
            let speeds = Speeds {
                vp: 2.0 + 0.05 * kind as f64 + 0.001 * (cell % 5) as f64,
                vs: if kind == 3 { 0.0 } else { 1.0 + 0.01 * kind as f64 },
                rho: 2.0,
            };
            let tilt = Tsvankin {
                eps1: 0.01 * (kind % 4) as f64,
                ..Tsvankin::default()
            };
            let c = Stiffness::orthorhombic(speeds, tilt).expect("real parameters");
            let planes: Vec<f64> = if grid.ndim == 3 {
                c.planes().to_vec()
            } else {
                c.planes_2d().to_vec()
            };
            let rho = 2.0 + (seed >> 50) as f64 / 5e4;
            for (array, value) in arrays.iter_mut().zip(planes.into_iter().chain([rho])) {
                array.push(value as f32);
            }
        }
        Self {
            padded: Padded::new(&grid, 5),
            arrays,
        }
    }

    fn lines(&self) -> usize {
        self.padded.model.cells() / self.padded.model.n[0]
    }

    /// Reads the model into `to` in blocks of `step` lines.
    fn read(&self, cpu: &Cpu, step: usize, to: &mut dyn Destination) -> Result<Findings, BadCell> {
        let nz = self.padded.model.n[0];
        let mut inspection = Inspection::new(&self.padded, Coefficients::Orthorhombic);
        for first in (0..self.lines()).step_by(step) {
            let count = step.min(self.lines() - first);
            let block = to.block(count).expect("memory");
            let load = |array: usize, line: usize, to: &mut [f32]| {
                to.copy_from_slice(&self.arrays[array][line * nz..][..to.len()]);
                Ok::<_, Infallible>(())
            };
            inspection.block(cpu, block, load).expect("nothing can fail");
            to.commit(first, count).expect("it is taken");
        }
        inspection.finish()
    }

    /// Inspects the whole model at once, and compares densities cell by cell.
    fn plainly(&self) -> Result<Findings, BadCell> {
        let model = &self.padded.model;
        let planes: Vec<&[f32]> = self.arrays.iter().map(Vec::as_slice).collect();
        let (rho, c) = planes.split_last().expect("density");
        let mut scan = Scan::new(model.ndim, model.d.map(f64::from));
        scan.rows(c, rho, 0);
        let [nz, nx, ny] = model.n;
        let mut jumps = vec![1.0f32];
        for cell in 0..model.cells() {
            let (z, x, y) = (cell % nz, cell / nz % nx, cell / nz / nx);
            let steps = [(z + 1 < nz, 1), (x + 1 < nx, nz), (y + 1 < ny, nz * nx)];
            for (_, step) in steps.into_iter().filter(|(inside, _)| *inside) {
                let (a, b) = (rho[cell], rho[cell + step]);
                jumps.extend([a / b, b / a]);
            }
        }
        Ok(Findings {
            extremes: scan.finish()?,
            density_jump: jumps.into_iter().max_by(f32::total_cmp).expect("one at least"),
            densities: [
                rho.iter().copied().fold(f32::INFINITY, f32::min),
                crate::largest::largest(rho.iter().copied()),
            ],
        })
    }
}

fn models() -> [Model; 5] {
    [
        Model::new(&[37, 41, 29]),
        Model::new(&[400, 3, 21]),
        Model::new(&[5, 1, 7]),
        Model::new(&[1, 6, 5]),
        Model::new(&[130, 300]),
    ]
}

#[test]
fn blocks_and_threads_change_nothing() {
    for model in models() {
        let want = model.plainly();
        assert!(want.is_ok(), "{want:?}");
        for threads in [1, 3] {
            let cpu = Cpu::new(threads).unwrap();
            for step in [1, 2, 7, 41, 100, usize::MAX] {
                let step = step.min(model.lines());
                let findings = model.read(
                    &cpu,
                    step,
                    &mut Discard::new(&model.padded, Coefficients::Orthorhombic),
                );
                assert_eq!(findings, want, "{threads} threads, blocks of {step} lines");
            }
        }
    }
}

/// The only large jump is between two neighbours along one axis, wherever blocks begin.
#[test]
fn jumps_across_blocks() {
    let cpu = Cpu::new(2).unwrap();
    for axis in 0..3 {
        let mut model = Model::new(&[8, 6, 5]);
        let n = model.padded.model.n;
        let rho = model.arrays.last_mut().expect("density");
        for (cell, rho) in rho.iter_mut().enumerate() {
            let index = [cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]];
            *rho = if index[axis] < 3 { 2.0 } else { 3.0 };
        }
        for step in 1..=30 {
            let findings = model
                .read(
                    &cpu,
                    step,
                    &mut Discard::new(&model.padded, Coefficients::Orthorhombic),
                )
                .unwrap();
            assert_eq!(findings.density_jump, 1.5, "axis {axis}, blocks of {step} lines");
            assert_eq!(
                findings.densities,
                [2.0, 3.0],
                "axis {axis}, blocks of {step} lines"
            );
            assert_eq!(Findings::from_words(&findings.to_words()), Some(findings));
        }
    }
}

#[test]
fn the_first_bad_cell_is_named() {
    let cpu = Cpu::new(2).unwrap();
    let mut model = Model::new(&[37, 41, 29]);
    model.arrays[9][20_000] = -1.0;
    model.arrays[0][15_001] = f32::INFINITY;
    let want = model.plainly().unwrap_err();
    assert_eq!(want.cell, 15_001);
    for step in [1, 50, 700, model.lines()] {
        let findings = model.read(
            &cpu,
            step,
            &mut Discard::new(&model.padded, Coefficients::Orthorhombic),
        );
        assert_eq!(findings, Err(want.clone()));
    }
}

#[test]
fn a_failure_to_load_comes_out() {
    let model = Model::new(&[8, 6, 5]);
    let cpu = Cpu::new(2).unwrap();
    let mut inspection = Inspection::new(&model.padded, Coefficients::Orthorhombic);
    let mut block = vec![0.0; 10 * 8 * 6];
    let failed = inspection.block(&cpu, &mut block, |array, _, _| {
        if array == 9 { Err("no density") } else { Ok(()) }
    });
    assert_eq!(failed, Err("no density"));
}

#[test]
fn a_filler_fills_as_line_by_line() {
    let cpu = Cpu::new(2).unwrap();
    for model in models() {
        let nz = model.padded.model.n[0];
        let mut want = Medium::new(&model.padded).unwrap();
        let density = model.arrays.len() - 1;
        for (k, array) in model.arrays.iter().enumerate() {
            let quantity = if k == density {
                Property::Density
            } else {
                Property::Stiffness(k)
            };
            for (line, values) in array.chunks(nz).enumerate() {
                want.fill(quantity, line, values);
            }
        }
        for step in [1, 11, model.lines()] {
            let mut medium = Medium::new(&model.padded).unwrap();
            model
                .read(&cpu, step, &mut Filler::new(&mut medium, &cpu))
                .unwrap();
            assert!(medium.stiffness().eq(want.stiffness()) && medium.density() == want.density());
        }
    }
}
