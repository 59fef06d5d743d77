//! The context of one device, and errors that name the device and the failed action.

use super::driver;
use crate::Error;
use crate::device::accelerator::Properties;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The [`Context::id`] that is current in this thread: a comparison costs a nanosecond, a call of the driver fifty.
    static BOUND: Cell<u64> = const { Cell::new(0) };
}

/// The primary context of one device. Everything that lives on the device keeps it alive.
pub(super) struct Context {
    /// Unlike the address of a context, this is never reused in a process.
    id: u64,
    raw: CUcontext,
    device: CUdevice,
    /// The device's name in messages.
    pub(super) name: String,
    /// Whether each launch waits for its kernel, so that a fault is reported with the launch that caused it.
    pub(super) synchronous: bool,
    /// The action during which a kernel's first fault was reported; later calls only repeat the error number.
    first: OnceLock<String>,
}

// SAFETY: a context may be used from any thread that binds it, because the driver locks it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Opens a device that [`super::probe`] found.
    pub(super) fn open(properties: &Properties) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("GPU {} ({})", properties.number, properties.name);
        let fail = |code| match code {
            CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(Error::Device {
                device: name.clone(),
                doing: "taking hold of the device".to_string(),
                problem: driver::describe(code) + driver::advice(code),
            }),
        };
        let (mut device, mut raw) = (0, std::ptr::null_mut());
        // SAFETY: both calls write only their results; the probe has started the driver.
        unsafe {
            fail(sys::cuDeviceGet(&mut device, properties.number as i32))?;
            fail(sys::cuDevicePrimaryCtxRetain(&mut raw, device))?;
        }
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            raw,
            device,
            name,
            synchronous: std::env::var_os("CUDA_SYNC").is_some_and(|value| value == "1"),
            first: OnceLock::new(),
        })
    }

    /// Makes the device current for this thread's calls of the driver.
    pub(super) fn bind(&self) -> Result<(), Error> {
        BOUND.with(|bound| {
            if bound.get() == self.id {
                return Ok(());
            }
            // SAFETY: the context is held until drop.
            let code = unsafe { sys::cuCtxSetCurrent(self.raw) };
            self.check(code, || "turning to the device".to_string())?;
            bound.set(self.id);
            Ok(())
        })
    }

    /// Turns the result of a call into an error that names the action.
    #[inline]
    pub(super) fn check(&self, code: CUresult, doing: impl FnOnce() -> String) -> Result<(), Error> {
        if code == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        Err(self.failure(code, doing()))
    }

    #[cold]
    fn failure(&self, code: CUresult, doing: String) -> Error {
        let mut problem = driver::describe(code) + driver::advice(code);
        if driver::is_late(code) {
            let first = self.first.get_or_init(|| doing.clone());
            if *first != doing {
                problem += &format!("; the device has been unusable since it was first seen while {first}");
            } else if !self.synchronous {
                problem += "; a kernel started earlier may be the cause; CUDA_SYNC=1 names it";
            }
        }
        Error::Device {
            device: self.name.clone(),
            doing,
            problem,
        }
    }

    /// Free bytes of device memory.
    pub(super) fn free_bytes(&self) -> Result<usize, Error> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the call writes two numbers.
        let code = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        self.check(code, || "asking for its free memory".to_string())?;
        Ok(free)
    }

    /// The driver's handle, for calls that name two devices.
    pub(super) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Whether both are contexts of the same physical device.
    pub(super) fn is_same_device(&self, other: &Self) -> bool {
        self.device == other.device
    }

    /// Gives this device access to the memory of `peer`; returns `false` where the hardware does not support it.
    pub(super) fn enable_peer_access(&self, peer: &Self) -> Result<bool, Error> {
        if self.is_same_device(peer) {
            return Ok(true);
        }
        let doing = || format!("asking for access to the memory of {}", peer.name);
        let mut can = 0;
        // SAFETY: the call writes one number; both devices are kept alive.
        let code = unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.device, peer.device) };
        self.check(code, doing)?;
        if can == 0 {
            return Ok(false);
        }
        self.bind()?;
        use CUresult::*;
        // SAFETY: both contexts are kept alive, and this one is bound.
        match unsafe { sys::cuCtxEnablePeerAccess(peer.raw, 0) } {
            CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            CUDA_ERROR_PEER_ACCESS_UNSUPPORTED | CUDA_ERROR_TOO_MANY_PEERS => Ok(false),
            code => self.check(code, doing).map(|()| true),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is released once, when nothing that used it remains. A drop cannot report an error.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}
