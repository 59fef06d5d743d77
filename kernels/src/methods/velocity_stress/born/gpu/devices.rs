//! Linearised shots on one device or on several that share every shot. Each device of several has a thread; what comes of its part is put
//! together here.

use super::super::boundary::Core;
use super::super::engine::{Engine, Residuals, Source, Steps};
use super::super::program::{Changes, Discrete};
use super::super::{Picture, Take, Wanted};
use super::OnDevice;
use super::halo::Links;
use super::points::Tables;
use super::slab::Planes;
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::methods::velocity_stress::{GHOST, Shot};
use crate::time_loop::reversal::CheckpointSchedule;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// The devices of every shot, the lowest planes first.
pub struct Devices<A: Accelerator> {
    all: RefCell<Vec<OnDevice<A>>>,
    /// How far waves that ran backwards came from where they began.
    drift: Cell<Option<f64>>,
}

/// The end of a device's thread on the way to whoever puts parts together.
struct Port<U, D> {
    up: SyncSender<U>,
    down: Receiver<D>,
}

impl<U, D> Port<U, D> {
    /// Sends a part and waits for an answer.
    fn ask(&self, part: U) -> Result<D, Error> {
        let stopped = || Error::setup("the run of the other devices of the shot has stopped");
        self.up.send(part).map_err(|_| stopped())?;
        self.down.recv().map_err(|_| stopped())
    }
}

/// The other ends.
type Ports<U, D> = [(Receiver<U>, SyncSender<D>)];

/// One part of every device; none when a device has ended.
fn parts<U, D>(ports: &Ports<U, D>) -> Option<Vec<U>> {
    ports.iter().map(|(up, _)| up.recv().ok()).collect()
}

/// Answers every device. One that has ended needs no answer.
fn answer<U, D>(ports: &Ports<U, D>, answer: impl Fn() -> D) {
    for (_, down) in ports {
        let _ = down.send(answer());
    }
}

/// Records put together. Each number is read by one device; the others have +0.0 there, which has no bit set.
fn together(parts: Vec<Vec<f32>>) -> Vec<f32> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        for (to, from) in all.iter_mut().zip(part) {
            *to = f32::from_bits(to.to_bits() | from.to_bits());
        }
    }
    all
}

impl<A: Accelerator> Devices<A> {
    /// Sends a program to devices, to each the planes that it has.
    ///
    /// # Errors
    /// A device that fails.
    pub fn new(
        devices: Vec<Arc<A>>,
        (program, planes, core): (&Discrete<f32>, &[Planes], &Result<Core, &'static str>),
        steps: Steps,
    ) -> Result<Self, Error> {
        for two in devices.windows(2) {
            two[0].enable_peer_access(&two[1])?;
            two[1].enable_peer_access(&two[0])?;
        }
        let one = |(a, planes): (Arc<A>, &Planes)| OnDevice::new(a, (planes.of(program), core), steps);
        let all = devices.into_iter().zip(planes).map(one);
        Ok(Self {
            all: RefCell::new(all.collect::<Result<_, Error>>()?),
            drift: Cell::new(None),
        })
    }

    /// Runs every device on a thread of its own, while `serve` puts together what they ask it to. The first error counts: those of the
    /// others come of it.
    fn run<U: Send, D: Send, R: Send>(
        &self,
        act: impl Fn(&mut OnDevice<A>, &Port<U, D>) -> Result<R, Error> + Sync,
        serve: impl FnOnce(&Ports<U, D>) -> Result<(), Error>,
    ) -> Result<Vec<R>, Error> {
        let mut all = self.all.borrow_mut();
        let ends: Vec<_> = all.iter().map(|on| (&on.device.a, &on.device.planes)).collect();
        let links = Links::between(&ends)?;
        let first: Mutex<Option<Error>> = Mutex::new(None);
        let failed = |error: Error| {
            let mut first = first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            first.get_or_insert(error);
        };
        let (act, failed) = (&act, &failed);
        let results = thread::scope(|scope| {
            let (mut ports, mut threads) = (Vec::new(), Vec::new());
            for (on, links) in all.iter_mut().zip(links) {
                let ((up, parts), (answers, down)) = (sync_channel(1), sync_channel(1));
                ports.push((parts, answers));
                threads.push(scope.spawn(move || {
                    let port = Port { up, down };
                    *on.device.links.borrow_mut() = Some(links);
                    let result = catch_unwind(AssertUnwindSafe(|| act(on, &port)));
                    let result = result.map(|result| result.map_err(failed).ok());
                    // Neighbours that wait for this device go on with an error.
                    *on.device.links.borrow_mut() = None;
                    result
                }));
            }
            if let Err(error) = serve(&ports) {
                failed(error);
            }
            drop(ports);
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.collect::<Vec<_>>()
        });
        let mut made = Vec::new();
        for result in results {
            match result {
                Ok(Ok(result)) => made.extend(result),
                Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
            }
        }
        match first
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            Some(error) => {
                // What was under way ends before anything is freed; what it ends with comes of the first error.
                all.iter().for_each(|on| drop(on.device.a.finish()));
                Err(error)
            }
            None => Ok(made),
        }
    }

    /// Whether there is one device alone.
    fn is_one(&self) -> bool {
        self.all.borrow().len() == 1
    }

    /// Keeps how far waves came that ran backwards on all devices.
    fn keep_drift(&self) {
        let all = self.all.borrow();
        let found = all.iter().filter_map(|on| on.drift.take());
        let both = found.reduce(|[a, b], [c, d]| [a.max(c), b.max(d)]);
        if let Some([most, left]) = both {
            let share = if most > 0.0 { left / most } else { 0.0 };
            self.drift.set(Some(self.drift.get().unwrap_or(0.0).max(share)));
        }
    }

    /// The sweeps of a gradient.
    fn sweep(
        &self,
        from: Source<'_, f32>,
        schedule: &CheckpointSchedule,
        grouped: bool,
    ) -> Result<(), Error> {
        if self.is_one() {
            return self.all.borrow()[0].back(from, schedule, grouped);
        }
        match from {
            Source::Data(data) => {
                let act =
                    |on: &mut OnDevice<A>, _: &Port<(), ()>| on.back(Source::Data(data), schedule, grouped);
                self.run(act, |_| Ok(()))?;
            }
            Source::Residual(residuals) => {
                let act = |on: &mut OnDevice<A>, port: &Port<_, _>| {
                    let mut ask = |records: Vec<Vec<f32>>| port.ask(records);
                    on.back(Source::Residual(&mut ask), schedule, grouped)
                };
                self.run(act, |ports| serve_residuals(ports, residuals))?;
            }
        }
        Ok(())
    }
}

/// Hands the records of all shots to whoever makes the adjoint sources, which all devices get.
fn serve_residuals(
    ports: &Ports<Vec<Vec<f32>>, Vec<Vec<f32>>>,
    residuals: Residuals<'_, f32>,
) -> Result<(), Error> {
    let Some(mut of_devices) = parts(ports) else {
        return Ok(());
    };
    let shots = of_devices.first().map_or(0, Vec::len);
    let of_shot = |shot: usize| {
        together(
            of_devices
                .iter_mut()
                .map(|all| std::mem::take(&mut all[shot]))
                .collect(),
        )
    };
    let sources = residuals((0..shots).map(of_shot).collect())?;
    answer(ports, || sources.clone());
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

    fn forward(&self, changes: Option<&Changes<f32>>, take: Take<'_, f32>) -> Result<(), Error> {
        if self.is_one() {
            return self.all.borrow()[0].forward(changes, take);
        }
        let act = |on: &mut OnDevice<A>, port: &Port<(usize, [Vec<f32>; 2]), ()>| {
            let mut send = |it: usize, background: &[f32], change: &[f32]| {
                port.ask((it, [background.to_vec(), change.to_vec()]))
            };
            on.forward(changes, &mut send)
        };
        self.run(act, |ports| {
            while let Some(of_devices) = parts(ports) {
                let it = of_devices.first().map_or(0, |(it, _)| *it);
                let (background, change) = of_devices.into_iter().map(|(_, [b, c])| (b, c)).unzip();
                take(it, &together(background), &together(change))?;
                answer(ports, || ());
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
    ) -> Result<(), Error> {
        self.sweep(from, schedule, grouped)?;
        self.keep_drift();
        let all = self.all.borrow();
        all.iter().try_for_each(|on| on.gradients(gradients, grouped))
    }

    fn drift(&self) -> Option<f64> {
        self.drift.get()
    }

    fn images(
        &self,
        program: &Discrete<f32>,
        data: &[Vec<f32>],
        how: (&CheckpointSchedule, &Wanted),
    ) -> Result<Vec<Vec<Picture<f32>>>, Error> {
        if self.is_one() {
            let on = &self.all.borrow()[0];
            return on.images(on.device.planes.of(program), data, how);
        }
        // A device makes the products of a cell from the planes that it has in memory.
        let most = how.1.lags_across(program.ndim());
        if most >= GHOST {
            return Err(Error::setup(format!(
                "a lag of {most} cells along the axis that several GPUs share is asked for, and fewer than {GHOST} are possible there: ask for smaller lags, or for one GPU for a shot"
            )));
        }
        let act = |on: &mut OnDevice<A>, _: &Port<(), ()>| {
            let planes = on.device.planes.clone();
            on.images(planes.of(program), data, how)
        };
        let of_devices = self.run(act, |_| Ok(()))?;
        Ok(pictures_together(of_devices, how.1.lags.len()))
    }
}

/// Images put together from those of devices, whose planes follow each other: by shot and kind.
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
