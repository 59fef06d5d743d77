//! The thread that combines the results of the devices of a shot and communicates with other ranks for them.

use super::halo::{ExchangeStep, Outer};
use super::ranks::{RankEnd, RankExchange};
use crate::Error;
use crate::communicator::Communicator;
use crate::device::accelerator::Accelerator;
use bytemuck::{cast_slice, pod_collect_to_vec};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// The ends of links to the ranks below and above, which the adjacent devices use in a run.
pub type Ends<A> = [Option<Arc<Mutex<RankEnd<A>>>>; 2];

/// A request of a device to the server thread.
pub enum Ask<U> {
    /// Combine this part with the parts of the other devices.
    Part(U),
    /// Take a step of the message exchange through a link: 0 to the rank below, 1 to the rank above.
    ExchangeStep(usize, ExchangeStep),
    /// The last request: the device has ended, or failed.
    End { failed: bool },
}

/// A device's end of the channels to the server thread.
pub struct Port<U, D> {
    pub device: usize,
    /// Requests to the server.
    pub up: Sender<(usize, Ask<U>)>,
    /// Answers of the server.
    pub down: Receiver<D>,
}

/// The error for a device whose server has stopped.
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

/// The thread that combines parts and communicates with other ranks.
pub struct Server<'r, U, D> {
    asks: Receiver<(usize, Ask<U>)>,
    /// The channel of answers to each device.
    pub answers: Vec<Sender<D>>,
    /// For each link to another rank, signals that its message has arrived.
    arrived: [Option<Sender<()>>; 2],
    exchange: RankExchange<'r>,
    /// Number of devices that have not ended.
    running: usize,
}

impl<'r, U, D> Server<'r, U, D> {
    /// A server for `devices` devices of one of these ranks; their requests arrive at `asks`.
    pub fn new(asks: Receiver<(usize, Ask<U>)>, devices: usize, ranks: &'r dyn Communicator) -> Self {
        Self {
            asks,
            answers: Vec::new(),
            arrived: [None, None],
            exchange: RankExchange::new(ranks),
            running: devices,
        }
    }

    /// Links the first and the last device to devices of other ranks.
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
            let (arrived, arrival) = channel();
            self.arrived[link] = Some(arrived);
            let (device, up) = (devices[link], up.clone());
            let post = move |post: ExchangeStep| {
                up.send((device, Ask::ExchangeStep(link, post))).map_err(over)?;
                match post {
                    ExchangeStep::Start(_) => Ok(()),
                    ExchangeStep::End => arrival.recv().map_err(over),
                }
            };
            Some(Outer {
                end,
                post: Box::new(post),
            })
        })
    }

    /// One part of every device; `None` when all of them have ended or one has failed.
    pub fn parts(&mut self) -> Result<Option<Vec<U>>, Error> {
        let mut parts: Vec<Option<U>> = self.answers.iter().map(|_| None).collect();
        while parts.iter().any(Option::is_none) {
            match self.asks.recv() {
                Ok((device, Ask::Part(part))) => parts[device] = Some(part),
                // SAFETY: the ends of links keep the memory of messages until the run is over, and a device that has
                // started a message waits until the message is complete before it accesses that memory.
                Ok((_, Ask::ExchangeStep(link, ExchangeStep::Start(message)))) => unsafe {
                    self.exchange.start(link, message)?;
                },
                Ok((_, Ask::ExchangeStep(link, ExchangeStep::End))) => {
                    self.exchange.end(link)?;
                    if let Some(arrived) = &self.arrived[link] {
                        // A device that has ended does not receive.
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
        Ok(Some(parts.into_iter().flatten().collect()))
    }

    /// Sends an answer to every device. Devices that have ended do not receive it.
    pub fn answer(&self, answer: impl Fn() -> D) {
        for down in &self.answers {
            let _ = down.send(answer());
        }
    }

    /// Combines the records of this rank with the records of all other ranks.
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

/// Combines records. Each value is computed by one device; the others store +0.0 in its place, which has no bit set.
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
