//! Ranks that are threads of one test, on hosts with any names, so that what ranks agree on is tested without
//! MPI.

use super::World;
use kernels::Error;
use kernels::communicator::{Channel, Communicator, Span, Topic};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The sender, the receiver, and whether the message belongs to a collective call.
type Address = (usize, usize, bool);

/// Messages under way.
#[derive(Default)]
struct Post {
    boxes: Mutex<BTreeMap<Address, VecDeque<Vec<u8>>>>,
    came: Condvar,
}

impl Post {
    fn send(&self, to: Address, message: Vec<u8>) {
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        boxes.entry(to).or_default().push_back(message);
        self.came.notify_all();
    }

    /// A test fails if its ranks do not come together.
    fn take(&self, from: Address) -> Vec<u8> {
        let boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_empty =
            |boxes: &mut BTreeMap<Address, VecDeque<_>>| boxes.get(&from).is_none_or(VecDeque::is_empty);
        let waited = self
            .came
            .wait_timeout_while(boxes, Duration::from_secs(100), is_empty);
        let (mut boxes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let message = boxes.get_mut(&from).and_then(VecDeque::pop_front);
        message.expect("a message comes in time")
    }
}

/// One of the ranks.
pub struct Member {
    rank: usize,
    hosts: Vec<String>,
    post: Arc<Post>,
    sent: Arc<Mutex<Vec<Option<usize>>>>,
    under_way: RefCell<usize>,
}

/// What the ranks return, and what they have sent to rank 0: the bytes of a message, or none for a wait until
/// all messages have left.
pub struct Met<R> {
    /// By rank.
    pub answers: Vec<R>,
    /// In the order of each rank.
    pub sent: Vec<Vec<Option<usize>>>,
}

/// Runs `work` as one rank on each of these hosts.
pub fn meet<R: Send>(hosts: &[&str], work: impl Fn(&World) -> R + Sync) -> Met<R> {
    let post = Arc::new(Post::default());
    let logs: Vec<Arc<Mutex<_>>> = hosts.iter().map(|_| Arc::default()).collect();
    let answers = std::thread::scope(|scope| {
        let start = |(rank, log): (usize, &Arc<Mutex<_>>)| {
            let member = Member {
                rank,
                hosts: hosts.iter().map(|host| host.to_string()).collect(),
                post: post.clone(),
                sent: log.clone(),
                under_way: RefCell::new(0),
            };
            let work = &work;
            scope.spawn(move || work(&World::Members(Box::new(member))))
        };
        let threads: Vec<_> = logs.iter().enumerate().map(start).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|answer| answer.expect("a rank that ends well"))
            .collect()
    });
    let boxes = post.boxes.lock().expect("nobody holds it");
    assert!(
        boxes.values().all(VecDeque::is_empty),
        "messages that nobody has received"
    );
    let sent = logs
        .iter()
        .map(|log| log.lock().expect("nobody holds it").clone());
    Met {
        answers,
        sent: sent.collect(),
    }
}

/// What the ranks answer.
pub fn answers<R: Send>(hosts: &[&str], work: impl Fn(&World) -> R + Sync) -> Vec<R> {
    meet(hosts, work).answers
}

impl Communicator for Member {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.hosts.len()
    }

    fn host(&self) -> &str {
        &self.hosts[self.rank]
    }

    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let all = 0..self.size();
        all.clone()
            .for_each(|to| self.post.send((self.rank, to, true), words.to_vec()));
        Ok(all.map(|from| self.post.take((from, self.rank, true))).collect())
    }

    unsafe fn channel(&self, _: (usize, usize), _: &[Span], _: &[Span]) -> Result<Box<dyn Channel>, Error> {
        Err(Error::setup("ranks of these tests have no halos"))
    }

    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error> {
        assert_eq!(topic, Topic::Traces, "shots travel as records do");
        self.sent.lock().expect("it is mine").push(Some(message.len()));
        *self.under_way.borrow_mut() += 1;
        self.post.send((self.rank, 0, false), message);
        Ok(())
    }

    fn flush(&self) -> Result<(), Error> {
        if self.under_way.replace(0) > 0 {
            self.sent.lock().expect("it is mine").push(None);
        }
        Ok(())
    }

    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error> {
        assert_eq!(topic, Topic::Traces, "shots travel as records do");
        Ok(self.post.take((from, 0, false)))
    }
}
