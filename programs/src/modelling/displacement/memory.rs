//! Checks, before any memory is allocated, whether a run fits into the memory of its GPUs, and which size would fit.

use super::{Run, plan};
use crate::modelling::machine::{free, outer};
use crate::modelling::model;
use crate::modelling::plan::{check_host, smaller_grid};
use crate::modelling::survey::shot::Resources;
use anyhow::anyhow;
use kernels::device::gpu::Gpu;
use kernels::grid::{Grid, Padded};
use kernels::medium::Symmetry;
use kernels::methods::displacement::gpu::{bytes, host_bytes};
use kernels::methods::displacement::{self, SLABS};
use kernels::parallel::options::Transport;
use kernels::parallel::slabs::Slab;
use rsf_io::Job;
use std::sync::Arc;

/// The classes from narrow to wide, with the value of `sym=`.
const CLASSES: [(Symmetry, &str); 3] = [
    (Symmetry::Isotropic, "iso"),
    (Symmetry::Vti, "vti"),
    (Symmetry::Orthorhombic, "ort"),
];

/// The largest number of GPUs that a message suggests.
const MOST: usize = 1000;

/// The GPUs of a rank and the slabs that will run on them.
pub struct MemoryCheck<'a> {
    run: &'a Run,
    slabs: &'a [Slab],
    gpus: &'a [Arc<Gpu>],
    /// Whether messages to other ranks are in the memory of the GPUs; otherwise they are in the memory of the host.
    on_device: bool,
}

impl<'a> MemoryCheck<'a> {
    /// A check for the slabs of this rank, one per GPU.
    pub fn new(run: &'a Run, on: Resources<'a>) -> Self {
        // If the devices of one host copy directly, messages only notify; whether they can do so is not yet
        // known.
        let may = matches!(run.transport, Transport::Auto | Transport::CudaAware);
        Self {
            run,
            slabs: &on.machine.slabs,
            gpus: on.gpus,
            on_device: may && on.world.ranks().reaches_devices(),
        }
    }

    /// The number of neighbours of a slab on other ranks.
    fn outer(&self, number: usize) -> usize {
        outer(self.slabs, self.run.padded.planes(), number)
    }

    /// The number of bytes of a GPU's memory that its slab needs, with kernels of this class.
    pub fn bytes(&self, number: usize, class: Symmetry) -> usize {
        let outer = if self.on_device { self.outer(number) } else { 0 };
        let (shot, padded) = (&self.run.shot, &self.run.padded);
        bytes(shot, padded, &self.slabs[number], class, outer)
    }

    /// The number of bytes of pinned host memory that the GPUs read and write.
    pub fn host_bytes(&self) -> usize {
        let all: usize = (0..self.slabs.len()).map(|k| self.outer(k)).sum();
        let outer = if self.on_device { 0 } else { all };
        host_bytes(&self.run.shot, &self.run.padded, self.slabs, outer)
    }

    /// A message if a run with kernels of this class does not fit: the memory that it needs, the free memory, and the
    /// size that would fit.
    pub fn shortage(&self, class: Symmetry) -> anyhow::Result<Option<String>> {
        for (number, gpu) in self.gpus.iter().enumerate() {
            let (free, name) = free(gpu)?;
            let needed = self.bytes(number, class);
            if needed > free {
                let share = if self.slabs.len() > 1 {
                    "its part of this run"
                } else {
                    "this run"
                };
                return Ok(Some(format!(
                    "{name} has too little memory for {share}: {:.2} GB are needed with {class} kernels, but {:.2} GB are free; {}",
                    needed as f64 / 1e9,
                    free as f64 / 1e9,
                    ways_out(self.run, self.slabs.len(), class, free)
                )));
            }
        }
        Ok(None)
    }

    /// Advice to choose a narrower class than `sym=` forces, if its kernels fit.
    pub fn narrower(&self, class: Symmetry) -> anyhow::Result<String> {
        for (narrow, word) in CLASSES {
            if class != narrow && class.holds(narrow) && self.shortage(narrow)?.is_none() {
                return Ok(format!(
                    "; {narrow} kernels fit (sym={word}, if the model has that symmetry)"
                ));
            }
        }
        Ok(String::new())
    }
}

/// Advice on the size that would fit on GPUs with `free` bytes each.
fn ways_out(run: &Run, gpus: usize, class: Symmetry, free: usize) -> String {
    let mut ways = Vec::new();
    if let Some(count) = enough(run, gpus, class, free) {
        ways.push(format!("{count} such GPUs hold it (ngpu={count})"));
    }
    if let Some(grid) = largest(run, gpus, class, free) {
        ways.push(format!(
            "a grid of {} with its frame fits {}",
            model::words(&grid),
            if gpus == 1 {
                "this one".into()
            } else {
                format!("these {gpus}")
            }
        ));
    }
    ways.push("device=cpu uses the memory of the host".into());
    ways.join("; ")
}

fn layout(run: &Run, gpus: usize) -> Vec<Slab> {
    SLABS
        .balance(run.padded.planes(), run.padded.nb, &vec![1.0; gpus])
        .unwrap_or_default()
}

/// The number of GPUs with `free` bytes each on which the run fits.
fn enough(run: &Run, gpus: usize, class: Symmetry, free: usize) -> Option<usize> {
    let most = (run.padded.planes() / SLABS.least).min(MOST);
    (gpus + 1..=most).find(|&count| {
        let slabs = layout(run, count);
        slabs
            .iter()
            .all(|slab| bytes(&run.shot, &run.padded, slab, class, 0) <= free)
    })
}

/// The largest padded grid of the same shape that fits, frame included.
fn largest(run: &Run, gpus: usize, class: Symmetry, free: usize) -> Option<Grid> {
    let (p, ndim) = (&run.padded, run.padded.ndim());
    (1..100).rev().find_map(|percent| {
        let mut model = p.model.clone();
        for n in &mut model.n[..ndim] {
            *n = (*n * percent / 100).max(1);
        }
        let smaller = Padded::new(&model, p.nb);
        let slabs = SLABS
            .balance(smaller.planes(), smaller.nb, &vec![1.0; gpus])
            .ok()?;
        // The window of the snapshots shrinks with the grid.
        let mut shot = run.shot.clone();
        if let Some(snapshots) = &mut shot.snapshots {
            for (axis, cells) in snapshots.window.iter_mut().enumerate() {
                cells.end = cells.end.min(smaller.n[axis]).max(1);
                cells.start = cells.start.min(cells.end - 1);
            }
        }
        let fits = slabs
            .iter()
            .all(|slab| bytes(&shot, &smaller, slab, class, 0) <= free);
        fits.then_some(Grid {
            n: smaller.n,
            ..model
        })
    })
}

/// Refuses a run that does not fit into the memory of the host, before the first volume is read; all ranks call it.
pub fn host(job: &Job, run: &Run, on: Resources<'_>) -> anyhow::Result<()> {
    let (machine, memory) = (on.machine, MemoryCheck::new(run, on));
    let host = match on.gpus.is_empty() {
        true => displacement::bytes(
            &run.padded,
            &machine.slabs,
            &machine.cpu,
            plan::read_as(job, run)?,
        ),
        false => memory.host_bytes(),
    };
    let all = (host * machine.groups) as f64 + on.held as f64;
    check_host(job, on.world, [all; 2], |share| smaller_grid(&run.padded, share))
}

/// A message if the GPUs of this rank lack memory. If the class is not yet known, it may still turn out to be
/// narrow enough. All ranks call it.
pub fn shortage(job: &Job, run: &Run, on: Resources<'_>) -> anyhow::Result<Option<String>> {
    let memory = MemoryCheck::new(run, on);
    let narrowest = plan::requested_class(job, run.padded.ndim())?.unwrap_or(Symmetry::Isotropic);
    Ok(match memory.shortage(narrowest)? {
        Some(shortage) => Some(format!("{shortage}{}", memory.narrower(narrowest)?)),
        None => None,
    })
}

/// Refuses a run that does not fit into the memory of the host or of the GPUs of any rank; all ranks call it.
pub fn check(job: &Job, run: &Run, on: Resources<'_>) -> anyhow::Result<()> {
    host(job, run, on)?;
    let shortage = on.world.agree(shortage(job, run, on))?;
    on.world
        .agree(shortage.map_or(Ok(()), |shortage| Err(anyhow!(shortage))))
}
