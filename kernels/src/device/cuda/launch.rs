//! Streams, kernels and recorded work.

use super::context::Context;
use crate::Error;
use crate::device::accelerator::{Dims, Source, Stream};
use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute, CUgraphExec, CUmodule, CUstream};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// The streams of a device. None of them waits for the driver's default stream.
pub(super) struct Streams {
    context: Arc<Context>,
    raw: [CUstream; Stream::ALL.len()],
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Streams {}
// SAFETY: as above.
unsafe impl Sync for Streams {}

impl Streams {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        context.bind()?;
        let (mut lowest, mut highest) = (0, 0);
        let doing = || "making its streams".to_string();
        // SAFETY: the call writes two numbers.
        let code = unsafe { sys::cuCtxGetStreamPriorityRange(&mut lowest, &mut highest) };
        context.check(code, doing)?;
        let mut streams = Self {
            context: context.clone(),
            raw: [null_mut(); Stream::ALL.len()],
        };
        for stream in Stream::ALL {
            let priority = if stream == Stream::Edges { highest } else { lowest };
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            // SAFETY: the call writes one handle.
            let code = unsafe {
                sys::cuStreamCreateWithPriority(&mut streams.raw[stream as usize], flags, priority)
            };
            context.check(code, doing)?;
        }
        Ok(streams)
    }

    pub(super) fn raw(&self, stream: Stream) -> CUstream {
        self.raw[stream as usize]
    }

    /// Waits until one stream is empty.
    pub(super) fn drain(&self, stream: Stream, doing: impl FnOnce() -> String) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: the stream is held.
        let code = unsafe { sys::cuStreamSynchronize(self.raw(stream)) };
        self.context.check(code, doing)
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        if self.context.bind().is_err() {
            return;
        }
        for raw in self.raw.into_iter().filter(|raw| !raw.is_null()) {
            // SAFETY: the stream is destroyed once; the driver finishes the work in it.
            let _ = unsafe { sys::cuStreamDestroy_v2(raw) };
        }
    }
}

/// A module of machine code, loaded on the device.
struct Module {
    context: Arc<Context>,
    raw: CUmodule,
}

// SAFETY: modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the module is unloaded once, when none of its kernels remains.
            let _ = unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

/// A compiled kernel; clones are handles to the same kernel.
#[derive(Clone)]
pub struct Kernel {
    module: Arc<Module>,
    raw: CUfunction,
    name: Arc<str>,
}

// SAFETY: functions may be used from any thread; the module is held.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Kernel {
    /// Loads machine code and finds its kernels. Each kernel may use all the shared memory that a block can have.
    pub(super) fn load(
        context: &Arc<Context>,
        cubin: &[u8],
        source: &Source,
        names: &[&str],
        shared_bytes: usize,
    ) -> Result<Vec<Self>, Error> {
        context.bind()?;
        let mut raw = null_mut();
        // SAFETY: the bytes are a whole cubin: fresh from the compiler, or from the cache with their checksum.
        let code = unsafe { sys::cuModuleLoadData(&mut raw, cubin.as_ptr().cast()) };
        context.check(code, || format!("loading {}", source.name))?;
        let module = Arc::new(Module {
            context: context.clone(),
            raw,
        });
        let kernels = names.iter().map(|name| Self::find(&module, name, source));
        kernels
            .map(|kernel| {
                let kernel = kernel?;
                kernel.open_shared(shared_bytes)?;
                Ok(kernel)
            })
            .collect()
    }

    fn find(module: &Arc<Module>, name: &str, source: &Source) -> Result<Self, Error> {
        let full: Arc<str> = format!("kernel {name} of {}", source.name).into();
        let symbol = CString::new(name).map_err(|_| {
            Error::setup(format!(
                "{full:?} is not the name of a kernel: it has a zero byte"
            ))
        })?;
        let mut raw = null_mut();
        // SAFETY: the call writes one handle; the module is kept alive, and the name ends with a zero.
        let code = unsafe { sys::cuModuleGetFunction(&mut raw, module.raw, symbol.as_ptr()) };
        module.context.check(code, || format!("looking for {full}"))?;
        Ok(Self {
            module: module.clone(),
            raw,
            name: full,
        })
    }

    /// Allows the kernel more than 48 KiB of shared memory, which has to be requested; its static shared memory
    /// counts too. The request also loads the kernel now, and not in the middle of a recording.
    fn open_shared(&self, shared_bytes: usize) -> Result<(), Error> {
        use CUfunction_attribute::*;
        let (context, mut own) = (&self.module.context, 0);
        let doing = || format!("preparing {}", self.name);
        // SAFETY: the call writes one number.
        let code =
            unsafe { sys::cuFuncGetAttribute(&mut own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, self.raw) };
        context.check(code, doing)?;
        let rest = (shared_bytes as i32 - own).max(0);
        // SAFETY: the function is held.
        let code = unsafe {
            sys::cuFuncSetAttribute(self.raw, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, rest)
        };
        context.check(code, doing)
    }

    /// The name of the kernel and of its source, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn resident_blocks(&self, threads: usize, shared: usize) -> Result<usize, Error> {
        let context = &self.module.context;
        context.bind()?;
        let mut blocks = 0;
        // SAFETY: the call writes one number.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.raw, threads as i32, shared)
        };
        context.check(code, || {
            format!(
                "fitting {} with {threads} threads and {shared} bytes of shared memory",
                self.name
            )
        })?;
        Ok(usize::try_from(blocks).unwrap_or(0))
    }

    /// # Safety
    /// The requirements of [`crate::device::accelerator::Accelerator::launch`] apply.
    #[inline]
    pub(super) unsafe fn launch(
        &self,
        stream: CUstream,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error> {
        let context = &self.module.context;
        context.bind()?;
        let [x, y, z] = dims.grid.map(narrow);
        let (threads, shared) = (narrow(dims.threads), narrow(dims.shared));
        // The driver only reads the arguments, although its types allow it to change them.
        let list = args.as_ptr().cast_mut().cast::<*mut c_void>();
        // SAFETY: guaranteed by the caller; the function and the stream are kept alive.
        let code = unsafe {
            sys::cuLaunchKernel(self.raw, x, y, z, threads, 1, 1, shared, stream, list, null_mut())
        };
        context.check(code, || format!("starting {} with {dims:?}", self.name))
    }
}

/// Numbers that do not fit become the largest number, which no device accepts: the driver's error then names the
/// kernel.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Recorded work of the main stream.
pub struct Graph {
    context: Arc<Context>,
    raw: CUgraphExec,
    /// The kernels that it launches, kept loaded as long as it lives.
    kernels: Vec<Kernel>,
}

// SAFETY: the graph is only launched, and the driver locks it during a launch.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Graph {
    /// Runs `work` while the stream records, and makes the recording ready to launch. `launched` returns the kernels
    /// that `work` launched.
    pub(super) fn record(
        context: &Arc<Context>,
        stream: CUstream,
        work: &mut dyn FnMut() -> Result<(), Error>,
        launched: impl FnOnce() -> Vec<Kernel>,
    ) -> Result<Self, Error> {
        context.bind()?;
        let mut capture = Capture::begin(context, stream)?;
        let outcome = work();
        let ended = capture.end();
        let kernels = launched();
        // An error inside `work` is the cause; an invalid recording is only its consequence.
        outcome?;
        ended?;
        let mut graph = Self {
            context: context.clone(),
            raw: null_mut(),
            kernels,
        };
        // SAFETY: the call writes one handle; the recording is complete.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut graph.raw, capture.graph, 0) };
        context.check(code, || graph.doing("preparing"))?;
        // SAFETY: both are kept alive.
        let code = unsafe { sys::cuGraphUpload(graph.raw, stream) };
        context.check(code, || graph.doing("uploading"))?;
        Ok(graph)
    }

    pub(super) fn replay(&self, stream: CUstream) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: both are held.
        let code = unsafe { sys::cuGraphLaunch(self.raw, stream) };
        self.context.check(code, || self.doing("starting"))
    }

    /// The verb and the recorded kernels, for messages.
    pub(super) fn doing(&self, verb: &str) -> String {
        let mut names: Vec<&str> = self.kernels.iter().map(Kernel::name).collect();
        names.sort_unstable();
        names.dedup();
        format!("{verb} recorded work ({})", names.join(", "))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.raw.is_null() && self.context.bind().is_ok() {
            // SAFETY: the graph is destroyed once; the driver finishes the work that is running.
            let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}

/// A stream that records. Dropping it ends the recording, even after a panic in the recorded work.
struct Capture<'a> {
    context: &'a Context,
    stream: CUstream,
    graph: sys::CUgraph,
    open: bool,
}

impl<'a> Capture<'a> {
    fn begin(context: &'a Context, stream: CUstream) -> Result<Self, Error> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is held.
        let code = unsafe { sys::cuStreamBeginCapture_v2(stream, mode) };
        context.check(code, || "beginning to record".to_string())?;
        Ok(Self {
            context,
            stream,
            graph: null_mut(),
            open: true,
        })
    }

    fn end(&mut self) -> Result<(), Error> {
        self.open = false;
        // The recorded work may have made another device current.
        self.context.bind()?;
        // SAFETY: the stream is recording; the call writes one handle, which is null if the recording has failed.
        let code = unsafe { sys::cuStreamEndCapture(self.stream, &mut self.graph) };
        self.context.check(code, || "recording".to_string())
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.end();
        }
        if !self.graph.is_null() {
            // SAFETY: the recorded graph is destroyed once; the instantiated graph does not need it.
            let _ = unsafe { sys::cuGraphDestroy(self.graph) };
        }
    }
}
