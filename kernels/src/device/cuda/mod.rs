//! NVIDIA GPUs. They are found without a panic, kernels are compiled when they are needed, and errors name the kernel.
//!
//! The driver and the compiler are loaded when a program requests them; no part of CUDA is needed to build. This module
//! calls the driver's functions directly instead of cudarc's safe layer, which takes memory from pools that peers
//! cannot access, loses errors in drops, and panics where a library is missing.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `CUDA_VISIBLE_DEVICES` | the devices that CUDA shows to the program |
//! | `CUDA_SYNC=1` | launches wait for their kernels, so that a fault names its kernel; nothing is recorded and replayed |
//! | `SIFAKA_NVRTC` | folder of the compiler's library |
//! | `SIFAKA_CACHE` | folder of compiled kernels, instead of `sifaka` in the user's cache folder |

mod cache;
mod context;
mod driver;
mod launch;
mod memory;
pub mod nvrtc;
mod probe;

pub use cache::{Cache, Key};
pub use launch::{Graph, Kernel};
pub use memory::{DeviceMemory, Event, PinnedMemory};
pub use probe::{OLDEST_ARCHITECTURE, probe};

use super::accelerator::{Accelerator, Boxes, Dims, Memory, Pinned, Properties, Source, Stream};
use crate::Error;
use context::Context;
use cudarc::driver::sys;
use launch::Streams;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One GPU. Its memory, kernels, events and graphs keep the device open and may outlive this value.
pub struct Cuda {
    properties: Properties,
    context: Arc<Context>,
    streams: Streams,
    cache: Cache,
    /// Whether the main stream is recording. Launches are then noted in `recorded`, and no call waits for them.
    recording: AtomicBool,
    recorded: Mutex<Vec<Kernel>>,
}

impl Cuda {
    /// Opens the device with this CUDA number, one of those that [`probe`] returns.
    pub fn open(number: usize) -> Result<Self, Error> {
        let devices = probe()?;
        let numbers: Vec<String> = devices.iter().map(|device| device.number.to_string()).collect();
        let Some(properties) = devices.into_iter().find(|device| device.number == number) else {
            return Err(Error::setup(format!(
                "there is no usable GPU {number}: the numbers are {}; see CUDA_VISIBLE_DEVICES",
                numbers.join(", ")
            )));
        };
        let context = Arc::new(Context::open(&properties)?);
        Ok(Self {
            streams: Streams::new(&context)?,
            properties,
            context,
            cache: Cache::of_user(),
            recording: AtomicBool::new(false),
            recorded: Mutex::new(Vec::new()),
        })
    }

    /// The reason why compiled kernels are not kept between runs, for logs; `None` when they are. It is not an error.
    pub fn note(&self) -> Option<&str> {
        self.cache.note()
    }

    /// Waits for a launch if `CUDA_SYNC=1` requests that, except while recording.
    #[inline]
    fn started(&self, stream: Stream, doing: impl FnOnce() -> String) -> Result<(), Error> {
        if self.context.synchronous && !self.recording.load(Ordering::Relaxed) {
            return self.streams.drain(stream, doing);
        }
        Ok(())
    }

    fn take_recorded(&self) -> Vec<Kernel> {
        std::mem::take(&mut *self.recorded.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Resets the flag on drop, even after a panic in the recorded work.
struct Recording<'a>(&'a AtomicBool);

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Accelerator for Cuda {
    type Memory = DeviceMemory;
    type Pinned = PinnedMemory;
    type Kernel = Kernel;
    type Event = Event;
    type Graph = Graph;

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn free_bytes(&self) -> Result<usize, Error> {
        self.context.free_bytes()
    }

    fn load(&self, source: &Source, kernels: &[&str]) -> Result<Vec<Kernel>, Error> {
        let architecture = self.properties.architecture;
        let key = cache::key(source, architecture)?;
        let cubin = match self.cache.get(&key) {
            Some(cubin) => cubin,
            None => {
                let cubin = nvrtc::compile(source, architecture, false)?.cubin;
                self.cache.put(&key, &cubin);
                cubin
            }
        };
        Kernel::load(
            &self.context,
            &cubin,
            source,
            kernels,
            self.properties.shared_bytes,
        )
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        kernel.resident_blocks(threads, shared)
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceMemory, Error> {
        DeviceMemory::zeroed(&self.context, bytes)
    }

    fn clear(&self, memory: &DeviceMemory) -> Result<(), Error> {
        memory.clear(self.streams.raw(Stream::Main))
    }

    fn reserve(&self, bytes: usize) -> Result<DeviceMemory, Error> {
        DeviceMemory::raw(&self.context, bytes)
    }

    fn pin(&self, bytes: usize) -> Result<PinnedMemory, Error> {
        PinnedMemory::zeroed(&self.context, bytes)
    }

    unsafe fn upload(
        &self,
        stream: Stream,
        from: &PinnedMemory,
        offset: usize,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        let from = from.bytes()[offset..][..bytes].as_ptr();
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: the source was checked, and the caller guarantees the other conditions.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, self.streams.raw(stream)) };
        self.context
            .check(code, || format!("copying {bytes} bytes from the host"))
    }

    /// The driver uses its own page-locked memory for such copies; allocating page-locked memory for each copy took
    /// about 1.5 ms with an H200.
    unsafe fn put(&self, bytes: &[u8], to: u64) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.bind()?;
        let stream = self.streams.raw(Stream::Main);
        // SAFETY: the caller guarantees memory of that size; host memory that is not page-locked has been read on
        // return.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), stream) };
        self.context
            .check(code, || format!("copying {} bytes from the host", bytes.len()))?;
        self.finish()
    }

    unsafe fn download(
        &self,
        stream: Stream,
        from: u64,
        to: &mut PinnedMemory,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Error> {
        let to = to.bytes_mut()[offset..][..bytes].as_mut_ptr();
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: the target was checked, and the caller guarantees the other conditions.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, self.streams.raw(stream)) };
        self.context
            .check(code, || format!("copying {bytes} bytes to the host"))
    }

    unsafe fn copy_to(
        &self,
        stream: Stream,
        from: u64,
        peer: &Self,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        let (here, there, stream) = (self.context.raw(), peer.context.raw(), self.streams.raw(stream));
        // SAFETY: the caller guarantees memory of that size; both devices are kept alive.
        let code = unsafe {
            if self.context.is_same_device(&peer.context) {
                sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream)
            } else {
                sys::cuMemcpyPeerAsync(to, there, from, here, bytes, stream)
            }
        };
        self.context
            .check(code, || format!("copying {bytes} bytes to {}", peer.context.name))
    }

    unsafe fn launch(
        &self,
        stream: Stream,
        kernel: &Kernel,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error> {
        if self.recording.load(Ordering::Relaxed) {
            let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
            recorded.push(kernel.clone());
        }
        // SAFETY: guaranteed by the caller.
        unsafe { kernel.launch(self.streams.raw(stream), dims, args)? };
        self.started(stream, || format!("running {} with {dims:?}", kernel.name()))
    }

    fn event(&self) -> Result<Event, Error> {
        Event::new(&self.context)
    }

    fn record(&self, stream: Stream, event: &Event) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: `self` owns the stream, and `event` owns the event.
        let code = unsafe { sys::cuEventRecord(event.raw, self.streams.raw(stream)) };
        self.context.check(code, || "setting an event".to_string())
    }

    fn wait(&self, stream: Stream, event: &Event) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: `self` owns the stream, and `event` owns the event.
        let code = unsafe { sys::cuStreamWaitEvent(self.streams.raw(stream), event.raw, 0) };
        self.context.check(code, || "waiting for an event".to_string())
    }

    fn synchronize(&self, event: &Event) -> Result<(), Error> {
        event.synchronize()
    }

    fn finish(&self) -> Result<(), Error> {
        for stream in Stream::ALL {
            self.streams
                .drain(stream, || format!("finishing the work of stream {stream:?}"))?;
        }
        Ok(())
    }

    fn is_synchronous(&self) -> bool {
        self.context.synchronous
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Graph, Error> {
        self.take_recorded();
        let flag = Recording(&self.recording);
        flag.0.store(true, Ordering::Relaxed);
        Graph::record(&self.context, self.streams.raw(Stream::Main), work, || {
            self.take_recorded()
        })
    }

    fn launch_graph(&self, graph: &Graph) -> Result<(), Error> {
        graph.replay(self.streams.raw(Stream::Main))?;
        self.started(Stream::Main, || graph.doing("running"))
    }

    fn boxes(&self, boxes: &Boxes) -> Result<[u64; 16], Error> {
        use sys::{
            CUtensorMapDataType_enum as Type, CUtensorMapFloatOOBfill_enum as IpcImport,
            CUtensorMapInterleave_enum as Interleave, CUtensorMapL2promotion_enum as Promotion,
            CUtensorMapSwizzle_enum as Swizzle,
        };
        self.context.bind()?;
        let (number, kind) = match boxes.double {
            true => (8, Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64),
            false => (4, Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32),
        };
        let size = boxes.size.map(|n| n as u64);
        let strides = [
            number * size[0],
            number * size[0] * size[1],
            number * size[0] * size[1] * size[2],
        ];
        let (part, every) = (boxes.part.map(|n| n as u32), [1u32; 4]);
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: the call reads four or three numbers of each list and writes the map.
        let code = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                kind,
                4,
                boxes.address as *mut std::ffi::c_void,
                size.as_ptr(),
                strides.as_ptr(),
                part.as_ptr(),
                every.as_ptr(),
                Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
                Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                IpcImport::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        self.context.check(code, || format!("describing {boxes:?}"))?;
        Ok(map.opaque)
    }

    fn export_ipc(&self, memory: &DeviceMemory) -> Result<Vec<u8>, Error> {
        memory.handle()
    }

    fn import_ipc(&self, words: &[u8]) -> Option<Box<dyn Memory>> {
        memory::BorrowedMemory::open(&self.context, words).map(|memory| Box::new(memory) as Box<dyn Memory>)
    }

    unsafe fn signal(&self, stream: Stream, to: u64, number: u64) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: the caller guarantees memory of that size. Without flags the write follows all earlier writes of the
        // stream.
        let code = unsafe { sys::cuStreamWriteValue64_v2(self.streams.raw(stream), to, number, 0) };
        self.context.check(code, || "sending a signal".to_string())
    }

    unsafe fn await_signal(&self, stream: Stream, at: u64, number: u64) -> Result<(), Error> {
        let at_least = sys::CUstreamWaitValue_flags_enum::CU_STREAM_WAIT_VALUE_GEQ as u32;
        self.context.bind()?;
        // SAFETY: the caller guarantees memory of that size.
        let code = unsafe { sys::cuStreamWaitValue64_v2(self.streams.raw(stream), at, number, at_least) };
        self.context.check(code, || "waiting for a signal".to_string())
    }

    fn enable_peer_access(&self, peer: &Self) -> Result<bool, Error> {
        Ok(self.context.enable_peer_access(&peer.context)?
            && peer.context.enable_peer_access(&self.context)?)
    }
}
