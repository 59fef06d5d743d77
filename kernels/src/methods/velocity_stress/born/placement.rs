//! What linearised shots take of the memory of a device, and what is left for their reverse sweeps.

use super::engine::Steps;
use super::{Born, Number, Wanted, gpu};
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

/// The memory of a device, or of the smallest of several that share a shot.
pub(super) struct Placed {
    /// The planes of each.
    pub planes: Vec<Planes>,
    /// Bytes that are free.
    pub free: usize,
    /// Bytes that all shots share, and that each of those that run side by side takes beside its states.
    pub needed: [usize; 2],
    /// Bytes that the run takes with what a perturbation changes beside it.
    pub side_by_side: usize,
    /// Bytes of a checkpoint and of a recorded step.
    pub sizes: [usize; 2],
    /// The same where waves run backwards, and bytes that this takes once.
    pub boundary_saving: Result<([usize; 2], usize), &'static str>,
}

/// Bytes that are left for each of so many shots side by side; none where they do not fit.
fn left_for(free: usize, [shared, each]: [usize; 2], shots: usize) -> Option<usize> {
    (free.checked_sub(shared)? / shots.max(1)).checked_sub(each)
}

impl<T: Number> Born<T> {
    /// The planes of every device; all of them where none has been chosen.
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

    /// Devices that share every shot.
    pub fn devices(&self) -> usize {
        self.planes().len()
    }

    /// Bytes that a device has left for the reverse sweep of each of so many shots side by side; none where processors run the steps.
    pub fn room(&self, shots: usize) -> Option<usize> {
        let of = |placed: &Placed| left_for(placed.free, placed.needed, shots).unwrap_or(0);
        self.placed.as_ref().map(of)
    }

    /// Whether a device has room for a run with what a perturbation changes beside it, which a reverse sweep may do with less than.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn fits_side_by_side(&self) -> Result<(), Error> {
        match &self.placed {
            Some(placed) if placed.side_by_side > placed.free => Err(Error::setup(format!(
                "the device has {:.2} GB of memory free, and a run with what a perturbation changes beside it needs {:.2} GB there: use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                placed.side_by_side as f64 / 1e9
            ))),
            _ => Ok(()),
        }
    }
}

/// What each of several ranks needs of the medium for a shot that their devices share.
pub struct RankPlanes {
    /// Planes of the grid that are the rank's own: those of all ranks follow each other.
    pub own: Range<usize>,
    /// Planes on which it must know the medium.
    pub prepared: Range<usize>,
}

impl RankPlanes {
    /// Of ranks with so many devices each, for a shot of which nothing but the grid and the frame need be known; `None` where the grid cannot
    /// be cut like this, which [`Born::run_on_ranks`] says.
    pub fn of(shot: &Shot, padded: &Padded, devices: &[usize]) -> Option<Vec<Self>> {
        let half = stencil::staggered(shot.order, shot.family)?.len();
        let (all, axis) = (padded.planes(), padded.ndim() - 1);
        let live = RIM..all - RIM;
        // Whether layers are where the frame is may depend on the medium, and so do cuts near by.
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
    /// Bytes of device memory that so many shots side by side take beside their states.
    pub fn device_bytes(&self, shots: usize) -> usize {
        let [shared, each] = self.most(&self.planes(), gpu::bytes);
        shared + shots * each
    }

    /// The largest of some numbers of bytes that parts of the program take.
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

    /// Bytes that images take on a device beside what a run without them does.
    fn of_images(&self, planes: &[Planes], wanted: &Wanted) -> usize {
        let [bytes] = self.most(planes, |slab| [gpu::bytes_of_images(slab, wanted)]);
        bytes
    }

    /// The same of a run that makes images.
    pub fn device_bytes_of_images(&self, wanted: &Wanted, shots: usize) -> usize {
        self.device_bytes(shots) + shots * self.of_images(&self.planes(), wanted)
    }

    /// Bytes that a device has left for the reverse sweep of images for each of so many shots side by side; none where processors run the
    /// steps.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed.
    pub fn room_of_images(&self, wanted: &Wanted, shots: usize) -> Result<Option<usize>, Error> {
        let Some(placed) = &self.placed else {
            return Ok(None);
        };
        let [shared, each] = placed.needed;
        let needed = [shared, each + self.of_images(&placed.planes, wanted)];
        let refused = || {
            Error::setup(format!(
                "the device has {:.2} GB of memory free and these images need {:.2} GB there beside the reverse sweep: ask for fewer images or lags, use a smaller grid, or the processors",
                placed.free as f64 / 1e9,
                self.device_bytes_of_images(wanted, shots) as f64 / 1e9
            ))
        };
        left_for(placed.free, needed, shots).map(Some).ok_or_else(refused)
    }

    /// Plans the run for so many devices that share every shot and have so many bytes free each: the sizes are those there.
    ///
    /// # Errors
    /// Too little memory; the sentence says how much is needed. More devices than the grid has planes for.
    pub fn plan_on(&mut self, devices: usize, free: usize) -> Result<(), Error> {
        let planes = Planes::cut(&self.program, devices)?;
        let needed = self.most(&planes, gpu::bytes);
        if left_for(free, needed, 1).is_none() {
            return Err(Error::setup(format!(
                "the device has {:.2} GB of memory free and the linearised run needs {:.2} GB there beside the reverse sweep: use a smaller grid, or the processors",
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

    /// Lets devices run the steps: several share every shot by planes, with the bits of one. Coefficients stay on the host, too, where a change of the medium becomes theirs, and back.
    ///
    /// # Errors
    /// A device that fails or has too little memory, and more devices than the grid has planes for.
    pub fn run_on<A: Accelerator>(&mut self, devices: Vec<Arc<A>>) -> Result<(), Error> {
        self.run_on_ranks(devices, &Alone, Transport::Auto)
    }

    /// The same with the devices of several ranks, each of which has the whole shot and calls this with its own: they share every shot, and runs
    /// are started on all ranks ([`Born::forward_among`] and its kin). Collective: all ranks must call this.
    ///
    /// # Errors
    /// The same; a transport that there is not for linearised shots.
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
                "a rank has prepared the medium on other planes than its devices get, which is a fault of this program",
            )),
            false => Ok(()),
        };
        agree(ranks, unknown)?;
        // Every rank knows its own planes, and kernels must be the same on all.
        let solid = self.program.nodes.isotropic() && gpu::solid(&self.program);
        let solid = ranks.all_gather(&[u8::from(solid)])?.iter().all(|of| of == &[1]);
        let shares = Shares {
            planes,
            solid,
            of_ranks,
            rank: ranks.rank(),
            through_hosts,
        };
        let made = gpu::Devices::new(devices, (&self.program, &*self.core), shares, steps);
        self.engine = Some(Box::new(agree(ranks, made)?));
        Ok(())
    }
}
