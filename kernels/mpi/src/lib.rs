//! Ranks that communicate through MPI; no other crate calls MPI. All calls are made on the thread that started MPI.
//! This is a separate crate, so that `kernels` is compiled only once for programs with and without MPI.
#![cfg(feature = "mpi")]

use kernels::Error;
use kernels::communicator::{Channel, Communicator, Span, Topic};
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::Communicator as _;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::{Threading, ffi};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// Number of messages to rank 0 that may be in flight before a rank waits for the oldest.
const AHEAD: usize = 8;
/// The tag of the first piece of ghosts; the tags of the others follow it.
const GHOSTS: i32 = 100;

fn tag(topic: Topic) -> i32 {
    match topic {
        Topic::Traces => 1,
        Topic::Snapshots => 2,
        Topic::Maps => 3,
    }
}

/// A message to rank 0 that is in flight, with the memory from which it is sent.
type Posted = (ffi::MPI_Request, Vec<u8>);

/// All ranks that the launcher started. If this is dropped before [`World::end`] is called, all ranks end at once.
pub struct World {
    /// Taken when MPI is ended.
    universe: Option<Universe>,
    all: SimpleCommunicator,
    host: String,
    posted: RefCell<VecDeque<Posted>>,
}

impl World {
    /// Starts MPI, which is possible only once in a process.
    pub fn start() -> Result<Self, Error> {
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let Some((universe, threading)) = started else {
            return Err(Error::setup("MPI was started twice"));
        };
        if threading < Threading::Funneled {
            return Err(Error::setup(format!(
                "this MPI ({}) refuses programs with threads (it grants {threading:?}, but Funneled is needed): use another MPI",
                version()
            )));
        }
        let all = universe.world();
        Ok(Self {
            all,
            universe: Some(universe),
            host: mpi::environment::processor_name().unwrap_or_else(|_| "unknown host".into()),
            posted: RefCell::default(),
        })
    }

    /// Ends MPI regularly. All ranks must call this.
    pub fn end(mut self) {
        self.drain(0);
        // MPI ends when this is dropped.
        drop(self.universe.take());
    }

    /// Ends all ranks now, with this exit code if the launcher passes it on.
    pub fn abort(&self, code: u8) -> ! {
        self.all.abort(i32::from(code))
    }

    /// Waits until at most `left` posted messages are in flight.
    fn drain(&self, left: usize) {
        let mut posted = self.posted.borrow_mut();
        while posted.len() > left {
            if let Some((mut request, _memory)) = posted.pop_front() {
                patiently(|| {
                    let mut done: c_int = 0;
                    // SAFETY: the request was made by MPI_Isend and is tested until it is done; its memory lives until
                    // then.
                    unsafe { ffi::MPI_Test(&mut request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
                    done != 0
                });
            }
        }
    }
}

/// Name and version of the library.
pub fn version() -> String {
    let text = mpi::environment::library_version().unwrap_or_default();
    let first = text.trim_end_matches('\0').lines().next().unwrap_or_default();
    first.split(',').next().unwrap_or_default().trim().to_string()
}

impl Drop for World {
    fn drop(&mut self) {
        if self.universe.is_some() {
            // This happens after an error or a panic on this rank, for which the other ranks would wait forever.
            self.abort(1);
        }
    }
}

impl Communicator for World {
    fn rank(&self) -> usize {
        self.all.rank() as usize
    }

    fn size(&self) -> usize {
        self.all.size() as usize
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn reaches_devices(&self) -> bool {
        let here = libloading::os::unix::Library::this();
        // SAFETY: where the library has this function, it takes nothing and returns 1 or 0 (MPI's extension of that name).
        unsafe {
            here.get::<unsafe extern "C" fn() -> c_int>(b"MPIX_Query_cuda_support")
                .is_ok_and(|query| query() == 1)
        }
    }

    fn all_gather(&self, words: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        // A byte precedes the words, because the address of an empty slice would be mistaken by MPI for one of its
        // constants.
        let words = [&[0], words].concat();
        let mut counts = vec![0i32; self.size()];
        self.all
            .all_gather_into(&count(self, words.len())?, &mut counts[..]);
        let starts: Vec<i32> = counts
            .iter()
            .scan(0, |sum, &n| {
                *sum += n;
                Some(*sum - n)
            })
            .collect();
        let mut all = vec![0u8; counts.iter().map(|&n| n as usize).sum()];
        let mut parts = PartitionMut::new(&mut all[..], counts.clone(), &starts[..]);
        self.all.all_gather_varcount_into(&words[..], &mut parts);
        let part = |(&start, &n): (&i32, &i32)| all[start as usize + 1..(start + n) as usize].to_vec();
        Ok(starts.iter().zip(&counts).map(part).collect())
    }

    unsafe fn channel(
        &self,
        (peer, first): (usize, usize),
        leaving: &[Span],
        arriving: &[Span],
    ) -> Result<Box<dyn Channel>, Error> {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (spans, requests, is_send) in [(leaving, &mut sends, true), (arriving, &mut receives, false)] {
            for (piece, span) in spans.iter().enumerate() {
                // SAFETY: all bits zero are a value of this plain type, which MPI overwrites.
                let mut request: ffi::MPI_Request = unsafe { std::mem::zeroed() };
                let (memory, bytes) = (span.address as *mut std::ffi::c_void, count(self, span.bytes)?);
                let (peer, tag) = (peer as c_int, GHOSTS + (first + piece) as c_int);
                // SAFETY: the caller guarantees that the memory lives as long as the channel.
                unsafe {
                    let (byte, world) = (ffi::RSMPI_UINT8_T, self.all.as_raw());
                    if is_send {
                        ffi::MPI_Send_init(memory, bytes, byte, peer, tag, world, &mut request);
                    } else {
                        ffi::MPI_Recv_init(memory, bytes, byte, peer, tag, world, &mut request);
                    }
                }
                requests.push(request);
            }
        }
        Ok(Box::new(Persistent { sends, receives }))
    }

    fn send_to_root(&self, topic: Topic, message: Vec<u8>) -> Result<(), Error> {
        self.drain(AHEAD - 1);
        // SAFETY: all bits zero are a value of this plain type, which MPI overwrites.
        let mut request: ffi::MPI_Request = unsafe { std::mem::zeroed() };
        let bytes = count(self, message.len())?;
        // SAFETY: the message is kept until the wait for it has ended; moving the Vec does not move its numbers.
        unsafe {
            let (byte, world) = (ffi::RSMPI_UINT8_T, self.all.as_raw());
            ffi::MPI_Isend(
                message.as_ptr().cast(),
                bytes,
                byte,
                0,
                tag(topic),
                world,
                &mut request,
            );
        }
        self.posted.borrow_mut().push_back((request, message));
        Ok(())
    }

    fn receive_from(&self, topic: Topic, from: usize) -> Result<Vec<u8>, Error> {
        let process = self.all.process_at_rank(from as i32);
        patiently(|| process.immediate_probe_with_tag(tag(topic)).is_some());
        Ok(process.receive_vec_with_tag::<u8>(tag(topic)).0)
    }

    fn flush(&self) -> Result<(), Error> {
        self.drain(0);
        Ok(())
    }
}

/// Time for which a thread polls MPI without pauses. While MPI's calls wait, they keep busy a processor that the engine
/// of this rank may need.
const PATIENCE: Duration = Duration::from_millis(5);

/// Pause between two polls after that time.
const REST: Duration = Duration::from_micros(200);

/// Polls until `is_done` returns true.
fn patiently(mut is_done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_done() {
        if begun.elapsed() > PATIENCE {
            std::thread::sleep(REST);
        }
    }
}

/// The length of a message in the type in which MPI counts bytes.
fn count(world: &World, bytes: usize) -> Result<c_int, Error> {
    c_int::try_from(bytes).map_err(|_| Error::Ranks {
        rank: world.rank(),
        host: world.host.clone(),
        doing: format!("a message of {bytes} bytes"),
        problem: format!(
            "MPI counts up to {} bytes; use more ranks or a smaller grid",
            c_int::MAX
        ),
    })
}

/// Messages that are described to MPI once.
struct Persistent {
    sends: Vec<ffi::MPI_Request>,
    receives: Vec<ffi::MPI_Request>,
}

impl Channel for Persistent {
    fn start_receive(&mut self) -> Result<(), Error> {
        // SAFETY: inactive persistent requests of this channel.
        unsafe { ffi::MPI_Startall(self.receives.len() as c_int, self.receives.as_mut_ptr()) };
        Ok(())
    }

    fn start_send(&mut self, piece: usize) -> Result<(), Error> {
        // SAFETY: an inactive persistent request of this channel.
        unsafe { ffi::MPI_Start(&mut self.sends[piece]) };
        Ok(())
    }

    fn wait_any(&mut self) -> Result<Option<usize>, Error> {
        let mut index: c_int = -1;
        // SAFETY: persistent requests of this channel; inactive ones are skipped, and the index is undefined when all
        // are inactive.
        unsafe {
            ffi::MPI_Waitany(
                self.receives.len() as c_int,
                self.receives.as_mut_ptr(),
                &mut index,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        Ok(usize::try_from(index).ok().filter(|&k| k < self.receives.len()))
    }

    fn wait_all(&mut self) -> Result<(), Error> {
        // SAFETY: persistent requests of this channel; statuses are not requested.
        unsafe {
            ffi::MPI_Waitall(
                self.sends.len() as c_int,
                self.sends.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        Ok(())
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        for request in self.sends.iter_mut().chain(&mut self.receives) {
            // SAFETY: the request was made by this channel and is freed once, before MPI ends.
            unsafe { ffi::MPI_Request_free(request) };
        }
    }
}
