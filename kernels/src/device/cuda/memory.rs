//! Memory of the device, memory of the host that the device can reach, and events in streams.

use super::context::Context;
use crate::Error;
use crate::device::accelerator::{Memory, Pinned};
use cudarc::driver::sys::{self, CUevent, CUevent_flags, CUresult, CUstream};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Memory of a device. It is not taken from a pool, because peer access does not extend to memory from pools.
pub struct DeviceMemory {
    context: Arc<Context>,
    address: u64,
    bytes: usize,
}

impl DeviceMemory {
    /// Uninitialised memory.
    pub(super) fn raw(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        context.bind()?;
        let mut address = 0;
        // SAFETY: the call writes one address. The driver refuses to allocate zero bytes.
        let code = unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) };
        if code == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(Error::DeviceMemory {
                device: context.name.clone(),
                needed: bytes,
                free: context.free_bytes()?,
            });
        }
        context.check(code, || format!("taking {bytes} bytes of its memory"))?;
        Ok(Self {
            context: context.clone(),
            address,
            bytes,
        })
    }

    /// Memory that is zeroed on return.
    pub(super) fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        let memory = Self::raw(context, bytes)?;
        // SAFETY: the memory has that length. The streams do not wait for the driver's default stream, in which this
        // runs.
        unsafe {
            context.check(sys::cuMemsetD8_v2(memory.address, 0, bytes.max(1)), || {
                clearing(bytes)
            })?;
            context.check(sys::cuStreamSynchronize(null_mut()), || clearing(bytes))?;
        }
        Ok(memory)
    }

    /// Fills the memory with zeros, as work of a stream.
    pub(super) fn clear(&self, stream: CUstream) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: the memory has that length, and other work of the stream that uses it runs before or after this call.
        let code = unsafe { sys::cuMemsetD8Async(self.address, 0, self.bytes.max(1), stream) };
        self.context.check(code, || clearing(self.bytes))
    }
}

fn clearing(bytes: usize) -> String {
    format!("clearing {bytes} bytes of its memory")
}

impl Memory for DeviceMemory {
    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the memory is freed once. The driver waits for work that uses it. A drop cannot report an error.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

/// Device memory that another process of this host has allocated and exported.
pub struct BorrowedMemory {
    context: Arc<Context>,
    address: u64,
}

impl DeviceMemory {
    /// The driver's handle with which other processes can open this memory; empty where the driver provides none.
    pub(super) fn handle(&self) -> Result<Vec<u8>, Error> {
        self.context.bind()?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the call writes one handle.
        let code = unsafe { sys::cuIpcGetMemHandle(&mut handle, self.address) };
        Ok(match code {
            CUresult::CUDA_SUCCESS => handle.reserved.iter().map(|&byte| byte as u8).collect(),
            _ => Vec::new(),
        })
    }
}

impl BorrowedMemory {
    /// Opens a handle of another process; `None` where the driver cannot reach that memory.
    pub(super) fn open(context: &Arc<Context>, words: &[u8]) -> Option<Self> {
        context.bind().ok()?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        if words.len() != handle.reserved.len() {
            return None;
        }
        for (to, &byte) in handle.reserved.iter_mut().zip(words) {
            *to = byte as std::ffi::c_char;
        }
        let mut address = 0;
        let lazy = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        // SAFETY: the call writes one address; the handle is a copy.
        let code = unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, handle, lazy) };
        (code == CUresult::CUDA_SUCCESS).then(|| Self {
            context: context.clone(),
            address,
        })
    }
}

impl Memory for BorrowedMemory {
    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        0
    }
}

impl Drop for BorrowedMemory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the handle is closed once, when nothing in this process uses it any longer.
            let _ = unsafe { sys::cuIpcCloseMemHandle(self.address) };
        }
    }
}

/// Page-locked memory of the host, which every device (not only the one it was allocated for) copies at full speed.
/// It is not write-combined, because the host reads the results.
pub struct PinnedMemory {
    context: Arc<Context>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: this is plain memory of the process, which is accessed through the usual borrows.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    pub(super) fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        context.bind()?;
        let mut start: *mut c_void = null_mut();
        // SAFETY: the call writes one address.
        let code = unsafe { sys::cuMemHostAlloc(&mut start, bytes.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) };
        context.check(code, || {
            format!("taking {bytes} bytes of the host's memory for transfers (it may be limited: ulimit -l)")
        })?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| Error::Device {
            device: context.name.clone(),
            doing: format!("taking {bytes} bytes of the host's memory for transfers"),
            problem: "the driver gave none".to_string(),
        })?;
        // SAFETY: the memory has that length and is not yet shared.
        unsafe { start.write_bytes(0, bytes.max(1)) };
        Ok(Self {
            context: context.clone(),
            start,
            bytes,
        })
    }
}

impl Pinned for PinnedMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: there are that many bytes; they were initialised on allocation and are freed only on drop.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the memory is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the memory is freed once.
            let _ = unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast()) };
        }
    }
}

/// A point in a stream: an event without timing.
pub struct Event {
    context: Arc<Context>,
    pub(super) raw: CUevent,
}

// SAFETY: events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        context.bind()?;
        let mut raw = null_mut();
        // SAFETY: the call writes one handle.
        let code = unsafe { sys::cuEventCreate(&mut raw, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32) };
        context.check(code, || "making an event".to_string())?;
        Ok(Self {
            context: context.clone(),
            raw,
        })
    }

    pub(super) fn synchronize(&self) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: the event is held.
        let code = unsafe { sys::cuEventSynchronize(self.raw) };
        self.context.check(code, || "waiting for an event".to_string())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the event is destroyed once; the driver keeps it until work that waits for it is done.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
