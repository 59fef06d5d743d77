//! What the processes of a run (ranks) say to each other. The crate `ranks` (`kernels/mpi`) says it by MPI; the tests have ranks that are
//! threads of one process.

use crate::Error;

/// Memory that a message leaves from or arrives in: of the host, or of a device where [`Communicator::reaches_devices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it starts.
    pub address: u64,
    /// Its length.
    pub bytes: usize,
}

/// Bytes of a message to rank 0 at most, into which callers cut what is longer: memory of this size is used again for the next message, where
/// larger ones would get fresh pages each time, and MPI counts no further than 2 GB.
pub const PIECE: usize = 8 << 20;

/// What travels to rank 0 in an order of its own.
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
/// Calls fail with a sentence when the connection does; where MPI ends all ranks at once they do not return.
pub trait Communicator {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Name of this rank's host.
    fn host(&self) -> &str;

    /// Messages may leave from and arrive in the memory of devices.
    fn reaches_devices(&self) -> bool {
        false
    }

    /// Collective: all ranks must call this. The bytes that each rank gives, in the order of the ranks.
    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error>;

    /// Messages of fixed sizes to and from a peer: its rank, and the tag of the first piece (the others count on from
    /// there). The peer calls this with the same tag and the same sizes the other way round. Messages of one pair of
    /// ranks with the same tag keep their order.
    ///
    /// # Safety
    /// The memory must live as long as what is returned, and stay untouched while messages are under way.
    unsafe fn channel(
        &self,
        peer: (usize, usize),
        leaving: &[Span],
        arriving: &[Span],
    ) -> Result<Box<dyn Channel>, Error>;

    /// Sends to rank 0 without waiting for it, up to a few messages ahead.
    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error>;

    /// Waits until what was sent to rank 0 has left. A long message may travel only while both of its ends are in a call of the library.
    fn flush(&self) -> Result<(), Error> {
        Ok(())
    }

    /// On rank 0: the next message that `from` has posted on this topic.
    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error>;
}

/// Collective: all ranks must call this, each with its outcome. Where one has failed all get [`Error::Agreed`] with the
/// sentence of the first.
pub fn agree<T>(ranks: &dyn Communicator, outcome: Result<T, Error>) -> Result<T, Error> {
    let words = outcome.as_ref().err().map_or(String::new(), Error::to_string);
    let all = ranks.all_gather(words.as_bytes())?;
    let Some(first) = all.iter().position(|words| !words.is_empty()) else {
        return outcome;
    };
    let words = String::from_utf8_lossy(&all[first]);
    // Hosts are asked for only here: nobody has a reason to come back.
    let hosts = ranks.all_gather(ranks.host().as_bytes())?;
    let host = String::from_utf8_lossy(&hosts[first]);
    Err(Error::Agreed(
        match all.iter().all(|other| *other == all[first]) {
            true => words.into_owned(),
            false => format!("rank {first} on {host}: {words}"),
        },
    ))
}

/// The same messages again and again, as a time loop sends them.
pub trait Channel {
    /// What arrives may now arrive.
    fn start_receive(&mut self) -> Result<(), Error>;
    /// Message `piece` leaves.
    fn start_send(&mut self, piece: usize) -> Result<(), Error>;
    /// Waits for a message and says which it is; `None` when all have arrived.
    fn wait_any(&mut self) -> Result<Option<usize>, Error>;
    /// Returns when the memory of what left may be used again.
    fn wait_all(&mut self) -> Result<(), Error>;
}

/// A process that is alone.
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
        Err(Error::setup("a process that is alone has no neighbour"))
    }

    fn send_to_root(&self, _: Topic, _: Vec<u8>) -> Result<(), Error> {
        Err(Error::setup("a process that is alone has nobody to post to"))
    }

    fn receive_from(&self, _: Topic, _: usize) -> Result<Vec<u8>, Error> {
        Err(Error::setup("a process that is alone collects from nobody"))
    }
}
