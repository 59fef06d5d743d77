//! The memory that linearised shots need on a device, and the remainder for their reverse sweeps.

use super::engine::Steps;
use super::{Born, ImageRequest, Number, gpu};
use crate::Error;
use crate::communicator::{Alone, Communicator, agree};
use crate::device::accelerator::Accelerator;
use crate::grid::{Padded, stencil};
use crate::methods::velocity_stress::Shot;
use crate::methods::velocity_stress::layout::RIM;
use crate::parallel::options::Transport;
use bytemuck::{cast_slice, pod_collect_to_vec};
use gpu::{LocalProgram, Planes, Shares};
use std::ops::Range;
use std::sync::Arc;

/// The memory of a device, or of the smallest of several devices that share a shot.
pub(super) struct Placed {
    /// The planes of each device.
    pub planes: Vec<Planes>,
    /// Bytes of free memory.
    pub free: usize,
    /// Bytes that all shots share, and bytes that each of the shots side by side needs in addition to its states.
    pub needed: [usize; 2],
    /// Bytes of a run with the scattered field.
    pub side_by_side: usize,
    /// Bytes of a checkpoint and of a recorded step.
    pub sizes: [usize; 2],
    /// `sizes` with boundary saving and the bytes of its working memory, or the reason why it is not possible.
    pub boundary_saving: Result<([usize; 2], usize), &'static str>,
}

/// Bytes left for each of `shots` shots side by side; `None` if they do not fit.
fn left_for(free: usize, [shared, each]: [usize; 2], shots: usize) -> Option<usize> {
    (free.checked_sub(shared)? / shots.max(1)).checked_sub(each)
}

impl<T: Number> Born<T> {
    /// The planes of every device; a single entry with all planes if none has been chosen.
    pub(super) fn planes(&self) -> Vec<Planes> {
        match &self.placed {
            Some(placed) => placed.planes.clone(),
            None => {
                let all = 0..self.program.rows.padded.planes();
                vec![Planes {
                    own: all.clone(),
                    memory: all,
                }]
            }
        }
    }

    /// Number of devices that share every shot.
    pub fn devices(&self) -> usize {
        self.planes().len()
    }

    /// Bytes that a device has left for the reverse sweep of each of `shots` shots side by side; `None` if processors
    /// run the steps.
    pub fn room(&self, shots: usize) -> Option<usize> {
        let of = |placed: &Placed| left_for(placed.free, placed.needed, shots).unwrap_or(0);
        self.placed.as_ref().map(of)
    }

    /// Checks that a device has room for a run with the scattered field. A reverse sweep may need less.
    ///
    /// # Errors
    /// Returns an error that says how much memory is needed if there is too little.
    pub fn fits_side_by_side(&self) -> Result<(), Error> {
        match &self.placed {
            Some(placed) if placed.side_by_side > placed.free => Err(Error::setup(format!(
                "the device has {:.2} GB of memory free, but a run with its scattered field needs {:.2} GB there: use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                placed.side_by_side as f64 / 1e9
            ))),
            _ => Ok(()),
        }
    }
}

/// The planes of the medium that each of several ranks needs for a shot that their devices share.
pub struct RankPlanes {
    /// Planes of the grid that the rank owns: the planes of all ranks are consecutive.
    pub own: Range<usize>,
    /// Planes on which the rank needs the medium.
    pub prepared: Range<usize>,
}

impl RankPlanes {
    /// The planes of ranks with `devices[rank]` devices each, for a shot of which only the grid, the frame and the
    /// order need be known; `None` if the grid cannot be cut into that many parts, which [`Born::run_on_ranks`]
    /// reports.
    pub fn of(shot: &Shot, padded: &Padded, devices: &[usize]) -> Option<Vec<Self>> {
        let half = stencil::staggered(shot.order, shot.family)?.len();
        let (all, axis) = (padded.planes(), padded.ndim() - 1);
        let live = RIM..all - RIM;
        // Whether the frame contains layers may depend on the medium, and so may the cuts close to it.
        let frame = shot.frame.cells[axis];
        let insides = [
            live.clone(),
            live.start + frame[0]..live.end.saturating_sub(frame[1]),
        ];
        let cuts =
            insides.map(|inside| Planes::cut_between((all, &live), (&inside, half), devices.iter().sum()));
        let [one, other] = cuts;
        let (one, other) = (one.ok()?, other.ok()?);
        let mut first = 0;
        let of_rank = devices.iter().map(|&count| {
            let own = first..first + count;
            first += count;
            let both = [&one[own.clone()], &other[own]];
            let begins = both.iter().filter_map(|planes| planes.first());
            let ends = both.iter().filter_map(|planes| planes.last());
            Some(Self {
                own: both[0].first()?.own.start..both[0].last()?.own.end,
                prepared: begins.map(|p| p.memory.start).min()?..ends.map(|p| p.memory.end).max()?,
            })
        });
        of_rank.collect()
    }
}

impl Born<f32> {
    /// Bytes of device memory that `shots` shots side by side need in addition to their states.
    pub fn device_bytes(&self, shots: usize) -> usize {
        let [shared, each] = self.most(&self.planes(), gpu::bytes);
        shared + shots * each
    }

    /// The elementwise maximum of byte counts over the parts of the program.
    fn most<const N: usize>(
        &self,
        planes: &[Planes],
        of: impl Fn(LocalProgram<'_, f32>) -> [usize; N],
    ) -> [usize; N] {
        let all = planes.iter().map(|planes| of(planes.of(&self.program)));
        all.fold([0; N], |most, bytes| {
            std::array::from_fn(|k| most[k].max(bytes[k]))
        })
    }

    /// Bytes that images need on a device in addition to a run without them.
    fn of_images(&self, planes: &[Planes], request: &ImageRequest) -> usize {
        let [bytes] = self.most(planes, |slab| [gpu::bytes_of_images(slab, request)]);
        bytes
    }

    /// Bytes of device memory that `shots` shots side by side with images need in addition to their states.
    pub fn device_bytes_of_images(&self, request: &ImageRequest, shots: usize) -> usize {
        self.device_bytes(shots) + shots * self.of_images(&self.planes(), request)
    }

    /// Bytes that a device has left for the reverse sweep of images for each of `shots` shots side by side; `None` if
    /// processors run the steps.
    ///
    /// # Errors
    /// Returns an error that says how much memory is needed if there is too little.
    pub fn room_of_images(&self, request: &ImageRequest, shots: usize) -> Result<Option<usize>, Error> {
        let Some(placed) = &self.placed else {
            return Ok(None);
        };
        let [shared, each] = placed.needed;
        let needed = [shared, each + self.of_images(&placed.planes, request)];
        let refused = || {
            Error::setup(format!(
                "the device has {:.2} GB of memory free, but these images need {:.2} GB there in addition to the reverse sweep: ask for fewer images or lags, use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                self.device_bytes_of_images(request, shots) as f64 / 1e9
            ))
        };
        left_for(placed.free, needed, shots).map(Some).ok_or_else(refused)
    }

    /// Plans the run for `devices` devices that share every shot and have `free` bytes free each; [`Born::sizes`]
    /// then returns the sizes on a device.
    ///
    /// # Errors
    /// Returns an error that says how much memory is needed if there is too little, and for more devices than the
    /// grid has planes for.
    pub fn plan_on(&mut self, devices: usize, free: usize) -> Result<(), Error> {
        let planes = Planes::cut(&self.program, devices)?;
        let needed = self.most(&planes, gpu::bytes);
        if left_for(free, needed, 1).is_none() {
            return Err(Error::setup(format!(
                "the device has {:.2} GB of memory free, but the linearised run needs {:.2} GB there in addition to the reverse sweep: use a smaller grid, or the processors",
                free as f64 / 1e9,
                (needed[0] + needed[1]) as f64 / 1e9
            )));
        }
        let [side_by_side] = self.most(&planes, |slab| [gpu::bytes_side_by_side(slab)]);
        let boundary_saving = planes
            .iter()
            .map(|planes| gpu::boundary_sizes(planes.of(&self.program), &self.core));
        let boundary_saving: Result<Vec<_>, &'static str> = boundary_saving.collect();
        let most = |all: Vec<([usize; 2], usize)>| {
            all.into_iter()
                .reduce(|([a, b], c), ([d, e], f)| ([a.max(d), b.max(e)], c.max(f)))
        };
        self.placed = Some(Placed {
            free,
            needed,
            side_by_side,
            sizes: self.most(&planes, gpu::schedule_sizes),
            boundary_saving: boundary_saving.map(|all| most(all).unwrap_or_default()),
            planes,
        });
        Ok(())
    }

    /// Lets devices run the steps. Several devices share every shot by planes, with bit-identical results. The
    /// coefficients also stay on the host, where perturbations of the medium are mapped to them and derivatives back.
    ///
    /// # Errors
    /// Returns an error for a device that fails or has too little memory, and for more devices than the grid has
    /// planes for.
    pub fn run_on<A: Accelerator>(&mut self, devices: Vec<Arc<A>>) -> Result<(), Error> {
        self.run_on_ranks(devices, &Alone, Transport::Auto)
    }

    /// [`Born::run_on`] with the devices of several ranks, each of which holds the whole shot and passes its own
    /// devices: they share every shot, and runs are started on all ranks ([`Born::forward_among`] etc.). Collective:
    /// all ranks must call this.
    ///
    /// # Errors
    /// Returns the errors of [`Born::run_on`], and an error for a transport that is not available for linearised shots.
    pub fn run_on_ranks<A: Accelerator>(
        &mut self,
        devices: Vec<Arc<A>>,
        ranks: &dyn Communicator,
        transport: Transport,
    ) -> Result<(), Error> {
        let through_hosts = match transport {
            Transport::Auto => false,
            Transport::HostStaged => true,
            Transport::Ipc | Transport::CudaAware => {
                return Err(Error::setup(
                    "ranks that share a linearised shot copy planes from GPU to GPU where they can and send them through the hosts elsewhere: choose one of these two ways",
                ));
            }
        };
        let (mut free, mut counts) = (usize::MAX, Vec::new());
        for device in &devices {
            free = free.min(device.free_bytes()?);
        }
        for words in ranks.all_gather(cast_slice(&[devices.len() as u64, free as u64]))? {
            let numbers: Vec<u64> = pod_collect_to_vec(&words);
            counts.push(numbers.first().map_or(0, |&count| count as usize));
            free = free.min(numbers.last().map_or(usize::MAX, |&free| free as usize));
        }
        agree(ranks, self.plan_on(counts.iter().sum(), free))?;
        let steps = Steps {
            nt: self.nt,
            jdata: self.jdata,
            jcheck: self.jcheck,
        };
        let mut of_ranks = Vec::new();
        let mut first = 0;
        for count in counts {
            of_ranks.push(first..first + count);
            first += count;
        }
        let beyond = |planes: &Planes| {
            let known = &self.program.prepared;
            planes.memory.start < known.start || planes.memory.end > known.end
        };
        let planes = self.planes();
        let unknown = match planes[of_ranks[ranks.rank()].clone()].iter().any(beyond) {
            true => Err(Error::setup(
                "a rank has prepared the medium on planes other than those that its devices get, which is a fault of this program",
            )),
            false => Ok(()),
        };
        agree(ranks, unknown)?;
        // Each rank examines its own planes, but kernels must be the same on all ranks.
        let solid = self.program.nodes.isotropic() && gpu::solid(&self.program);
        let solid = ranks.all_gather(&[u8::from(solid)])?.iter().all(|of| of == &[1]);
        let shares = Shares {
            planes,
            solid,
            of_ranks,
            rank: ranks.rank(),
            through_hosts,
        };
        let engine = gpu::Devices::new(devices, (&self.program, &*self.core), shares, steps);
        self.engine = Some(Box::new(agree(ranks, engine)?));
        Ok(())
    }
}
