//! The search for usable devices. It returns an error if there is none, and never panics, even if libraries or devices
//! are missing.

use super::{driver, nvrtc};
use crate::device::accelerator::Properties;
use crate::error::Absent;
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};

/// The lowest compute capability, times ten, that the kernels support.
pub const OLDEST_ARCHITECTURE: u32 = 80;

/// Returns the usable devices with their CUDA numbers; at least one.
pub fn probe() -> Result<Vec<Properties>, Absent> {
    whole()?;
    // The compiler library is large: if it is not in the file cache, loading it takes as long as starting the driver.
    let (driver_and_devices, compiler) = std::thread::scope(|scope| {
        let compiler = scope.spawn(nvrtc::find);
        let driver_and_devices = start().and_then(|driver| Ok((driver, devices()?)));
        (driver_and_devices, compiler.join())
    });
    let (driver, devices) = driver_and_devices?;
    let compiler = compiler.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    // Machine code of one major version of CUDA runs under every driver of that version.
    if compiler.version.0 > driver / 1000 {
        return Err(Absent::NewCompiler {
            compiler: format!("{}.{}", compiler.version.0, compiler.version.1),
            place: compiler.place.clone(),
            driver: driver::version(driver),
        });
    }
    Ok(devices)
}

/// Checks that the driver's library is present and has every function that is called.
fn whole() -> Result<(), Absent> {
    let missing = driver::missing().ok_or(Absent::NoDriver)?;
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Absent::Incomplete {
            missing: first_few(&missing),
            needed: driver::version(driver::OLDEST),
        }),
    }
}

/// Starts the driver and returns its version number.
fn start() -> Result<i32, Absent> {
    // SAFETY: the call has no pointers, and the function exists.
    match unsafe { sys::cuInit(0) } {
        CUresult::CUDA_SUCCESS => {}
        CUresult::CUDA_ERROR_NO_DEVICE => return Err(nothing_visible()),
        code => return Err(broken(code)),
    }
    let mut version = 0;
    // SAFETY: the call writes one number.
    succeed(unsafe { sys::cuDriverGetVersion(&mut version) })?;
    if version < driver::OLDEST {
        return Err(Absent::OldDriver {
            got: driver::version(version),
            needed: driver::version(driver::OLDEST),
        });
    }
    Ok(version)
}

fn first_few(names: &[&str]) -> String {
    let shown = names[..names.len().min(3)].join(", ");
    match names.len() {
        0..=3 => shown,
        more => format!("{shown} and {} more functions", more - 3),
    }
}

fn broken(code: CUresult) -> Absent {
    Absent::Broken {
        problem: driver::describe(code) + driver::advice(code),
    }
}

fn succeed(code: CUresult) -> Result<(), Absent> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(broken(code)),
    }
}

fn nothing_visible() -> Absent {
    match std::env::var_os("CUDA_VISIBLE_DEVICES") {
        Some(value) => Absent::Hidden {
            value: format!("{value:?}"),
        },
        None => Absent::NoDevice,
    }
}

fn devices() -> Result<Vec<Properties>, Absent> {
    let mut count = 0;
    // SAFETY: the call writes one number; the driver has been started.
    match unsafe { sys::cuDeviceGetCount(&mut count) } {
        CUresult::CUDA_ERROR_NO_DEVICE => count = 0,
        code => succeed(code)?,
    }
    if count <= 0 {
        return Err(nothing_visible());
    }
    let all = (0..count).map(properties).collect::<Result<Vec<_>, _>>()?;
    let (new, old): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|device| device.architecture >= OLDEST_ARCHITECTURE);
    if new.is_empty() {
        let name = |d: &Properties| format!("{} has {}.{}", d.name, d.architecture / 10, d.architecture % 10);
        return Err(Absent::OldDevice {
            devices: old.iter().map(name).collect::<Vec<_>>().join(", "),
            oldest: OLDEST_ARCHITECTURE,
        });
    }
    Ok(new)
}

/// Properties of one device.
fn properties(number: i32) -> Result<Properties, Absent> {
    use CUdevice_attribute::*;
    let mut device = 0;
    // SAFETY: the call writes one number.
    succeed(unsafe { sys::cuDeviceGet(&mut device, number) })?;
    let attribute = |which| {
        let mut value = 0;
        // SAFETY: the call writes one number; the device exists.
        succeed(unsafe { sys::cuDeviceGetAttribute(&mut value, which, device) })?;
        Ok::<_, Absent>(usize::try_from(value).unwrap_or(0))
    };
    let mut name = [0_u8; 256];
    // SAFETY: the call writes at most the given length, including the final zero.
    succeed(unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, device) })?;
    let mut memory_bytes = 0;
    // SAFETY: the call writes one number.
    succeed(unsafe { sys::cuDeviceTotalMem_v2(&mut memory_bytes, device) })?;
    let capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? * 10
        + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(Properties {
        name: String::from_utf8_lossy(&name[..end]).into_owned(),
        number: number as usize,
        architecture: capability as u32,
        // Drivers that are older than clusters do not support this attribute.
        clusters: attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH).is_ok_and(|can| can == 1),
        signals: attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS).is_ok_and(|can| can == 1),
        multiprocessors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_bytes: attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        memory_bytes,
    })
}
