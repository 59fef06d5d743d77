//! The search for NVIDIA's compiler library. cudarc would use the first library, of any version, that the loader finds;
//! here the user's setting takes precedence, and messages can name the library that is used.

use crate::error::Absent;
use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// File names, the newest version first; the last one exists only in toolkits for developers.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

type Strings = *const *const c_char;

/// The functions of the library that are called.
#[derive(Clone, Copy)]
pub(super) struct Api {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult,
    pub(super) create: unsafe extern "C" fn(
        *mut nvrtcProgram,
        *const c_char,
        *const c_char,
        c_int,
        Strings,
        Strings,
    ) -> nvrtcResult,
    pub(super) compile: unsafe extern "C" fn(nvrtcProgram, c_int, Strings) -> nvrtcResult,
    pub(super) destroy: unsafe extern "C" fn(*mut nvrtcProgram) -> nvrtcResult,
    pub(super) log_size: super::Size,
    pub(super) log: super::Fill,
    pub(super) cubin_size: super::Size,
    pub(super) cubin: super::Fill,
}

/// The compiler library, which stays loaded until the process ends.
pub struct Compiler {
    pub(super) api: Api,
    /// Major and minor version.
    pub version: (i32, i32),
    /// Path of the file; only its name where the system's loader found it.
    pub place: String,
    /// Size of the file, which distinguishes releases of one version; 0 where the loader found it.
    pub bytes: u64,
    /// The libraries are kept because unloading them would invalidate the functions.
    _libraries: Vec<Library>,
}

impl std::fmt::Display for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NVRTC {}.{} ({})", self.version.0, self.version.1, self.place)
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Finds the compiler; the search runs once per process.
pub fn find() -> Result<&'static Compiler, Absent> {
    static COMPILER: OnceLock<Result<Compiler, Absent>> = OnceLock::new();
    COMPILER.get_or_init(look).as_ref().map_err(Clone::clone)
}

fn look() -> Result<Compiler, Absent> {
    let mut problems = Vec::new();
    if let Some(own) = folder_of("SIFAKA_NVRTC") {
        return in_folder(&own, &mut problems).ok_or_else(|| Absent::NoCompiler {
            looked: sentence("SIFAKA_NVRTC names", &[own], &problems),
        });
    }
    let first = toolkits_of_environment();
    let last: Vec<PathBuf> = usual_folders().into_iter().chain(python_folders()).collect();
    let compiler = first
        .iter()
        .find_map(|folder| in_folder(folder, &mut problems))
        .or_else(|| {
            NAMES
                .iter()
                .find_map(|name| open(Path::new(name), &[], &mut problems))
        })
        .or_else(|| last.iter().find_map(|folder| in_folder(folder, &mut problems)));
    compiler.ok_or_else(|| {
        let folders: Vec<PathBuf> = first.into_iter().chain(last).collect();
        Absent::NoCompiler {
            looked: sentence("looked in the system's loader,", &folders, &problems),
        }
    })
}

fn sentence(start: &str, folders: &[PathBuf], problems: &[String]) -> String {
    let shown: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    let mut text = format!("{start} {}", shown.join(", "));
    if !problems.is_empty() {
        text += &format!("; what was there did not load: {}", problems.join("; "));
    }
    text
}

fn folder_of(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable)?;
    (!value.is_empty()).then(|| PathBuf::from(value))
}

fn toolkits_of_environment() -> Vec<PathBuf> {
    let tops = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(folder_of);
    tops.flat_map(|top| toolkit(&top)).collect()
}

/// The folders in which a toolkit keeps its libraries.
fn toolkit(top: &Path) -> Vec<PathBuf> {
    let target = format!("targets/{}-linux/lib", std::env::consts::ARCH);
    ["", "lib64", "lib", &target, "targets/sbsa-linux/lib"]
        .iter()
        .map(|inside| top.join(inside))
        .collect()
}

fn usual_folders() -> Vec<PathBuf> {
    let mut tops = vec![PathBuf::from("/usr/local/cuda")];
    let named = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("cuda-13") || name.starts_with("cuda-12")
    };
    let mut versions: Vec<PathBuf> = children(Path::new("/usr/local"))
        .into_iter()
        .filter(named)
        .collect();
    versions.sort();
    tops.extend(versions.into_iter().rev());
    tops.iter().flat_map(|top| toolkit(top)).collect()
}

/// The folders into which pip installs the compiler, in the virtual environment of the program's source tree and in the
/// environments that the shell has activated.
fn python_folders() -> Vec<PathBuf> {
    let beside = beside_program();
    let mut sites: Vec<PathBuf> = beside.iter().map(|venv| venv.join("nvrtc")).collect();
    let named = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(folder_of);
    for environment in named.chain(beside) {
        let versions = children(&environment.join("lib")).into_iter();
        sites.extend(
            versions
                .map(|version| version.join("site-packages"))
                .filter(|s| s.is_dir()),
        );
    }
    sites
        .iter()
        .flat_map(|site| ["cu13/lib", "cuda_nvrtc/lib"].map(|inside| site.join("nvidia").join(inside)))
        .collect()
}

/// The folders `.venv` above the program (`build/bin`, `target/release/deps`) that have the same owner as the program:
/// nothing is loaded from a folder that another user could have created.
fn beside_program() -> Vec<PathBuf> {
    let owner = |path: &Path| std::fs::metadata(path).map(|data| data.uid()).ok();
    let Some(program) = std::env::current_exe().ok().and_then(|p| p.canonicalize().ok()) else {
        return Vec::new();
    };
    let above = program.ancestors().skip(2).take(3).map(|top| top.join(".venv"));
    above
        .filter(|venv| venv.is_dir() && owner(venv) == owner(&program))
        .collect()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Loads the compiler from one folder, together with its file of built-in functions, which it would not find by itself.
fn in_folder(folder: &Path, problems: &mut Vec<String>) -> Option<Compiler> {
    let is_builtins = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("libnvrtc-builtins.so.")
    };
    let files = NAMES
        .iter()
        .map(|name| folder.join(name))
        .filter(|file| file.is_file());
    for file in files {
        let builtins: Vec<PathBuf> = children(folder).into_iter().filter(is_builtins).collect();
        if let Some(compiler) = open(&file, &builtins, problems) {
            return Some(compiler);
        }
    }
    None
}

fn open(file: &Path, first: &[PathBuf], problems: &mut Vec<String>) -> Option<Compiler> {
    let mut libraries = Vec::new();
    // A file that cannot be loaded is reported; a name that the loader cannot find is not.
    let mut report = |problem: String| {
        if file.is_absolute() {
            problems.push(problem);
        }
    };
    for path in first {
        // SAFETY: this is NVIDIA's library, whose initialisers are trusted. If it fails, the compiler searches by
        // itself.
        if let Ok(library) = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
            libraries.push(library);
        }
    }
    // SAFETY: as above.
    let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }
        .map_err(|e| report(e.to_string()))
        .ok()?;
    let api = functions(&library)
        .map_err(|e| report(format!("{}: {e}", file.display())))
        .ok()?;
    libraries.push(library);
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the call writes two numbers.
    let code = unsafe { (api.version)(&mut major, &mut minor) };
    if code != nvrtcResult::NVRTC_SUCCESS {
        report(format!("{}: {code:?}", file.display()));
        return None;
    }
    Some(Compiler {
        api,
        version: (major, minor),
        place: file.display().to_string(),
        bytes: std::fs::metadata(file).map_or(0, |data| data.len()),
        _libraries: libraries,
    })
}

fn functions(library: &Library) -> Result<Api, libloading::Error> {
    // SAFETY: the types agree with nvrtc.h, which has not changed them since CUDA 11.2.
    unsafe {
        Ok(Api {
            version: *library.get("nvrtcVersion")?,
            create: *library.get("nvrtcCreateProgram")?,
            compile: *library.get("nvrtcCompileProgram")?,
            destroy: *library.get("nvrtcDestroyProgram")?,
            log_size: *library.get("nvrtcGetProgramLogSize")?,
            log: *library.get("nvrtcGetProgramLog")?,
            cubin_size: *library.get("nvrtcGetCUBINSize")?,
            cubin: *library.get("nvrtcGetCUBIN")?,
        })
    }
}
