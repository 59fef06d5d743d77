//! The discrete energy of a run, which the scheme conserves.

use super::Number;
use super::cpu::{Engine, by_length};
use super::element::Forces;
use super::lanes::LANES;
use super::scratch::Scratch;
use super::shape::Tables;

impl<const D: usize> Engine<D> {
    /// The energy (J; in 2-D J/m) of a whole mesh of solids without attenuation after a step: `(v.M v + u.K u -
    /// dt^2/4 a.M a) / 2`. Where no source acts and no side absorbs, Newmark's scheme conserves this sum exactly; as
    /// dt tends to zero it becomes the kinetic and the elastic energy.
    pub fn energy(&self) -> f64 {
        compiled_here!(&self: Engine<2> | Engine<3>, energy_by_length() -> f64)
    }

    fn energy_by_length(&self) -> f64 {
        let elastic: f64 = by_length!(self, elastic_of());
        let square = self.dt * self.dt / 4.0;
        let fields = self.velocity.iter().zip(&self.acceleration);
        let norm = |x: &[Number; D]| x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        let kinetic = fields.enumerate().map(|(point, (v, a))| {
            let mass = self.inverse_mass.mass(point);
            mass * (norm(v) - square * norm(a))
        });
        0.5 * (kinetic.sum::<f64>() + elastic)
    }

    /// `u.K u`
    fn elastic_of<const N: usize>(&self) -> f64 {
        let points = N.pow(D as u32);
        let mut scratch = Scratch::<D>::new(points, N * N);
        let mut out = vec![[0.0; D]; LANES * points];
        let mut work = 0.0;
        for block in &self.blocks {
            let forces = Forces {
                block,
                tables: &Tables::<N>::new(&self.basis),
                motion: self.motion(),
                memory: None,
                damped: None,
                scratch: &mut scratch,
                out: out.as_flattened_mut(),
            };
            forces.run(self.cpu.arch());
            for lane in 0..block.elements.len() {
                for (force, numbers) in out[lane * points..].iter().zip(&block.points) {
                    let u = self.displacement[numbers[lane] as usize];
                    work -= (0..D).map(|c| f64::from(u[c]) * f64::from(force[c])).sum::<f64>();
                }
            }
        }
        work
    }
}
