//! The thread that puts together what the devices of a shot have made, and speaks to other ranks for them.

use super::halo::{ExchangeStep, Outer};
use super::ranks::{RankEnd, RankExchange};
use crate::Error;
use crate::communicator::Communicator;
use crate::device::accelerator::Accelerator;
use bytemuck::{cast_slice, pod_collect_to_vec};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// The ends of links to the ranks below and above, which the devices beside them use in a run.
pub type Ends<A> = [Option<Arc<Mutex<RankEnd<A>>>>; 2];

/// What a device asks of the thread that puts parts together and speaks to other ranks.
pub enum Ask<U> {
    /// To put this together with the parts of the other devices.
    Part(U),
    /// To exchange a message through a link, that to the rank below or above.
    ExchangeStep(usize, ExchangeStep),
    /// Nothing more: it has ended, or failed.
    End { failed: bool },
}

/// The end of a device's thread on the way to that thread.
pub struct Port<U, D> {
    /// The number of the device.
    pub device: usize,
    /// To the thread.
    pub up: Sender<(usize, Ask<U>)>,
    /// From it.
    pub down: Receiver<D>,
}

/// What a device says whose run is over.
fn over<E>(_: E) -> Error {
    Error::setup("the run of the other devices of the shot has stopped")
}

impl<U, D> Port<U, D> {
    /// Sends a part and waits for an answer.
    pub fn ask(&self, part: U) -> Result<D, Error> {
        self.up.send((self.device, Ask::Part(part))).map_err(over)?;
        self.down.recv().map_err(over)
    }
}

/// The thread that puts parts together and speaks to other ranks.
pub struct Server<'r, U, D> {
    asks: Receiver<(usize, Ask<U>)>,
    /// By device.
    pub answers: Vec<Sender<D>>,
    /// By link to another rank: its messages have arrived.
    arrived: [Option<Sender<()>>; 2],
    exchange: RankExchange<'r>,
    /// Devices that have not ended.
    running: usize,
}

impl<'r, U, D> Server<'r, U, D> {
    /// For so many devices, whose asks come here, of one of these ranks.
    pub fn new(asks: Receiver<(usize, Ask<U>)>, devices: usize, ranks: &'r dyn Communicator) -> Self {
        Self {
            asks,
            answers: Vec::new(),
            arrived: [None, None],
            exchange: RankExchange::new(ranks),
            running: devices,
        }
    }

    /// Links the first and the last of the devices to those of other ranks.
    pub fn outer<A: Accelerator>(
        &mut self,
        ends: &Ends<A>,
        up: &Sender<(usize, Ask<U>)>,
    ) -> [Option<Outer<A>>; 2]
    where
        U: Send + 'static,
    {
        let devices = [0, self.running - 1];
        [0, 1].map(|link| {
            let end = ends[link].clone()?;
            let (arrived, waits) = channel();
            self.arrived[link] = Some(arrived);
            let (device, up) = (devices[link], up.clone());
            let post = move |post: ExchangeStep| {
                up.send((device, Ask::ExchangeStep(link, post))).map_err(over)?;
                match post {
                    ExchangeStep::Start(_) => Ok(()),
                    ExchangeStep::End => waits.recv().map_err(over),
                }
            };
            Some(Outer {
                end,
                post: Box::new(post),
            })
        })
    }

    /// One part of every device; none when all of them have ended, or one has failed.
    pub fn parts(&mut self) -> Result<Option<Vec<U>>, Error> {
        let mut found: Vec<Option<U>> = self.answers.iter().map(|_| None).collect();
        while found.iter().any(Option::is_none) {
            match self.asks.recv() {
                Ok((device, Ask::Part(part))) => found[device] = Some(part),
                // SAFETY: the ends of links keep the memory of messages until the run is over, and a device that has started a message
                // waits for its end before it touches that memory.
                Ok((_, Ask::ExchangeStep(link, ExchangeStep::Start(message)))) => unsafe {
                    self.exchange.start(link, message)?;
                },
                Ok((_, Ask::ExchangeStep(link, ExchangeStep::End))) => {
                    self.exchange.end(link)?;
                    if let Some(arrived) = &self.arrived[link] {
                        // A device that has ended needs no answer.
                        let _ = arrived.send(());
                    }
                }
                Ok((_, Ask::End { failed })) => {
                    self.running -= 1;
                    if failed || self.running == 0 {
                        return Ok(None);
                    }
                }
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(found.into_iter().flatten().collect()))
    }

    /// Answers every device. One that has ended needs no answer.
    pub fn answer(&self, answer: impl Fn() -> D) {
        for down in &self.answers {
            let _ = down.send(answer());
        }
    }

    /// Records of all ranks put together, of those that this one has put together.
    pub fn of_ranks(&self, records: Vec<f32>) -> Result<Vec<f32>, Error> {
        let ranks = self.exchange.ranks;
        if ranks.size() == 1 {
            return Ok(records);
        }
        let all = ranks.all_gather(cast_slice(&records))?;
        Ok(together(
            all.iter().map(|part| pod_collect_to_vec(part)).collect(),
        ))
    }
}

/// Records put together. Each number is read by one device; the others have +0.0 there, which has no bit set.
pub fn together(parts: Vec<Vec<f32>>) -> Vec<f32> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        for (to, from) in all.iter_mut().zip(part) {
            *to = f32::from_bits(to.to_bits() | from.to_bits());
        }
    }
    all
}
