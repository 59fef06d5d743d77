//! Ranks that are threads of this process, to test the cooperation of ranks without MPI.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use kernels::Error;
use kernels::communicator::{Channel, Communicator, Span, Topic};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};

/// Sender, receiver and tag of a message.
type Address = (usize, usize, usize);

const TRACES: usize = 1;
const SNAPSHOTS: usize = 2;
const WORDS: usize = 3;
const MAPS: usize = 4;
const GHOSTS: usize = 10;

/// Messages that have not been received yet.
#[derive(Default)]
struct Post {
    boxes: Mutex<BTreeMap<Address, VecDeque<Vec<u8>>>>,
    came: Condvar,
}

impl Post {
    fn send(&self, to: Address, message: Vec<u8>) {
        self.boxes
            .lock()
            .unwrap()
            .entry(to)
            .or_default()
            .push_back(message);
        self.came.notify_all();
    }

    fn take(&self, from: Address) -> Vec<u8> {
        let mut boxes = self.boxes.lock().unwrap();
        loop {
            if let Some(message) = boxes.get_mut(&from).and_then(VecDeque::pop_front) {
                return message;
            }
            boxes = self.came.wait(boxes).unwrap();
        }
    }
}

/// One of the ranks.
pub struct ThreadRank {
    rank: usize,
    size: usize,
    host: String,
    reaches_devices: bool,
    post: Arc<Post>,
    shared: Cell<usize>,
    channels: Cell<usize>,
}

impl ThreadRank {
    /// Number of channels made so far.
    pub fn channels(&self) -> usize {
        self.channels.get()
    }
}

/// The capabilities of the ranks of a test.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capabilities {
    /// Whether messages may be in the memory of devices.
    pub reach_devices: bool,
    /// Whether every rank is on a different host.
    pub apart: bool,
}

/// Runs `work` on `size` ranks and returns their results.
pub fn thread_ranks<R: Send>(
    size: usize,
    talents: Capabilities,
    work: impl Fn(&ThreadRank) -> R + Sync,
) -> Vec<R> {
    let post = Arc::new(Post::default());
    on_post(&post, &hosts(size, talents), talents.reach_devices, |rank| {
        work(&rank)
    })
}

/// The names of the hosts of `size` ranks.
fn hosts(size: usize, talents: Capabilities) -> Vec<String> {
    let name = |rank: usize| match talents.apart {
        true => format!("host{rank}"),
        false => "host".into(),
    };
    (0..size).map(name).collect()
}

fn on_post<R: Send>(
    post: &Arc<Post>,
    hosts: &[String],
    reaches_devices: bool,
    work: impl Fn(ThreadRank) -> R + Sync,
) -> Vec<R> {
    // The threads of ranks have the name of their test, so that `tests/spoil` knows which test has measured records.
    let test = std::thread::current().name().unwrap_or("a rank").to_string();
    std::thread::scope(|scope| {
        let rank = |(rank, host): (usize, &String)| {
            let (post, host, work) = (post.clone(), host.clone(), &work);
            let run = move || {
                work(ThreadRank {
                    rank,
                    size: hosts.len(),
                    host,
                    reaches_devices,
                    post,
                    shared: Cell::new(0),
                    channels: Cell::new(0),
                })
            };
            let named = std::thread::Builder::new().name(test.clone());
            named.spawn_scoped(scope, run).expect("a thread starts")
        };
        let threads: Vec<_> = hosts.iter().enumerate().map(rank).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("a rank that ends well"))
            .collect()
    })
}

/// Like [`thread_ranks`], for work that ends well, with a check that all messages were received.
pub fn thread_ranks_that_listen<R: Send>(
    size: usize,
    talents: Capabilities,
    work: impl Fn(&ThreadRank) -> R + Sync,
) -> Vec<R> {
    listening(&hosts(size, talents), talents.reach_devices, |rank| work(&rank))
}

/// Like [`thread_ranks`], on hosts with these names, for work that takes ownership of its rank.
pub fn thread_ranks_on<R: Send>(hosts: &[&str], work: impl Fn(ThreadRank) -> R + Sync) -> Vec<R> {
    let hosts: Vec<String> = hosts.iter().map(|host| host.to_string()).collect();
    listening(&hosts, false, work)
}

fn listening<R: Send>(
    hosts: &[String],
    reaches_devices: bool,
    work: impl Fn(ThreadRank) -> R + Sync,
) -> Vec<R> {
    let post = Arc::new(Post::default());
    let answers = on_post(&post, hosts, reaches_devices, work);
    let left: usize = post.boxes.lock().unwrap().values().map(VecDeque::len).sum();
    assert_eq!(left, 0, "messages that were not received");
    answers
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn reaches_devices(&self) -> bool {
        self.reaches_devices
    }

    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        for to in 0..self.size {
            self.post.send((self.rank, to, WORDS), words.to_vec());
        }
        self.shared.set(self.shared.get() + 1);
        Ok((0..self.size)
            .map(|from| self.post.take((from, self.rank, WORDS)))
            .collect())
    }

    unsafe fn channel(
        &self,
        (peer, first): (usize, usize),
        leaving: &[Span],
        arriving: &[Span],
    ) -> Result<Box<dyn Channel>, Error> {
        assert!(peer != self.rank, "halos inside a rank need no messages");
        self.channels.set(self.channels.get() + 1);
        Ok(Box::new(Wire {
            post: self.post.clone(),
            ranks: (self.rank, peer),
            first: GHOSTS + first,
            leaving: leaving.to_vec(),
            arriving: arriving.to_vec(),
            due: Vec::new(),
        }))
    }

    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error> {
        self.post.send((self.rank, 0, tag(topic)), message);
        Ok(())
    }

    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error> {
        Ok(self.post.take((from, self.rank, tag(topic))))
    }
}

fn tag(topic: Topic) -> usize {
    match topic {
        Topic::Traces => TRACES,
        Topic::Snapshots => SNAPSHOTS,
        Topic::Maps => MAPS,
    }
}

struct Wire {
    post: Arc<Post>,
    ranks: (usize, usize),
    /// Tag of the first piece.
    first: usize,
    leaving: Vec<Span>,
    arriving: Vec<Span>,
    /// Pieces that have not arrived yet.
    due: Vec<usize>,
}

impl Channel for Wire {
    fn start_receive(&mut self) -> Result<(), Error> {
        assert!(self.due.is_empty(), "the last step's messages have arrived");
        // Pieces may be received in any order.
        self.due = (0..self.arriving.len()).collect();
        Ok(())
    }

    fn start_send(&mut self, piece: usize) -> Result<(), Error> {
        let span = self.leaving[piece];
        // SAFETY: the slab keeps its memory; the test's devices have theirs in this process.
        let bytes = unsafe { std::slice::from_raw_parts(span.address as *const u8, span.bytes) };
        let (me, peer) = self.ranks;
        self.post.send((me, peer, self.first + piece), bytes.to_vec());
        Ok(())
    }

    fn wait_any(&mut self) -> Result<Option<usize>, Error> {
        let Some(piece) = self.due.pop() else {
            return Ok(None);
        };
        let (me, peer) = self.ranks;
        let message = self.post.take((peer, me, self.first + piece));
        let span = self.arriving[piece];
        assert_eq!(message.len(), span.bytes, "neighbours agree on sizes");
        // SAFETY: as above; the memory is not read before this returns.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), span.address as *mut u8, span.bytes) };
        Ok(Some(piece))
    }

    fn wait_all(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
