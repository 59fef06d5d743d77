//! The interface of engines to an accelerator: memory, streams, and kernels compiled from source. [`super::cuda`]
//! implements it for GPUs; the tests have an implementation that runs the same kernel source on a processor.

use crate::Error;
use std::ffi::c_void;

/// A queue of work: work in one stream runs in order, and different streams may run concurrently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The bulk of a step.
    Main,
    /// Work whose results neighbours wait for; has priority over the other streams.
    Edges,
    /// Copies to the host; in runs without any, a further part of the bulk.
    Out,
    /// A part of the bulk that may run concurrently with the remaining parts.
    Beside,
}

impl Stream {
    /// All streams, the one with priority first.
    pub const ALL: [Stream; 4] = [Stream::Edges, Stream::Main, Stream::Beside, Stream::Out];
}

/// Properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Name of the product, as the driver reports it.
    pub name: String,
    /// Number of the device on this host.
    pub number: usize,
    /// Compute capability times ten: 90 for 9.0.
    pub architecture: u32,
    /// Blocks of a launch can form clusters and write to each other's shared memory.
    pub clusters: bool,
    /// Streams can write numbers into memory and wait for them there.
    pub signals: bool,
    /// Number of multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of shared memory that one block may use.
    pub shared_bytes: usize,
    /// Bytes of device memory.
    pub memory_bytes: usize,
}

/// The source of kernels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Name for messages: the file and its variant, such as `sweep.cu NDIM=3 SYM=1`.
    pub name: String,
    /// Complete CUDA C++ text without includes. Kernels are `extern "C"`.
    pub text: String,
}

/// Dimensions of a launch: blocks, threads per block (one-dimensional) and dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Numbers of blocks along x, y, z.
    pub grid: [usize; 3],
    /// Number of threads of a block.
    pub threads: usize,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
}

/// The description of boxes of one size in a contiguous four-dimensional array. Axes are ordered fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// The address at which the array starts.
    pub address: u64,
    /// Whether the numbers are float64 instead of float32.
    pub double: bool,
    /// Size of the array.
    pub size: [usize; 4],
    /// Size of a box.
    pub part: [usize; 4],
}

/// Memory of a device, freed on drop.
pub trait Memory: Send + Sync {
    /// Where it starts in the device's address space.
    fn address(&self) -> u64;
    /// Its size.
    fn bytes(&self) -> usize;
}

/// Page-locked memory of the host, which a device copies at full speed; freed on drop.
pub trait Pinned: Send + Sync {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// Its bytes, writable.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// One device. All methods may be called from any thread. They only enqueue work unless their documentation says
/// otherwise; failures of that work surface in later calls, at the latest in [`Accelerator::finish`].
pub trait Accelerator: Sized + Send + Sync + 'static {
    /// Device memory.
    type Memory: Memory;
    /// Host memory for transfers.
    type Pinned: Pinned;
    /// A compiled kernel.
    type Kernel: Send + Sync;
    /// A point in a stream for which other streams can wait; it can be reused.
    type Event: Send + Sync;
    /// Recorded work that can be replayed at little cost.
    type Graph: Send + Sync;

    /// Properties of the device.
    fn properties(&self) -> &Properties;

    /// Bytes of memory that are free now.
    fn free_bytes(&self) -> Result<usize, Error>;

    /// Compiles a source text, or takes its machine code from the cache, and returns the kernels with these names, in
    /// the same order.
    fn load(&self, source: &Source, kernels: &[&str]) -> Result<Vec<Self::Kernel>, Error>;

    /// Number of blocks of a kernel that are resident on one multiprocessor at once; 0 if not even one fits.
    fn resident_blocks(&self, kernel: &Self::Kernel, threads: usize, shared: usize) -> Result<usize, Error>;

    /// Allocates memory, which is zeroed on return.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error>;

    /// Fills memory with zeros, in the main stream.
    fn clear(&self, memory: &Self::Memory) -> Result<(), Error>;

    /// Allocates uninitialised memory without waiting for work in progress.
    fn reserve(&self, bytes: usize) -> Result<Self::Memory, Error> {
        self.allocate(bytes)
    }

    /// Allocates page-locked host memory.
    fn pin(&self, bytes: usize) -> Result<Self::Pinned, Error>;

    /// Copies `bytes` bytes from `offset` of `from` to the device address `to`.
    ///
    /// # Safety
    /// `from` must live and stay unchanged until the copy is done, and `to` must be device memory of that size.
    unsafe fn upload(
        &self,
        stream: Stream,
        from: &Self::Pinned,
        offset: usize,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error>;

    /// Copies from any host memory to the device, after the work of the main stream, and returns when the copy is
    /// done. This is meant for data that are sent once.
    ///
    /// # Safety
    /// `to` must be device memory of that size.
    unsafe fn put(&self, bytes: &[u8], to: u64) -> Result<(), Error> {
        let mut pinned = self.pin(bytes.len())?;
        pinned.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        // SAFETY: the caller guarantees the other conditions; the pinned memory lives until the copy is done, for which
        // this function waits.
        unsafe { self.upload(Stream::Main, &pinned, 0, to, bytes.len())? };
        self.finish()
    }

    /// Copies `bytes` bytes from the device address `from` to `offset` of `to`.
    ///
    /// # Safety
    /// `to` must live and stay untouched until the copy is done, and `from` must be device memory of that size.
    unsafe fn download(
        &self,
        stream: Stream,
        from: u64,
        to: &mut Self::Pinned,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Error>;

    /// Copies within this device or to another one, as work of a stream of this device.
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
    /// The arguments must match the kernel's declaration, and the kernel may access only memory that lives until it has
    /// finished.
    unsafe fn launch(
        &self,
        stream: Stream,
        kernel: &Self::Kernel,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error>;

    /// Creates an event, which counts as reached until it is first recorded.
    fn event(&self) -> Result<Self::Event, Error>;

    /// Records an event in a stream: it is reached once all work enqueued there so far is done.
    fn record(&self, stream: Stream, event: &Self::Event) -> Result<(), Error>;

    /// Makes all work enqueued in the stream from now on wait for the event, which may belong to another device.
    fn wait(&self, stream: Stream, event: &Self::Event) -> Result<(), Error>;

    /// Returns when the event is reached.
    fn synchronize(&self, event: &Self::Event) -> Result<(), Error>;

    /// Waits until all streams are empty, and returns the error of any work that failed.
    fn finish(&self) -> Result<(), Error>;

    /// Whether each launch waits for its kernel, so that a fault is reported with the launch that caused it. Callers
    /// then do not replay recorded work, which would hide the launch.
    fn is_synchronous(&self) -> bool {
        false
    }

    /// Records the launches that `work` enqueues in the main stream instead of running them.
    fn capture(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Self::Graph, Error>;

    /// Enqueues recorded work in the main stream.
    fn launch_graph(&self, graph: &Self::Graph) -> Result<(), Error>;

    /// Encodes the tensor map with which kernels copy such boxes into shared memory (`copy_box` of prelude.cuh). It
    /// must be stored in device memory, aligned to 64 bytes. For compute capability 9.0 and later.
    fn boxes(&self, boxes: &Boxes) -> Result<[u64; 16], Error>;

    /// Returns the handle with which another process of this host can open this memory by
    /// [`Accelerator::import_ipc`]; empty where that is impossible.
    fn export_ipc(&self, _memory: &Self::Memory) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Opens memory that another process has exported; `None` where it cannot be reached from here. The result must
    /// be dropped before the other process frees the memory.
    fn import_ipc(&self, _words: &[u8]) -> Option<Box<dyn Memory>> {
        None
    }

    /// Writes a number into memory of this device, or into memory that [`Accelerator::import_ipc`] has opened, once
    /// all work enqueued in the stream before is done. Only for devices with [`Properties::signals`].
    ///
    /// # Safety
    /// The address must be a multiple of eight, and its eight bytes must stay allocated until the number is written.
    unsafe fn signal(&self, stream: Stream, to: u64, number: u64) -> Result<(), Error>;

    /// Makes all work enqueued in the stream from now on wait until the number at this address of this device is at
    /// least `number`. Only for devices with [`Properties::signals`].
    ///
    /// # Safety
    /// The address must be a multiple of eight, and its eight bytes must stay allocated until the number is found.
    unsafe fn await_signal(&self, stream: Stream, at: u64, number: u64) -> Result<(), Error>;

    /// Gives this device and `peer` access to each other's memory; returns `false` where the hardware does not support
    /// it, in which case [`Accelerator::copy_to`] goes through the host.
    fn enable_peer_access(&self, peer: &Self) -> Result<bool, Error>;
}

/// Number of threads of a block of kernels that loop over an array.
pub const WALKERS: usize = 256;

/// The argument list of a kernel that takes one structure.
pub fn argument<S>(args: &S) -> [*const c_void; 1] {
    [std::ptr::from_ref(args).cast()]
}

/// Blocks of [`WALKERS`] threads for a loop over `count` numbers, at most as many as keep a device busy.
pub fn walk(count: usize) -> Dims {
    Dims {
        grid: [count.div_ceil(WALKERS).clamp(1, 4096), 1, 1],
        threads: WALKERS,
        shared: 0,
    }
}

/// Like [`walk`], for a search, which reads all of a device's memory at once and thus uses more blocks.
pub fn search(count: usize) -> Dims {
    Dims {
        grid: [count.div_ceil(4 * WALKERS).clamp(1, 1 << 20), 1, 1],
        ..walk(count)
    }
}

/// Copies numbers of the host into newly allocated memory of the device.
pub fn send<A: Accelerator, N: bytemuck::Pod>(accelerator: &A, numbers: &[N]) -> Result<A::Memory, Error> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    if bytes.is_empty() {
        return accelerator.allocate(1);
    }
    let memory = accelerator.reserve(bytes.len())?;
    // SAFETY: the memory has that length.
    unsafe { accelerator.put(bytes, memory.address())? };
    Ok(memory)
}
