//! The parameters of derivatives: in regions, on the grid of the model, or on a separate grid.

use super::super::Run;
use anyhow::{Context, bail, ensure};
use kernels::device::cpu::Cpu;
use kernels::medium::voigt::Coefficients;
use kernels::mesh::Mesh;
use kernels::methods::spectral_elements::Lattice;
use kernels::methods::spectral_elements::adjoint::{Change, Gradient, Parameters, covers};
use rsf_io::{Axis, Input, Job, Output};

/// The places of the parameters.
enum Place<const D: usize> {
    /// One set of them for each region.
    Regions(usize),
    /// The nodes of grids; there is one grid for all regions or one for each region.
    Grids(Lattice<D>, usize),
}

/// The parameters of derivatives.
pub struct Target<const D: usize> {
    place: Place<D>,
    parameters: Parameters,
    /// The planes of files: their names, and their numbers among the parameters.
    planes: Vec<(String, usize)>,
    /// The quality factors of P and S waves, if derivatives are taken with respect to them; the method gives
    /// derivatives with respect to 1/Q.
    quality: Option<[Vec<f32>; 2]>,
}

/// Names of axes in the order of files.
const NAMES: [&str; 3] = ["z", "x", "y"];

impl<const D: usize> Target<D> {
    /// Reads `on=` and `wrt=`.
    pub fn read(job: &Job, run: &Run<D>) -> anyhow::Result<Self> {
        let varies = run.rocks.varies;
        let place = match (job.choice("on")?, run.rocks.lattice) {
            ("regions", Some(_)) => {
                bail!(
                    "on=regions is not possible, because vp=, vs= or den= vary within the regions: give \
                    on=model or on=grid"
                )
            }
            ("auto" | "regions", None) if varies => bail!(
                "the model varies within the regions: on=grid gives the gradient at the nodes of nqz=, nqx= and so on"
            ),
            ("model", None) => bail!(
                "on=model: the model is not on a grid; on=regions gives a gradient for each region, on=grid one at the nodes of nqz=, nqx= ..."
            ),
            ("grid", _) => {
                let lattice = grid(job, &run.mesh)?;
                covers((&run.mesh, &run.basis, run.pml.as_ref()), (lattice, 1))
                    .context("on=grid: the grid of nqz=, oqz=, dqz= and so on does not suit this mesh")?;
                Place::Grids(lattice, 1)
            }
            (_, Some((lattice, count))) => Place::Grids(lattice, count),
            (_, None) => Place::Regions(run.rocks.media.len()),
        };
        let (parameters, names) = parameters(job)?;
        let planes = match parameters {
            Parameters::Constants => constants(run, &place),
            _ => names.split(' ').map(String::from).zip(0..).collect(),
        };
        Ok(Self {
            quality: match parameters {
                Parameters::SpeedsAndLosses => Some(quality(run, &place)?),
                _ => None,
            },
            place,
            parameters,
            planes,
        })
    }

    /// The derivative of 1/Q with respect to Q at a place, for a plane of quality factors; zero where there is no
    /// attenuation.
    fn by_quality(&self, number: usize, place: usize) -> Option<f64> {
        let quality = self.quality.as_ref()?.get(number.checked_sub(3)?)?;
        let own = f64::from(quality[place.min(quality.len() - 1)]);
        Some(if own > 0.0 { -1.0 / (own * own) } else { 0.0 })
    }

    /// The parameters that `wrt=` names.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// The number of regions or nodes; a plane has one value for each.
    fn places(&self) -> usize {
        match &self.place {
            Place::Regions(count) => *count,
            Place::Grids(lattice, count) => lattice.nodes() * count,
        }
    }

    /// The axes of files.
    fn axes(&self) -> Vec<Axis> {
        let names: Vec<&str> = self.planes.iter().map(|(name, _)| name.as_str()).collect();
        let names = Axis::new(names.len(), 0.0, 1.0).label(&names.join(" "));
        let mut axes = Vec::new();
        match &self.place {
            Place::Regions(count) => axes.push(Axis::new(*count, 0.0, 1.0).label("region")),
            Place::Grids(lattice, count) => {
                for (k, name) in NAMES.iter().enumerate().take(D) {
                    // z is the first axis of files and the last of meshes.
                    let c = (k + D - 1) % D;
                    let axis = Axis::new(lattice.n[c], lattice.o[c] as f32, lattice.d[c] as f32);
                    axes.push(axis.label(name).unit("m"));
                }
                if *count > 1 {
                    axes.push(Axis::new(*count, 0.0, 1.0).label("region"));
                }
            }
        }
        axes.push(names);
        axes
    }

    /// Refuses a perturbation that does not have these axes.
    pub fn check(&self, input: &Input) -> anyhow::Result<()> {
        let expected = self.axes();
        let given: Vec<Axis> = (1..=expected.len()).map(|k| input.axis(k)).collect();
        let sizes = |axes: &[Axis]| {
            let each = axes.iter().enumerate();
            let words: Vec<String> = each.map(|(k, axis)| format!("n{}={}", k + 1, axis.n)).collect();
            words.join(" ")
        };
        let values: usize = expected.iter().map(|axis| axis.n).product();
        let same = given
            .iter()
            .zip(&expected)
            .all(|(given, expected)| given.n == expected.n);
        ensure!(
            same && input.len() == values as u64,
            "{} has {} and {} values; adj=n takes a perturbation with {}, whose last axis is {}: {values} values",
            input.name(),
            sizes(&given),
            input.len(),
            sizes(&expected),
            expected
                .last()
                .and_then(|axis| axis.label.as_deref())
                .unwrap_or_default()
        );
        let Place::Grids(..) = self.place else {
            return Ok(());
        };
        for (k, (given, expected)) in given.iter().zip(&expected).enumerate().take(D) {
            let apart = |a: f32, b: f32| (a - b).abs() > 1e-3 * expected.d.abs();
            ensure!(
                expected.n == 1 || !(apart(given.o, expected.o) || apart(given.d, expected.d)),
                "{} has o{axis}={} d{axis}={}, but the nodes of this run begin at {} m with steps of {} m \
                along {}: sfremap1 changes the grid",
                input.name(),
                given.o,
                given.d,
                expected.o,
                expected.d,
                NAMES[k],
                axis = k + 1
            );
        }
        Ok(())
    }

    /// The change of the model given by these numbers of a file.
    pub fn change(&self, values: &[f32], run: &Run<D>) -> anyhow::Result<Change<D>> {
        let count = self.places();
        let mut all = vec![vec![0.0; count]; self.parameters.count()];
        for ((_, number), plane) in self.planes.iter().zip(values.chunks_exact(count)) {
            let own =
                |(place, x): (usize, &f32)| f64::from(*x) * self.by_quality(*number, place).unwrap_or(1.0);
            all[*number] = plane.iter().enumerate().map(own).collect();
        }
        let setup = run.setup();
        Ok(match &self.place {
            Place::Regions(_) => Change::of_regions(&setup, &all, self.parameters),
            Place::Grids(lattice, count) => {
                Change::on_grid(&setup, (*lattice, *count), &all, self.parameters)?
            }
        })
    }

    /// Writes the axes to the header.
    pub fn head(&self, output: &mut Output) {
        let axes = self.axes();
        for (k, axis) in axes.iter().enumerate() {
            output.set_axis(k + 1, axis);
        }
        if axes.len() < 3 {
            output.set_axis(3, &Axis::new(1, 0.0, 1.0));
        }
        output.end_axes(axes.len());
    }

    /// The numbers of a gradient, and whether they are beyond the range of single precision.
    pub fn values(
        &self,
        gradient: &Gradient<D>,
        run: &Run<D>,
        cpu: &Cpu,
    ) -> anyhow::Result<(Vec<f32>, bool)> {
        let all = match &self.place {
            Place::Regions(count) => gradient.of_regions(&run.mesh, *count),
            Place::Grids(lattice, count) => {
                gradient.on_grid(cpu, (&run.mesh, &run.basis, run.pml.as_ref()), (*lattice, *count))?
            }
        };
        let own =
            |number: usize, place: usize| self.by_quality(number, place).unwrap_or(1.0) * all[number][place];
        let planes = self
            .planes
            .iter()
            .flat_map(|(_, number)| (0..self.places()).map(|place| own(*number, place)));
        let values: Vec<f32> = planes.map(|x| x as f32).collect();
        let lost = values.iter().any(|x| !x.is_finite())
            || (values.iter().all(|x| *x == 0.0) && !gradient.is_zero());
        Ok((values, lost))
    }

    /// The number of values of a gradient, and the length of its first axis.
    pub fn numbers(&self) -> [usize; 2] {
        let first = match &self.place {
            Place::Regions(count) => *count,
            // z is the first axis of files.
            Place::Grids(lattice, _) => lattice.n[D - 1],
        };
        [self.places() * self.planes.len(), first]
    }
}

/// Writes the sum of gradients; `lost` says whether single precision has lost numbers of some of them.
pub fn write(job: &Job, mut output: Output, values: &[f32], lost: bool) -> anyhow::Result<()> {
    if lost || values.iter().any(|x| !x.is_finite()) {
        job.warn("the result is beyond the range of single precision: scale m0= (or fx=, mech=) and the data, or take other parameters (wrt=)");
    }
    output.write_f32(values)?;
    Ok(output.finish()?)
}

/// The parameters that `wrt=` names.
fn parameters(job: &Job) -> anyhow::Result<(Parameters, &'static str)> {
    Ok(match job.choice("wrt")? {
        "lambda,mu,rho" => (Parameters::Lame, "lambda mu rho"),
        "ip,is,rho" => (Parameters::Impedances, "ip is rho"),
        "ccc,rho" => (Parameters::Constants, ""),
        "vp,vs,rho,qp,qs" => (Parameters::SpeedsAndLosses, "vp vs rho qp qs"),
        _ => (Parameters::Speeds, "vp vs rho"),
    })
}

/// The quality factors of a run, with respect to which derivatives are requested.
///
/// # Errors
/// Returns an error if the run has no quality factors, or if the quality factors of a grid are not given at the places
/// of the derivatives.
fn quality<const D: usize>(run: &Run<D>, place: &Place<D>) -> anyhow::Result<[Vec<f32>; 2]> {
    let Some(quality) = &run.rocks.quality else {
        bail!("wrt=vp,vs,rho,qp,qs: the run has no qp= and qs=: give both, as numbers or as grids");
    };
    let nodes = match place {
        Place::Regions(_) => 1,
        Place::Grids(lattice, count) => lattice.nodes() * count,
    };
    if let Some(grid) = quality.iter().find(|own| own.len() > 1 && own.len() != nodes) {
        bail!(
            "wrt=vp,vs,rho,qp,qs: the quality factors have {} nodes, but the grid of the derivatives has {nodes}: give on=model",
            grid.len()
        );
    }
    Ok(quality.clone())
}

/// The planes of `wrt=ccc,rho`: the constants of ccc= in the order of its file, all 21 in the order of its rows for
/// regions, and otherwise the constants that affect waves in the mesh.
fn constants<const D: usize>(run: &Run<D>, place: &Place<D>) -> Vec<(String, usize)> {
    let pairs: Vec<[usize; 2]> = match place {
        Place::Regions(_) => (0..6).flat_map(|i| (i..6).map(move |j| [i, j])).collect(),
        Place::Grids(..) if !run.rocks.constants.is_empty() => run.rocks.constants.clone(),
        Place::Grids(..) => {
            let table = Coefficients::All.table(D);
            let order = table.file_order().into_iter();
            order
                .map(|at| [table.pairs[at].0 - 1, table.pairs[at].1 - 1])
                .collect()
        }
    };
    let name = |[i, j]: [usize; 2]| (format!("c{}{}", i + 1, j + 1), Parameters::constant(i, j));
    let density = ("rho".to_string(), Parameters::Constants.count() - 1);
    pairs.into_iter().map(name).chain([density]).collect()
}

/// The grid of `nqz=`, `oqz=`, `dqz=` and so on; it covers the mesh unless these parameters specify another extent.
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
