//! Linearised shots on one device, or on several devices that share every shot and may belong to several ranks. Each
//! of several devices has a thread; the results of their parts are combined here.

use super::super::boundary::Core;
use super::super::engine::{Engine, Residuals, Source, Steps};
use super::super::program::{Changes, Discrete};
use super::super::{ImageRequest, Picture, Take};
use super::OnDevice;
use super::collect::{collect_pictures, collect_sums};
use super::halo::Links;
use super::points::Tables;
use super::ranks::{self, RankEnd, Shares};
use super::server::{Ask, Ends, Port, Server, together};
use super::slab::Planes;
use crate::Error;
use crate::communicator::Communicator;
use crate::device::accelerator::Accelerator;
use crate::methods::velocity_stress::{GHOST, Shot};
use crate::time_loop::reversal::CheckpointSchedule;
use bytemuck::{cast_slice, pod_collect_to_vec};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

/// The devices of every shot, ordered by planes: the devices of this process, and the division of shots among the
/// devices of all ranks.
pub struct Devices<A: Accelerator> {
    all: RefCell<Vec<OnDevice<A>>>,
    shares: Shares,
    /// The largest relative velocity left after a backward reconstruction.
    drift: Cell<Option<f64>>,
}

impl<A: Accelerator> Devices<A> {
    /// Sends a program to the devices of a rank, to each the planes that it holds.
    ///
    /// # Errors
    /// Returns an error for a device that fails.
    pub fn new(
        devices: Vec<Arc<A>>,
        (program, core): (&Discrete<f32>, &Result<Core, &'static str>),
        shares: Shares,
        steps: Steps,
    ) -> Result<Self, Error> {
        let one = |(a, planes): (Arc<A>, &Planes)| {
            OnDevice::new(a, (planes.of(program), core, shares.solid), steps)
        };
        let all = devices.into_iter().zip(shares.planes_of(shares.rank)).map(one);
        Ok(Self {
            all: RefCell::new(all.collect::<Result<_, Error>>()?),
            shares,
            drift: Cell::new(None),
        })
    }

    /// Runs every device on a separate thread, while `serve` combines their parts. Only the first error is returned,
    /// since the errors of the other devices follow from it.
    fn run<U: Send + 'static, D: Send, R: Send>(
        &self,
        ranks: &dyn Communicator,
        act: impl Fn(&mut OnDevice<A>, &Port<U, D>) -> Result<R, Error> + Sync,
        serve: impl FnOnce(&mut Server<'_, U, D>) -> Result<(), Error>,
    ) -> Result<Vec<R>, Error> {
        let mut all = self.all.borrow_mut();
        let ends = self.ends(&all, ranks)?;
        let (up, asks) = channel();
        let mut server = Server::new(asks, all.len(), ranks);
        let links = {
            let devices: Vec<_> = all.iter().map(|on| (&on.device.a, &on.device.planes)).collect();
            Links::between(&devices, server.outer(&ends, &up))?
        };
        let first: Mutex<Option<Error>> = Mutex::new(None);
        let failed = |error: Error| {
            let mut first = first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            first.get_or_insert(error);
        };
        let (act, failed) = (&act, &failed);
        let results = thread::scope(|scope| {
            let mut threads = Vec::new();
            for (device, (on, links)) in all.iter_mut().zip(links).enumerate() {
                let ((answers, down), up) = (channel(), up.clone());
                server.answers.push(answers);
                threads.push(scope.spawn(move || {
                    let port = Port { device, up, down };
                    *on.device.links.borrow_mut() = Some(links);
                    let result = catch_unwind(AssertUnwindSafe(|| act(on, &port)));
                    let result = result.map(|result| result.map_err(failed).ok());
                    // Neighbours that wait for this device receive an error.
                    *on.device.links.borrow_mut() = None;
                    let failed = !matches!(result, Ok(Some(_)));
                    let _ = port.up.send((device, Ask::End { failed }));
                    result
                }));
            }
            drop(up);
            // Devices that send no more parts may still exchange messages with other ranks.
            let served = serve(&mut server).and_then(|()| server.parts());
            if let Err(error) = served {
                failed(error);
            }
            drop(server);
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.collect::<Vec<_>>()
        });
        let mut all_results = Vec::new();
        for result in results {
            match result {
                Ok(Ok(result)) => all_results.extend(result),
                Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
            }
        }
        match first
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            Some(error) => {
                // Pending work ends before memory is freed; its errors follow from the first one.
                all.iter().for_each(|on| drop(on.device.a.finish()));
                Err(error)
            }
            None => {
                // Copies to the memory of neighbours must end before it is closed.
                if ranks.size() > 1 {
                    all.iter().try_for_each(|on| on.device.a.finish())?;
                }
                close(ends, ranks).map(|()| all_results)
            }
        }
    }

    /// Creates the ends of links to the ranks below and above. Collective: all ranks must call this.
    fn ends(&self, all: &[OnDevice<A>], ranks: &dyn Communicator) -> Result<Ends<A>, Error> {
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            return Ok([None, None]);
        };
        let devices = [&*first.device.a, &*last.device.a];
        let of = (ranks, first.device.a_plane[0]);
        let ends = ranks::ends(devices, of, self.shares.through_hosts)?;
        Ok(ends.map(|end| end.map(|end| Arc::new(Mutex::new(end)))))
    }

    /// Whether there is a single device on a single rank.
    fn is_one(&self) -> bool {
        self.shares.planes.len() == 1
    }

    /// Updates the drift of backward reconstructions from all devices.
    fn keep_drift(&self, ranks: &dyn Communicator) -> Result<(), Error> {
        let all = self.all.borrow();
        let drifts = all.iter().filter_map(|on| on.drift.take());
        let both = drifts.reduce(|[a, b], [c, d]| [a.max(c), b.max(d)]);
        let of_ranks = match ranks.size() {
            1 => both.into_iter().collect(),
            _ => {
                let words = both.as_ref().map_or(&[][..], |both| cast_slice(both));
                let all = ranks.all_gather(words)?;
                let numbers = all.iter().map(|words| pod_collect_to_vec::<u8, f64>(words));
                numbers.filter_map(|numbers| numbers.try_into().ok()).collect()
            }
        };
        let of_ranks: Vec<[f64; 2]> = of_ranks;
        let both = of_ranks.into_iter().reduce(|[a, b], [c, d]| [a.max(c), b.max(d)]);
        if let Some([most, left]) = both {
            let share = if most > 0.0 { left / most } else { 0.0 };
            self.drift.set(Some(self.drift.get().unwrap_or(0.0).max(share)));
        }
        Ok(())
    }

    /// The reverse sweep of a gradient.
    fn sweep(
        &self,
        from: Source<'_, f32>,
        (schedule, grouped): (&CheckpointSchedule, bool),
        ranks: &dyn Communicator,
    ) -> Result<(), Error> {
        if self.is_one() {
            return self.all.borrow()[0].back(from, schedule, grouped);
        }
        match from {
            Source::Data(data) => {
                let act =
                    |on: &mut OnDevice<A>, _: &Port<(), ()>| on.back(Source::Data(data), schedule, grouped);
                self.run(ranks, act, |_| Ok(()))?;
            }
            Source::Residual(residuals) => {
                let act = |on: &mut OnDevice<A>, port: &Port<_, _>| {
                    let mut ask = |records: Vec<Vec<f32>>| port.ask(records);
                    on.back(Source::Residual(&mut ask), schedule, grouped)
                };
                self.run(ranks, act, |server| serve_residuals(server, residuals))?;
            }
        }
        Ok(())
    }
}

/// Closes the memory of neighbours before its owner frees it. Collective: all ranks must call this.
fn close<A: Accelerator>(ends: Ends<A>, ranks: &dyn Communicator) -> Result<(), Error> {
    if ranks.size() == 1 {
        return Ok(());
    }
    let ends = ends.into_iter().flatten().filter_map(Arc::into_inner);
    let ends = ends.map(|end| {
        end.into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    });
    let exported: Vec<_> = ends.filter_map(RankEnd::close).collect();
    ranks.all_gather(&[])?;
    drop(exported);
    Ok(())
}

/// Passes the records of all shots to the function that computes the adjoint sources, and the result to all devices.
fn serve_residuals(
    server: &mut Server<'_, Vec<Vec<f32>>, Vec<Vec<f32>>>,
    residuals: Residuals<'_, f32>,
) -> Result<(), Error> {
    let Some(mut of_devices) = server.parts()? else {
        return Ok(());
    };
    let shots = of_devices.first().map_or(0, Vec::len);
    let mut records = Vec::new();
    for shot in 0..shots {
        let parts = of_devices.iter_mut().map(|all| std::mem::take(&mut all[shot]));
        records.push(server.of_ranks(together(parts.collect()))?);
    }
    let sources = residuals(records)?;
    server.answer(|| sources.clone());
    Ok(())
}

impl<A: Accelerator> Engine<f32> for Devices<A> {
    fn next_shots(&mut self, program: &mut Discrete<f32>, shots: &[Shot]) -> Result<(), Error> {
        let all = self.all.get_mut();
        let mut tables: Vec<Option<Tables>> = all.iter().map(|_| None).collect();
        let mut values = Vec::new();
        for shot in shots {
            program.next_shot(shot)?;
            for (on, tables) in all.iter().zip(&mut tables) {
                let slab = on.device.planes.of(program);
                tables.get_or_insert_with(|| Tables::new(slab)).add(slab);
            }
            values.push(program.values());
        }
        if values.windows(2).any(|two| two[0] != two[1]) {
            return Err(Error::setup(
                "shots that run side by side on a GPU have records of different lengths: run them one by one",
            ));
        }
        for (on, tables) in all.iter_mut().zip(tables) {
            let Some(tables) = tables else {
                continue;
            };
            let planes = on.device.planes.clone();
            let mut transfer = on.transfer.borrow_mut();
            on.device.next_shots(planes.of(program), tables, &mut transfer)?;
        }
        Ok(())
    }

    fn forward(
        &self,
        changes: Option<&Changes<f32>>,
        take: Take<'_, f32>,
        ranks: &dyn Communicator,
    ) -> Result<(), Error> {
        if self.is_one() {
            return self.all.borrow()[0].forward(changes, take);
        }
        let act = |on: &mut OnDevice<A>, port: &Port<(usize, [Vec<f32>; 2]), ()>| {
            let mut send = |it: usize, background: &[f32], change: &[f32]| {
                port.ask((it, [background.to_vec(), change.to_vec()]))
            };
            on.forward(changes, &mut send)
        };
        self.run(ranks, act, |server| {
            while let Some(of_devices) = server.parts()? {
                let it = of_devices.first().map_or(0, |(it, _)| *it);
                let (background, change) = of_devices.into_iter().map(|(_, [b, c])| (b, c)).unzip();
                let [background, change] = [together(background), together(change)];
                take(it, &server.of_ranks(background)?, &server.of_ranks(change)?)?;
                server.answer(|| ());
            }
            Ok(())
        })?;
        Ok(())
    }

    fn back(
        &self,
        from: Source<'_, f32>,
        schedule: &CheckpointSchedule,
        (gradients, grouped): (&mut [Changes<f32>], bool),
        ranks: &dyn Communicator,
    ) -> Result<(), Error> {
        self.sweep(from, (schedule, grouped), ranks)?;
        self.keep_drift(ranks)?;
        let all = self.all.borrow();
        all.iter().try_for_each(|on| on.gradients(gradients, grouped))?;
        let Some(on) = all.first().filter(|_| ranks.size() > 1) else {
            return Ok(());
        };
        let (of, ndim) = ((&self.shares, on.planes, on.device.a_plane), on.device.sizes.ndim);
        let summed = |k: usize| !grouped || Discrete::<f32>::is_summed(ndim, k);
        gradients
            .iter_mut()
            .try_for_each(|sums| collect_sums(sums, of, summed, ranks))
    }

    fn drift(&self) -> Option<f64> {
        self.drift.get()
    }

    fn images(
        &self,
        program: &Discrete<f32>,
        data: &[Vec<f32>],
        how: (&CheckpointSchedule, &ImageRequest),
        ranks: &dyn Communicator,
    ) -> Result<Vec<Vec<Picture<f32>>>, Error> {
        if self.is_one() {
            let on = &self.all.borrow()[0];
            return on.images(on.device.planes.of(program), data, how);
        }
        // A device computes the products of a cell from the planes that it has in memory.
        let most = how.1.lags_across(program.ndim());
        if most >= GHOST {
            return Err(Error::setup(format!(
                "a lag of {most} cells along the axis that several GPUs share is asked for, but fewer than {GHOST} are possible there: ask for smaller lags, or for one GPU for a shot"
            )));
        }
        let act = |on: &mut OnDevice<A>, _: &Port<(), ()>| {
            let planes = on.device.planes.clone();
            on.images(planes.of(program), data, how)
        };
        let of_devices = self.run(ranks, act, |_| Ok(()))?;
        let lags = how.1.lags.len();
        let own = pictures_together(of_devices, lags);
        match ranks.size() {
            1 => Ok(own),
            _ => Ok(pictures_together(collect_pictures(own, ranks)?, lags)),
        }
    }
}

/// Combines the images of devices, whose planes are consecutive; the result is indexed by shot and kind.
fn pictures_together(of_devices: Vec<Vec<Vec<Picture<f32>>>>, lags: usize) -> Vec<Vec<Picture<f32>>> {
    let mut all: Vec<Vec<Vec<Picture<f32>>>> = Vec::new();
    for of_device in of_devices {
        for (shot, kinds) in of_device.into_iter().enumerate() {
            all.resize_with(all.len().max(shot + 1), Vec::new);
            for (kind, picture) in kinds.into_iter().enumerate() {
                let of_shot = &mut all[shot];
                of_shot.resize_with(of_shot.len().max(kind + 1), Vec::new);
                of_shot[kind].push(picture);
            }
        }
    }
    let one = |parts: Vec<Picture<f32>>| {
        let of_lag = |lag: usize| {
            parts.iter().flat_map(move |part| {
                let cells = part.light.len();
                &part.image[lag * cells..(lag + 1) * cells]
            })
        };
        Picture {
            image: (0..lags).flat_map(of_lag).copied().collect(),
            light: parts.iter().flat_map(|part| &part.light).copied().collect(),
        }
    };
    let of_shot = |kinds: Vec<Vec<Picture<f32>>>| kinds.into_iter().map(one).collect();
    all.into_iter().map(of_shot).collect()
}
