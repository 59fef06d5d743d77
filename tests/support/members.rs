//! Ranks that are threads of one test, on hosts with arbitrary names. Each has a `World`, and their messages to rank 0
//! are recorded.

#[path = "thread_ranks.rs"]
mod thread_ranks;

use super::World;
use kernels::Error;
use kernels::communicator::{Channel, Communicator, Span, Topic};
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use thread_ranks::{ThreadRank, thread_ranks_on};

/// Messages of a rank to rank 0: the number of bytes of each, or `None` for a wait until all messages have left.
type Log = Arc<Mutex<Vec<Option<usize>>>>;

/// One of the ranks.
pub struct Member {
    rank: ThreadRank,
    sent: Log,
    under_way: Cell<bool>,
}

/// The results of the ranks, and their messages to rank 0.
pub struct Met<R> {
    /// Results by rank.
    pub answers: Vec<R>,
    /// Messages of each rank, in order.
    pub sent: Vec<Vec<Option<usize>>>,
}

/// Runs `work` on one rank for each of these hosts.
pub fn meet<R: Send>(hosts: &[&str], work: impl Fn(&World) -> R + Sync) -> Met<R> {
    let logs: Vec<Log> = hosts.iter().map(|_| Arc::default()).collect();
    let answers = thread_ranks_on(hosts, |rank| {
        let member = Member {
            sent: logs[rank.rank()].clone(),
            rank,
            under_way: Cell::new(false),
        };
        work(&World::Members(Box::new(member)))
    });
    let sent = logs
        .iter()
        .map(|log| log.lock().expect("nobody holds it").clone());
    Met {
        answers,
        sent: sent.collect(),
    }
}

/// The results of the ranks alone.
pub fn answers<R: Send>(hosts: &[&str], work: impl Fn(&World) -> R + Sync) -> Vec<R> {
    meet(hosts, work).answers
}

impl Communicator for Member {
    fn rank(&self) -> usize {
        self.rank.rank()
    }

    fn size(&self) -> usize {
        self.rank.size()
    }

    fn host(&self) -> &str {
        self.rank.host()
    }

    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.rank.all_gather(words)
    }

    unsafe fn channel(&self, _: (usize, usize), _: &[Span], _: &[Span]) -> Result<Box<dyn Channel>, Error> {
        Err(Error::setup("ranks of these tests have no halos"))
    }

    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error> {
        assert_eq!(topic, Topic::Traces, "shots are exchanged as records are");
        self.sent.lock().expect("it is mine").push(Some(message.len()));
        self.under_way.set(true);
        self.rank.send_to_root(topic, message)
    }

    fn flush(&self) -> Result<(), Error> {
        if self.under_way.replace(false) {
            self.sent.lock().expect("it is mine").push(None);
        }
        Ok(())
    }

    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error> {
        self.rank.receive_from(topic, from)
    }
}
