//! What an engine needs of an accelerator: memory, streams, kernels compiled from text. [`super::cuda`] is the real
//! one; the tests have one that runs the same kernel text on a processor.

use crate::Error;
use std::ffi::c_void;

/// A line of work: what is put into one stream runs in order, streams run beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The bulk of a step.
    Main,
    /// What neighbours wait for; goes first where both could run.
    Edges,
    /// What leaves for the host; where nothing does, a further part of the bulk.
    Out,
    /// A part of the bulk that may run beside the rest of it.
    Beside,
}

impl Stream {
    /// All of them, what others wait for first.
    pub const ALL: [Stream; 4] = [Stream::Edges, Stream::Main, Stream::Beside, Stream::Out];
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// As its maker calls it.
    pub name: String,
    /// Its number on this host.
    pub number: usize,
    /// Compute capability times ten: 90 for 9.0.
    pub architecture: u32,
    /// Blocks of a launch can form clusters and write to each other's shared memory.
    pub clusters: bool,
    /// Streams can write numbers into memory and wait for them there.
    pub signals: bool,
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of shared memory that one block may use.
    pub shared_bytes: usize,
    /// Bytes of memory.
    pub memory_bytes: usize,
}

/// A program text for the device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// For messages: which text in which variant, as `sweep.cu NDIM=3 SYM=1`.
    pub name: String,
    /// CUDA C, complete: no includes. Kernels are `extern "C"`.
    pub text: String,
}

/// Blocks, threads of a block (one dimension) and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Blocks along x, y, z.
    pub grid: [usize; 3],
    /// Threads of a block.
    pub threads: usize,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
}

/// Boxes of a packed four-dimensional array of numbers, fastest axis first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// Where the array starts.
    pub address: u64,
    /// float64 instead of float32.
    pub double: bool,
    /// The array.
    pub size: [usize; 4],
    /// A box.
    pub part: [usize; 4],
}

/// Memory of a device; dropping it gives it back.
pub trait Memory: Send + Sync {
    /// Where it starts in the device's address space.
    fn address(&self) -> u64;
    /// Its size.
    fn bytes(&self) -> usize;
}

/// Memory of the host that a device can reach at full speed; dropping it gives it back.
pub trait Pinned: Send + Sync {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// Its bytes, writable.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// One device. All calls may be made from any thread; work is only enqueued unless the text says otherwise, and
/// failures of earlier work surface in later calls, at the latest in [`Accelerator::finish`].
pub trait Accelerator: Sized + Send + Sync + 'static {
    /// Device memory.
    type Memory: Memory;
    /// Host memory for transfers.
    type Pinned: Pinned;
    /// A compiled kernel.
    type Kernel: Send + Sync;
    /// A point in a stream that others can wait for; re-usable.
    type Event: Send + Sync;
    /// Recorded work that can be replayed at little cost.
    type Graph: Send + Sync;

    /// What the device is.
    fn properties(&self) -> &Properties;

    /// Bytes of memory that are free now.
    fn free_bytes(&self) -> Result<usize, Error>;

    /// Compiles a text (or takes it from the cache) and returns the kernels of these names, in their order.
    fn load(&self, source: &Source, kernels: &[&str]) -> Result<Vec<Self::Kernel>, Error>;

    /// Blocks of a kernel that one multiprocessor holds at once; 0 when not even one fits.
    fn resident_blocks(&self, kernel: &Self::Kernel, threads: usize, shared: usize) -> Result<usize, Error>;

    /// Zeroed memory (complete on return).
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error>;

    /// Fills memory with zeros, in the main stream.
    fn clear(&self, memory: &Self::Memory) -> Result<(), Error>;

    /// Memory that holds whatever was there; work that is under way is not waited for.
    fn reserve(&self, bytes: usize) -> Result<Self::Memory, Error> {
        self.allocate(bytes)
    }

    /// Host memory for transfers.
    fn pin(&self, bytes: usize) -> Result<Self::Pinned, Error>;

    /// Host to device: `bytes` bytes from `offset` of `from`.
    ///
    /// # Safety
    /// `from` must live and stay unchanged until the copy is done, `to` must be device memory of that size.
    unsafe fn upload(
        &self,
        stream: Stream,
        from: &Self::Pinned,
        offset: usize,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error>;

    /// Host to device from any memory, behind the work of the main stream; the bytes are there on return. This is for what is sent once.
    ///
    /// # Safety
    /// `to` must be device memory of that size.
    unsafe fn put(&self, bytes: &[u8], to: u64) -> Result<(), Error> {
        let mut pinned = self.pin(bytes.len())?;
        pinned.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        // SAFETY: promised by the caller; the pinned memory lives until the copy is done, which is waited for.
        unsafe { self.upload(Stream::Main, &pinned, 0, to, bytes.len())? };
        self.finish()
    }

    /// Device to host.
    ///
    /// # Safety
    /// `to` must live and stay untouched until the copy is done, `from` must be device memory of that size.
    unsafe fn download(
        &self,
        stream: Stream,
        from: u64,
        to: &mut Self::Pinned,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Error>;

    /// Device to device, to this or another device, put into this device's stream.
    ///
    /// # Safety
    /// Both must be device memory of that size that lives until the copy is done.
    unsafe fn copy_to(
        &self,
        stream: Stream,
        from: u64,
        peer: &Self,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error>;

    /// Launches a kernel. `args` point to its arguments, in order, which are copied before the call returns.
    ///
    /// # Safety
    /// The arguments must be those of the kernel's declaration and the kernel may touch only memory that lives until
    /// it is done.
    unsafe fn launch(
        &self,
        stream: Stream,
        kernel: &Self::Kernel,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error>;

    /// A new event, which counts as reached until it is first set.
    fn event(&self) -> Result<Self::Event, Error>;

    /// Moves an event behind all work put into the stream so far.
    fn record(&self, stream: Stream, event: &Self::Event) -> Result<(), Error>;

    /// Work put into the stream from now on waits for the event, which may be another device's.
    fn wait(&self, stream: Stream, event: &Self::Event) -> Result<(), Error>;

    /// Returns when the event is reached.
    fn synchronize(&self, event: &Self::Event) -> Result<(), Error>;

    /// Returns when all streams are empty, with the error of any work that failed.
    fn finish(&self) -> Result<(), Error>;

    /// Every launch is waited for, so that a fault is that launch's; what replays recorded work would hide it.
    fn is_synchronous(&self) -> bool {
        false
    }

    /// Records the launches that `work` puts into the main stream instead of running them.
    fn capture(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Self::Graph, Error>;

    /// Puts recorded work into the main stream.
    fn launch_graph(&self, graph: &Self::Graph) -> Result<(), Error>;

    /// The description with which kernels copy such boxes into shared memory (`copy_box` of prelude.cuh), to be put at a
    /// multiple of 64 bytes of device memory. For compute capability 9.0 and later.
    fn boxes(&self, boxes: &Boxes) -> Result<[u64; 16], Error>;

    /// Words by which another process of this host can [`Accelerator::import_ipc`] this memory; empty where it cannot.
    fn export_ipc(&self, _memory: &Self::Memory) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Memory that another process has lent; `None` where it cannot be reached from here. It must not outlive what was
    /// lent.
    fn import_ipc(&self, _words: &[u8]) -> Option<Box<dyn Memory>> {
        None
    }

    /// Writes a number into memory of this device, or into memory that [`Accelerator::import_ipc`] has opened, when the work that was put
    /// into the stream before it is done. Only for devices with [`Properties::signals`].
    ///
    /// # Safety
    /// The address must be that of eight bytes, a multiple of eight, which live until the number is written.
    unsafe fn signal(&self, stream: Stream, to: u64, number: u64) -> Result<(), Error>;

    /// Work put into the stream from now on waits until at least this number is found in memory of this device. Only for devices with
    /// [`Properties::signals`].
    ///
    /// # Safety
    /// The same, until the number is found.
    unsafe fn await_signal(&self, stream: Stream, at: u64, number: u64) -> Result<(), Error>;

    /// Makes memory of this device and of `peer` reachable from each other; `false` where the hardware cannot, in
    /// which case [`Accelerator::copy_to`] goes through the host.
    fn enable_peer_access(&self, peer: &Self) -> Result<bool, Error>;
}

/// Threads of a block of a kernel that walks over memory.
pub const WALKERS: usize = 256;

/// A pointer to an argument.
pub fn argument<S>(args: &S) -> [*const c_void; 1] {
    [std::ptr::from_ref(args).cast()]
}

/// Enough blocks of [`WALKERS`] threads for `count` numbers, not more than keep a device busy.
pub fn walk(count: usize) -> Dims {
    Dims {
        grid: [count.div_ceil(WALKERS).clamp(1, 4096), 1, 1],
        threads: WALKERS,
        shared: 0,
    }
}

/// The same for a search, which reads all of a device's memory at once.
pub fn search(count: usize) -> Dims {
    Dims {
        grid: [count.div_ceil(4 * WALKERS).clamp(1, 1 << 20), 1, 1],
        ..walk(count)
    }
}

/// Numbers of the host into new memory of the device.
pub fn send<A: Accelerator, N: bytemuck::Pod>(accelerator: &A, numbers: &[N]) -> Result<A::Memory, Error> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    if bytes.is_empty() {
        return accelerator.allocate(1);
    }
    let memory = accelerator.reserve(bytes.len())?;
    // SAFETY: the memory is as long.
    unsafe { accelerator.put(bytes, memory.address())? };
    Ok(memory)
}
