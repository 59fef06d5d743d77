//! Messages between the processes (ranks) of a run. The crate `ranks` (`kernels/mpi`) sends them by MPI; in the
//! tests, ranks are threads of one process.

use crate::{Error, Message};

/// Memory that a message is sent from or received into: of the host, or of a device where
/// [`Communicator::reaches_devices`] returns true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The address at which it starts.
    pub address: u64,
    /// Its length in bytes.
    pub bytes: usize,
}

/// The largest number of bytes of a message to rank 0. Callers split longer data into messages of this size: the
/// allocator reuses memory of this size for the next message, whereas larger blocks would use fresh pages each time,
/// and MPI cannot count beyond 2 GB.
pub const PIECE: usize = 8 << 20;

/// Kinds of data that are sent to rank 0. The order of messages is preserved within a topic, but not between topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Records of receivers.
    Traces,
    /// Pieces of snapshots.
    Snapshots,
    /// Maps at the end of a run.
    Maps,
}

/// The ranks of a run, as one of them sees them.
///
/// Calls return an error when the connection fails, except where MPI aborts all ranks at once: then they do not return.
pub trait Communicator {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Name of this rank's host.
    fn host(&self) -> &str;

    /// Whether messages may be sent from and received into the memory of devices.
    fn reaches_devices(&self) -> bool {
        false
    }

    /// Returns the bytes that each rank passed, in the order of the ranks. Collective: all ranks must call this.
    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error>;

    /// Sets up messages of fixed sizes to and from a peer, given as its rank and the tag of the first message; the
    /// tags of the others follow consecutively. The peer must call this with the same tag and with the sizes of
    /// `leaving` and `arriving` exchanged. Messages of one pair of ranks with the same tag keep their order.
    ///
    /// # Safety
    /// The memory must outlive the returned channel, and must not be touched while messages are in flight.
    unsafe fn channel(
        &self,
        peer: (usize, usize),
        leaving: &[Span],
        arriving: &[Span],
    ) -> Result<Box<dyn Channel>, Error>;

    /// Sends to rank 0 without waiting for the receipt, unless several messages are already in flight.
    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error>;

    /// Waits until all messages to rank 0 have been sent. MPI may transfer a long message only while both ends are in
    /// one of its calls.
    fn flush(&self) -> Result<(), Error> {
        Ok(())
    }

    /// On rank 0: receives the next message that rank `from` has sent on this topic.
    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error>;
}

/// Turns a failure on one rank into a failure on all: if any outcome is an error, every rank returns [`Error::Agreed`]
/// with the message of the first rank that failed. Collective: all ranks must call this, each with its own outcome.
pub fn agree<T>(ranks: &dyn Communicator, outcome: Result<T, Error>) -> Result<T, Error> {
    let own = outcome
        .as_ref()
        .err()
        .map_or(Vec::new(), |error| error.message().to_bytes());
    let all = ranks.all_gather(&own)?;
    let Some(first) = all.iter().position(|message| !message.is_empty()) else {
        return outcome;
    };
    let message = Message::from_bytes(&all[first]);
    // Host names are exchanged only after a failure, when the cost no longer matters.
    let hosts = ranks.all_gather(ranks.host().as_bytes())?;
    let host = String::from_utf8_lossy(&hosts[first]);
    Err(Error::Agreed(
        match all.iter().all(|other| *other == all[first]) {
            true => message,
            false => Message::from(format!("rank {first} on {host}: ")).and(message),
        },
    ))
}

/// Messages that are repeated in every step of a time loop.
pub trait Channel {
    /// Posts the receives of all arriving messages.
    fn start_receive(&mut self) -> Result<(), Error>;
    /// Starts sending message `piece`.
    fn start_send(&mut self, piece: usize) -> Result<(), Error>;
    /// Waits for any arriving message and returns its index; `None` when all have arrived.
    fn wait_any(&mut self) -> Result<Option<usize>, Error>;
    /// Waits until the memory of all sent messages may be used again.
    fn wait_all(&mut self) -> Result<(), Error>;
}

/// The communicator of a run with a single process.
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn host(&self) -> &str {
        "this host"
    }

    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![words.to_vec()])
    }

    unsafe fn channel(&self, _: (usize, usize), _: &[Span], _: &[Span]) -> Result<Box<dyn Channel>, Error> {
        Err(Error::setup(
            "a run of one process has no neighbouring rank to exchange halos with",
        ))
    }

    fn send_to_root(&self, _: Topic, _: Vec<u8>) -> Result<(), Error> {
        Err(Error::setup("a run of one process has no other rank to send to"))
    }

    fn receive_from(&self, _: Topic, _: usize) -> Result<Vec<u8>, Error> {
        Err(Error::setup(
            "a run of one process has no other rank to receive from",
        ))
    }
}
