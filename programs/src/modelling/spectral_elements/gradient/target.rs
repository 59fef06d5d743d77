//! What a gradient is by: regions, the grid of the model, or a grid of its own.

use super::super::Run;
use super::parameters;
use anyhow::{Context, bail};
use kernels::mesh::Mesh;
use kernels::methods::spectral_elements::Lattice;
use kernels::methods::spectral_elements::adjoint::{Gradient, Parameters, covers};
use rsf_io::{Axis, Job, Output};

/// Where the parameters are.
enum Place<const D: usize> {
    /// One set of them a region.
    Regions(usize),
    /// At the nodes of grids, one for all regions or one each.
    Grids(Lattice<D>, usize),
}

/// By what a gradient is.
pub struct Target<const D: usize> {
    place: Place<D>,
    parameters: Parameters,
    names: &'static str,
}

/// Names of axes in the order of files.
const NAMES: [&str; 3] = ["z", "x", "y"];

impl<const D: usize> Target<D> {
    /// As `on=` and `wrt=` say.
    pub fn read(job: &Job, run: &Run<D>) -> anyhow::Result<Self> {
        let varies = run.rocks.model.is_some();
        let place = match (job.choice("on")?, run.rocks.lattice) {
            ("regions", Some(_)) => {
                bail!("on=regions: vp=, vs= or den= vary within the regions: give on=model or on=grid")
            }
            ("auto" | "regions", None) if varies => bail!(
                "the model varies within the regions: on=grid gives the gradient at the nodes of nqz=, nqx= and so on"
            ),
            ("model", None) => bail!(
                "on=model: the model is not on a grid; on=regions gives a gradient for each region, on=grid one at the nodes of nqz=, nqx= ..."
            ),
            ("grid", _) => {
                let lattice = grid(job, &run.mesh)?;
                covers((&run.mesh, &run.basis), (lattice, 1))
                    .context("on=grid: the grid of nqz=, oqz=, dqz= and so on does not serve this mesh")?;
                Place::Grids(lattice, 1)
            }
            (_, Some((lattice, count))) => Place::Grids(lattice, count),
            (_, None) => Place::Regions(run.rocks.media.len()),
        };
        let (parameters, names) = parameters(job)?;
        Ok(Self {
            place,
            parameters,
            names,
        })
    }

    /// Writes the axes.
    pub fn head(&self, output: &mut Output) {
        let names = Axis::new(3, 0.0, 1.0).label(self.names);
        match &self.place {
            Place::Regions(count) => {
                output.set_axis(1, &Axis::new(*count, 0.0, 1.0).label("region"));
                output.set_axis(2, &names);
                output.set_axis(3, &Axis::new(1, 0.0, 1.0));
                output.end_axes(2);
            }
            Place::Grids(lattice, count) => {
                for (k, name) in NAMES.iter().enumerate().take(D) {
                    // z is the first axis of files and the last of meshes.
                    let c = (k + D - 1) % D;
                    let axis = Axis::new(lattice.n[c], lattice.o[c] as f32, lattice.d[c] as f32);
                    output.set_axis(k + 1, &axis.label(name).unit("m"));
                }
                let mut last = D + 1;
                if *count > 1 {
                    output.set_axis(last, &Axis::new(*count, 0.0, 1.0).label("region"));
                    last += 1;
                }
                output.set_axis(last, &names);
                output.end_axes(last);
            }
        }
        for (key, text) in [
            ("quantity", "derivative of the misfit"),
            ("label", "Derivative of the misfit"),
            ("unit", ""),
        ] {
            output.put_text(key, text);
        }
    }

    /// The numbers of a gradient.
    pub fn values(&self, gradient: &Gradient<D>, run: &Run<D>) -> anyhow::Result<Vec<f32>> {
        let planes: Vec<f64> = match &self.place {
            Place::Regions(count) => {
                let all = gradient.of_regions(&run.mesh, *count, self.parameters);
                (0..3).flat_map(|k| all.iter().map(move |own| own[k])).collect()
            }
            Place::Grids(lattice, count) => gradient
                .on_grid((&run.mesh, &run.basis), (*lattice, *count), self.parameters)?
                .concat(),
        };
        Ok(planes.into_iter().map(|x| x as f32).collect())
    }
}

/// The grid of `nqz=`, `oqz=`, `dqz=` and so on; it covers the mesh unless they say otherwise.
fn grid<const D: usize>(job: &Job, mesh: &Mesh<D>) -> anyhow::Result<Lattice<D>> {
    let mut lattice = Lattice {
        n: [1; D],
        o: [0.0; D],
        d: [1.0; D],
    };
    for c in 0..D {
        let name = NAMES[(c + 1) % D];
        let along = mesh.nodes().iter().map(|node| node[c]);
        let low = along.clone().fold(f64::INFINITY, f64::min);
        let high = along.fold(f64::NEG_INFINITY, f64::max);
        let n = usize::try_from(job.int(&format!("nq{name}"))?)?;
        let first = job.double_opt(&format!("oq{name}"))?.unwrap_or(low);
        if first >= high || !first.is_finite() {
            bail!(
                "oq{name}={first} lies beyond the mesh, which ends at {high} m along {name}: give a smaller oq{name}="
            );
        }
        let whole = (high - first) / (n.max(2) - 1) as f64;
        let step = job.double_opt(&format!("dq{name}"))?.unwrap_or(whole);
        if !(step > 0.0 && step.is_finite()) {
            bail!("dq{name}={step}: the distance of the nodes must be above 0 m");
        }
        (lattice.n[c], lattice.o[c], lattice.d[c]) = (n, first, step);
    }
    Ok(lattice)
}
