//! Predicts a run on a mesh: its stable step, memory and time.

use super::advice::Whose;
use super::{Run, advice, damped, spreads};
use crate::modelling::plan::{check_host, end, gigabytes, of_step, span};
use crate::modelling::survey::shot::Resources;
use anyhow::bail;
use kernels::mesh::Place;
use kernels::mesh::quality::{self, POINTS_A_WAVELENGTH};
use kernels::mesh::step::{Bound, Law, Medium};
use kernels::methods::spectral_elements::{Pml, SpongeLayer, calibrate, gpu};
use rsf_io::Job;

/// The number of points per shortest wavelength of the sources below which there is a warning; with four, an element
/// of degree 4 is a wavelength long.
const FEWEST_POINTS: f64 = 4.0;

/// The highest degree that elements can have.
const HIGHEST_DEGREE: f64 = 8.0;

/// The largest stable step of a mesh.
pub struct Step {
    /// The largest stable step, s.
    pub limit: f64,
    /// The element that determines the limit.
    pub element: usize,
    /// The element with the fewest points on a wavelength, and the frequency (Hz) at which it has five.
    pub resolved: Option<(usize, f64)>,
    /// The reason why the run will be refused, with which its plan ends.
    pub refused: Option<String>,
}

/// Refuses a time step above the bound (after all lines of a plan), or warns of it; warns of sources whose
/// waves are too short for the mesh.
pub fn judge<const D: usize>(job: &Job, run: &Run<D>) -> anyhow::Result<Step> {
    let Bound { element, limit, .. } = run.setup().bound();
    let mut refused = None;
    // The limit is printed with seven digits, and a step that is copied from the output must be accepted.
    if run.dt > limit * (1.0 + 1e-6) {
        let loss = match run.rocks.relaxations {
            Some(_) => " with its attenuation",
            None => "",
        };
        let sentence = format!(
            "dt={} s is above {limit:.6e} s, up to which steps on this mesh{loss} are certainly stable: element \
            {element} around {} sets this limit",
            run.dt,
            Place::from(run.mesh.centre(element))
        );
        if job.choice("cfl")? == "error" {
            let units = of_step(run.dt, limit);
            let refusal = format!(
                "{sentence}; give a smaller dt=, enlarge that element, or run anyway with cfl=warn{units}"
            );
            match job.flag("plan")? {
                true => refused = Some(refusal),
                false => bail!("{refusal}"),
            }
        } else {
            job.warn(&sentence);
        }
    }
    let (shots, map) = (spreads::places(run), spreads::places_of_map(run));
    let sponge = run
        .sponge
        .map(|sponge| SpongeLayer::new(&run.mesh, &run.basis, sponge.thickness));
    for (places, whose) in [(&shots[..], Whose::Receivers), (&map[..], Whose::Map)] {
        advice::beside_sources(job, &run.mesh, (places, whose));
        advice::in_layers(job, run.pml.as_ref(), (places, whose));
        if let Some(layer) = &sponge {
            damped::in_sponge(job, layer, (places, whose));
        }
    }
    advice::in_rock(job, run, &shots);
    let resolved = quality::resolved(&run.mesh, &run.setup().slowest(), run.basis.degree());
    if let Some((slow, frequency)) =
        resolved.filter(|limit| run.timing.band.max > POINTS_A_WAVELENGTH / FEWEST_POINTS * limit.1)
    {
        let advice = run.timing.jump().unwrap_or_else(|| coarse(run, slow, frequency));
        job.warn(&advice);
    }
    Ok(Step {
        limit,
        element,
        resolved,
        refused,
    })
}

/// A warning about sources whose waves are too short for element `slow`, which resolves this frequency.
fn coarse<const D: usize>(run: &Run<D>, slow: usize, frequency: f64) -> String {
    let highest = run.timing.band.max;
    let times = highest / frequency;
    let needed = (run.basis.degree() as f64 * times).ceil();
    let cure = match needed <= HIGHEST_DEGREE {
        true => {
            format!(
                "give degree={needed:.0} (which needs shorter steps), refine the mesh by a factor of {times:.1}, or \
                lower the frequency"
            )
        }
        false => format!(
            "refine the mesh by a factor of {times:.1} or lower the frequency; degree={HIGHEST_DEGREE} would resolve {:.4} Hz",
            HIGHEST_DEGREE * frequency / run.basis.degree() as f64
        ),
    };
    format!(
        "only {:.1} points per shortest wavelength in element {slow} around {}: the highest frequency of the sources is {highest:.4} Hz, but the mesh resolves {frequency:.4} Hz with five points; {cure}",
        POINTS_A_WAVELENGTH / times,
        Place::from(run.mesh.centre(slow)),
    )
}

/// The estimated number of bytes of the run on all ranks together.
fn bytes<const D: usize>(run: &Run<D>) -> f64 {
    let local = run.basis.len().pow(D as u32) as f64;
    let sums = 8.0 + 4.0 * D as f64;
    let relaxing = match &run.rocks.relaxations {
        Some(_) => 4.0 * (run.rocks.grain.mechanisms() * (D * (D + 1) / 2 + 1)) as f64,
        None => 0.0,
    };
    let nodes = 4.0 * (D * 3_usize.pow(D as u32)) as f64;
    // The numbers of the points of the whole mesh are held while it is set up.
    let constants = match &run.rocks.model {
        Some(_) => {
            let table = |m: &Medium| matches!(m.law, Law::Anisotropic(_));
            let law = if run.rocks.media.iter().any(table) {
                21.0
            } else {
                2.0
            };
            4.0 * (law + if relaxing > 0.0 { 2.0 } else { 0.0 })
        }
        None => 0.0,
    };
    let of_elements = run.mesh.len() as f64 * (nodes + local * (sums + relaxing + constants + 4.0));
    let of_places = (run.shot.snapshot_points.len() + run.shot.receivers.len()) as f64 * local * 8.0;
    // Layers have filters, memory variables and smoothed velocities, axis by axis.
    let axes = |pml: &Pml<D>| {
        let of = |element: usize| pml.axes(&run.mesh.coordinates(element)).count_ones();
        (0..run.mesh.len()).map(of).sum::<u32>()
    };
    let pairs = run.pml.as_ref().map_or(0, axes);
    let of_layers = f64::from(pairs) * local * 4.0 * (4 + 2 * D) as f64;
    run.rocks.held as f64 + of_layers + of_elements + of_places + run.points as f64 * 4.0 * (3 * D + 2) as f64
}

/// Refuses a run that does not fit into the memory of a host; all ranks call it.
pub fn check_memory<const D: usize>(job: &Job, run: &Run<D>, on: Resources<'_>) -> anyhow::Result<()> {
    let share = own_elements(on) as f64 / run.mesh.len() as f64;
    let needed = bytes(run) * share * on.machine.groups as f64;
    let elements = run.mesh.len();
    check_host(job, on.world, [needed; 2], |share| {
        format!(
            "a mesh of {:.0} elements or a lower degree= fits",
            0.98 * share * elements as f64
        )
    })
}

/// Prints the lines of `verb=y`.
pub fn summary<const D: usize>(job: &Job, run: &Run<D>, step: &Step) {
    let mesh = &run.mesh;
    let layers = run.pml.as_ref().map_or(String::new(), |pml| {
        format!("; {} elements in perfectly matched layers", pml.elements(mesh))
    });
    job.say(&format!(
        "{} elements of degree {}, {} points; {} absorbing and {} free faces{layers}",
        mesh.len(),
        run.basis.degree(),
        run.points,
        mesh.absorbing().len(),
        mesh.free().len()
    ));
    if run.pml.is_none() && !mesh.absorbing().is_empty() && !job.given("sponge") {
        job.say(
            "absorbing faces reflect up to 11 % of a wave, and more of a grazing one: cpml= (of this program or of \
             sfhexmesh) absorbs better where the sides are flat, and sponge= everywhere",
        );
    }
    job.say(&format!(
        "largest step that is certainly stable {:.6e} s, of element {} around {}; dt={} is {:.0} % of it",
        step.limit,
        step.element,
        Place::from(mesh.centre(step.element)),
        run.dt,
        100.0 * run.dt / step.limit
    ));
    if let Some((element, frequency)) = step.resolved {
        job.say(&format!(
            "resolved up to {frequency:.4} Hz, five points per shortest wavelength of element {element}"
        ));
    }
}

/// The seconds of a step of all ranks together, from a small box that is timed now. All ranks call it.
fn seconds<const D: usize>(run: &Run<D>, on: Resources<'_>) -> anyhow::Result<f64> {
    let speed = match on.gpus.first() {
        Some(gpu) => gpu::calibrate(&run.setup(), gpu).map(|rate| rate * on.gpus.len() as f64),
        None => calibrate(&run.setup(), &on.machine.cpu),
    };
    let speed = on.world.agree(speed.map_err(Into::into))?;
    let mine = own_elements(on) as f64 / speed;
    let all = on.world.numbers(&[mine.to_bits()])?;
    let all = all.iter().flatten().map(|&bits| f64::from_bits(bits));
    Ok(all.fold(0.0, f64::max))
}

/// The number of elements of this rank.
fn own_elements(on: Resources<'_>) -> usize {
    let (ranges, own) = on.machine.subdomains();
    ranges[own].iter().map(ExactSizeIterator::len).sum()
}

/// Prints the needs of the run, without running it; returns its expected seconds.
pub fn print<const D: usize>(job: &Job, run: &Run<D>, on: Resources<'_>) -> anyhow::Result<f64> {
    let step = on.world.agree(judge(job, run))?;
    // Without GPUs this has been checked before.
    if !on.gpus.is_empty() {
        check_memory(job, run, on)?;
    }
    let each = seconds(run, on)?;
    let all = each * run.shot.nt as f64;
    if on.world.leads() {
        summary(job, run, &step);
        job.say(&format!("device {}", on.machine.describe(None)));
        job.say(&format!("memory: about {}", gigabytes(bytes(run))));
        if on.machine.has_gpus() {
            let all = gpu::bytes(&run.setup(), run.points) as f64;
            job.say(&format!("memory of GPUs: about {} in all", gigabytes(all)));
        }
        run.timing.words().iter().for_each(|words| job.say(words));
        let end = run.begin + run.shot.nt as f64 * run.dt;
        let [begin, end] = [run.begin, end].map(|time| time as f32);
        job.say(&format!("{} steps, from {begin} s to {end} s", run.shot.nt));
        job.say(&format!(
            "time about {} at {:.3} million elements per second (a small box timed now); nothing was run (plan=y)",
            span(all),
            run.mesh.len() as f64 / each / 1e6
        ));
    }
    on.world.agree(end(step.refused.as_ref()))?;
    Ok(all)
}
