//! Compilation of kernel sources to machine code. It needs NVIDIA's compiler library, but no GPU and no driver.

mod find;
mod resources;

pub use find::{Compiler, find};
pub use resources::Resources;

use crate::Error;
use crate::device::accelerator::Source;
use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

/// The result of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Machine code for one architecture.
    pub cubin: Vec<u8>,
    /// Messages of the compiler; with `verbose` also the resources that each kernel needs.
    pub log: String,
}

impl Compiled {
    /// The resources of a multiprocessor that each kernel needs, in the order of the log; empty unless compiled with
    /// `verbose`.
    pub fn resources(&self) -> Vec<Resources> {
        resources::read(&self.log)
    }
}

/// The compiler's target for a compute capability (times ten). From 9.0 on it includes the features that only that
/// generation has, since kernels are always compiled for the device that runs them.
fn target(architecture: u32) -> String {
    let own = if architecture >= 90 { "a" } else { "" };
    format!("sm_{architecture}{own}")
}

/// The compiler's options. Products and sums may be fused; all other arithmetic is executed as written. Line numbers
/// are for profilers and sanitizers and change no instruction.
pub(super) fn options(architecture: u32) -> Vec<String> {
    vec![
        format!("--gpu-architecture={}", target(architecture)),
        "--std=c++17".to_string(),
        "--device-as-default-execution-space".to_string(),
        "--fmad=true".to_string(),
        "--generate-line-info".to_string(),
    ]
}

/// Compiles a source text for one architecture (90 for compute capability 9.0); `verbose` adds the resources of each
/// kernel to the log. An error holds the compiler's messages.
pub fn compile(source: &Source, architecture: u32, verbose: bool) -> Result<Compiled, Error> {
    let compiler = find()?;
    let mut options = options(architecture);
    if verbose {
        options.push("--ptxas-options=-v".to_string());
    }
    let failure = |log: String| Error::Compile {
        text: source.name.clone(),
        target: target(architecture),
        compiler: compiler.to_string(),
        log,
    };
    let words = |text: &str| CString::new(text).map_err(|_| failure("the text has a zero byte".to_string()));
    let (name, text) = (words(&source.name)?, words(&source.text)?);
    let options: Vec<CString> = options.iter().map(|o| words(o)).collect::<Result<_, _>>()?;
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let program = Program::new(compiler, &text, &name).map_err(|code| failure(format!("{code:?}")))?;
    let api = &compiler.api;
    // SAFETY: the program lives, and the strings end with a zero.
    let code = unsafe { (api.compile)(program.raw, pointers.len() as i32, pointers.as_ptr()) };
    // SAFETY: the functions belong together.
    let log = unsafe { program.bytes(api.log_size, api.log) }.unwrap_or_default();
    let log = String::from_utf8_lossy(&log)
        .trim_end_matches(['\0', '\n'])
        .to_string();
    if code != nvrtcResult::NVRTC_SUCCESS {
        return Err(failure(if log.is_empty() { format!("{code:?}") } else { log }));
    }
    // SAFETY: the functions belong together.
    let cubin = unsafe { program.bytes(api.cubin_size, api.cubin) };
    let cubin = cubin.map_err(|code| failure(format!("{code:?}")))?;
    Ok(Compiled { cubin, log })
}

type Size = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult;
type Fill = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult;

/// An NVRTC program, created from one source text.
struct Program<'a> {
    compiler: &'a Compiler,
    raw: nvrtcProgram,
}

impl<'a> Program<'a> {
    fn new(compiler: &'a Compiler, text: &CString, name: &CString) -> Result<Self, nvrtcResult> {
        let mut raw = null_mut();
        // SAFETY: the call writes one handle; both strings end with a zero and are copied; there are no headers.
        let code =
            unsafe { (compiler.api.create)(&mut raw, text.as_ptr(), name.as_ptr(), 0, null(), null()) };
        match code {
            nvrtcResult::NVRTC_SUCCESS => Ok(Self { compiler, raw }),
            code => Err(code),
        }
    }

    /// # Safety
    /// `size` must be the function that returns how many bytes `fill` writes.
    unsafe fn bytes(&self, size: Size, fill: Fill) -> Result<Vec<u8>, nvrtcResult> {
        let mut count = 0;
        // SAFETY: the call writes one number.
        match unsafe { size(self.raw, &mut count) } {
            nvrtcResult::NVRTC_SUCCESS => {}
            code => return Err(code),
        }
        let mut bytes = vec![0_u8; count];
        // SAFETY: the buffer has the length that the compiler has returned.
        match unsafe { fill(self.raw, bytes.as_mut_ptr().cast()) } {
            nvrtcResult::NVRTC_SUCCESS => Ok(bytes),
            code => Err(code),
        }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is destroyed once.
        let _ = unsafe { (self.compiler.api.destroy)(&mut self.raw) };
    }
}
