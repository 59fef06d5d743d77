//! The driver's library: whether it is present and complete, and what its error numbers mean.

use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};

/// Version number of the oldest driver that is supported: drivers have every function in [`NEEDED`] since 12.0.
pub(super) const OLDEST: i32 = 12_000;

/// Every function of the driver that this module calls. cudarc panics in the middle of a call when one is missing, so
/// all are looked up before the first call; a test compares this list with the sources.
pub(super) const NEEDED: &[&str] = &[
    "cuCtxEnablePeerAccess",
    "cuCtxGetStreamPriorityRange",
    "cuCtxSetCurrent",
    "cuDeviceCanAccessPeer",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuInit",
    "cuIpcCloseMemHandle",
    "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle_v2",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuMemsetD8_v2",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuStreamBeginCapture_v2",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuStreamWaitValue64_v2",
    "cuStreamWriteValue64_v2",
    "cuTensorMapEncodeTiled",
];

/// The functions that the driver's library lacks; `None` where there is no such library.
pub(super) fn missing() -> Option<Vec<&'static str>> {
    // SAFETY: the call loads the driver's library, whose initialisers are trusted.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    // SAFETY: as above; the library has just been loaded successfully.
    let library = unsafe { sys::culib() };
    Some(
        NEEDED
            .iter()
            .copied()
            // SAFETY: the address is only looked up, never called as this type.
            .filter(|name| unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err())
            .collect(),
    )
}

/// Name, number and meaning of an error, such as `CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access ...`.
pub(super) fn describe(code: CUresult) -> String {
    let (mut name, mut meaning): (*const c_char, *const c_char) = (std::ptr::null(), std::ptr::null());
    // SAFETY: both write a pointer to a string that lives forever, or null.
    unsafe {
        let _ = sys::cuGetErrorName(code, &mut name);
        let _ = sys::cuGetErrorString(code, &mut meaning);
    }
    let text = |from: *const c_char, or: &str| {
        if from.is_null() {
            return or.to_string();
        }
        // SAFETY: the pointer is not null, so it points to a string of the driver.
        unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
    };
    format!(
        "{} ({}): {}",
        text(name, "CUDA error"),
        code as u32,
        text(meaning, "no description")
    )
}

/// Advice to the user about an error that the caller's own message does not explain; empty if there is none.
pub(super) fn advice(code: CUresult) -> &'static str {
    use CUresult::*;
    match code {
        CUDA_ERROR_STUB_LIBRARY => {
            "; the library found is the toolkit's stub: take its stubs folder out of LD_LIBRARY_PATH"
        }
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "; the driver was updated under a running system: restart the machine, or the container"
        }
        CUDA_ERROR_DEVICE_UNAVAILABLE => {
            "; another process has the device for itself (compute mode exclusive): take another one by CUDA_VISIBLE_DEVICES"
        }
        CUDA_ERROR_ECC_UNCORRECTABLE | CUDA_ERROR_NVLINK_UNCORRECTABLE => {
            "; the hardware failed: the device must be reset (nvidia-smi names the fault)"
        }
        CUDA_ERROR_UNKNOWN | CUDA_ERROR_OPERATING_SYSTEM | CUDA_ERROR_SYSTEM_NOT_READY => {
            "; see whether nvidia-smi works on this machine"
        }
        _ => "",
    }
}

/// Whether this is an error of a kernel, which surfaces in a later call of the driver.
pub(super) fn is_late(code: CUresult) -> bool {
    use CUresult::*;
    matches!(
        code,
        CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_TENSOR_MEMORY_LEAK
            | CUDA_ERROR_CONTAINED
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUDA_ERROR_UNKNOWN
    )
}

/// `12.4` for 12040.
pub(super) fn version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_holds_what_the_sources_call() {
        let sources = [
            include_str!("context.rs"),
            include_str!("driver.rs"),
            include_str!("launch.rs"),
            include_str!("memory.rs"),
            include_str!("mod.rs"),
            include_str!("probe.rs"),
        ];
        let called: BTreeSet<&str> = sources
            .iter()
            .flat_map(|text| text.split("sys::cu").skip(1))
            .map(|rest| {
                rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or("")
            })
            .filter(|name| name.starts_with(char::is_uppercase))
            .collect();
        let listed: BTreeSet<&str> = NEEDED.iter().map(|name| &name[2..]).collect();
        assert_eq!(called, listed);
        assert!(NEEDED.is_sorted());
    }

    #[test]
    fn versions_read_as_users_know_them() {
        assert_eq!(version(12_080), "12.8");
        assert_eq!(version(OLDEST), "12.0");
    }
}
