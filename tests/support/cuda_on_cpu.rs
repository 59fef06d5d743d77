//! Compiles kernel source to a library of this process with the C compiler, and launches its kernels. The language of
//! the source is described in `cuda_on_cpu.h`; a kernel takes one structure by value: `KERNEL(name)(const struct Name
//! a)`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use kernels::Error;
use kernels::device::accelerator::{Dims, Source};
use libloading::Library;
use memmap2::MmapMut;
use xxhash_rust::xxh3::Xxh3;

const HEADER: &str = include_str!("cuda_on_cpu.h");
/// Number of guard bytes on both sides of shared and device memory; the same as in the header.
pub const GUARD: usize = 4096;
pub const MOST_THREADS: usize = 1024;
/// Size of a stack; the odd number of cache lines keeps the stacks of neighbouring threads in different cache sets.
const STACK: usize = 64 * 1024 + 5 * 64;
/// Time for which a compiled source is kept after its last use.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

type Entry = unsafe extern "C" fn(*const c_void);
type Launch = unsafe extern "C" fn(*const Job, *mut c_char, usize) -> c_int;

/// The same fields in the same order as `struct cuda_on_cpu_job` in the header.
#[repr(C)]
struct Job {
    entry: Entry,
    args: *const c_void,
    stacks: *mut u8,
    stack_bytes: usize,
    shared: *mut u8,
    shared_bytes: usize,
    grid: [u32; 3],
    threads: u32,
    reversed: u32,
}

/// A compiled source. Its variables can be used by one launch at a time.
struct Text {
    library: Library,
    launch: Launch,
    busy: Mutex<()>,
}

/// One kernel of a source.
#[derive(Clone)]
pub struct Kernel {
    /// Names of kernel and source for messages.
    pub name: String,
    /// Size of its structure of arguments.
    pub args_bytes: usize,
    entry: Entry,
    text: Arc<Text>,
}

type Compiled = Arc<OnceLock<Result<Arc<Text>, String>>>;

/// Everything that this process has compiled; the key is the complete C source.
static TEXTS: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);

/// Stacks and shared memory of the launches of one thread.
struct Stage {
    stacks: MmapMut,
    shared: MmapMut,
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// `Err` with the reason if kernels cannot be compiled or run.
pub fn available() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || compile("").map(drop);
    PROBE.get_or_init(probe).clone()
}

/// The kernels of these names.
pub fn load(source: &Source, kernels: &[&str]) -> Result<Vec<Kernel>, Error> {
    let entries: Result<String, Error> = kernels.iter().map(|name| entry(source, name)).collect();
    let label = source.name.replace(['\\', '"', '\n'], " ");
    let whole = format!("{HEADER}\n#line 1 \"{label}\"\n{}\n{}", source.text, entries?);
    let compiled = TEXTS.lock().unwrap().entry(whole.clone()).or_default().clone();
    let text = compiled.get_or_init(|| compile(&whole).map(Arc::new)).as_ref();
    let text = text.map_err(|why| Error::setup(format!("{}: {why}", source.name)))?;
    let find = |name: &&str| kernel(source, text, name);
    kernels.iter().map(find).collect()
}

fn kernel(source: &Source, text: &Arc<Text>, name: &str) -> Result<Kernel, Error> {
    let lost = |e| Error::setup(format!("{}: {name}: {e}", source.name));
    // SAFETY: `entry` generated both symbols with these types; the library lives as long as `text`.
    let (entry, bytes) = unsafe {
        let entry = text.library.get::<Entry>(format!("cuda_on_cpu_enter_{name}"));
        let bytes = text
            .library
            .get::<*const usize>(format!("cuda_on_cpu_bytes_{name}"));
        (*entry.map_err(lost)?, **bytes.map_err(lost)?)
    };
    Ok(Kernel {
        name: format!("{name} of {}", source.name),
        args_bytes: bytes,
        entry,
        text: text.clone(),
    })
}

/// C source that calls a kernel with the structure at a pointer.
fn entry(source: &Source, name: &str) -> Result<String, Error> {
    let structure = structure(&source.text, name).ok_or_else(|| {
        Error::setup(format!(
            "{}: no kernel {name}; one is declared as KERNEL({name})(const struct Something a), with one structure",
            source.name
        ))
    })?;
    Ok(format!(
        "CUDA_ON_CPU_EXPORT const size_t cuda_on_cpu_bytes_{name} = sizeof(struct {structure});\n\
         CUDA_ON_CPU_EXPORT void cuda_on_cpu_enter_{name}(const void *args) {{ \
         {name}(*(const struct {structure} *)args); }}\n"
    ))
}

/// The structure of a kernel's arguments: `Name` of `KERNEL(kernel)(const struct Name a)`.
fn structure<'a>(text: &'a str, kernel: &str) -> Option<&'a str> {
    text.split("KERNEL").skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix('(')?.trim_start();
        let rest = rest.strip_prefix(kernel)?.trim_start().strip_prefix(')')?;
        let (parameters, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
        let mut words = parameters.split_whitespace().skip_while(|word| *word != "struct");
        words.nth(1).filter(|_| !parameters.contains(','))
    })
}

/// The compiler, its version, and its options.
struct Compiler {
    name: String,
    version: Vec<u8>,
    words: Vec<&'static str>,
}

impl Compiler {
    fn find() -> Result<Self, String> {
        if !cfg!(unix) || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err("fibres are written for x86_64 and aarch64 on unix only".into());
        }
        let name = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let answer = Command::new(&name).arg("--version").output();
        let answer = answer.map_err(|e| format!("the C compiler {name} does not start ({e}); set CC"))?;
        let mut words = vec!["-O2", "-shared", "-fPIC", "-std=gnu11", "-ffp-contract=fast"];
        // Code that is an error in C++ is an error here, too.
        words.extend([
            "-fvisibility=hidden",
            "-Werror=implicit-function-declaration",
            "-Werror=int-conversion",
        ]);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            words.extend(["-mavx2", "-mfma"]);
        }
        Ok(Self {
            name,
            version: answer.stdout,
            words,
        })
    }

    /// The file name of the library of a source; it depends on the compiler and its options.
    fn library(&self, text: &str) -> String {
        let words = self.words.join(" ");
        let parts = [
            self.name.as_bytes(),
            &self.version,
            words.as_bytes(),
            text.as_bytes(),
        ];
        let mut sum = Xxh3::new();
        for part in parts {
            sum.update(&part.len().to_le_bytes());
            sum.update(part);
        }
        format!("{:032x}.so", sum.digest128())
    }

    fn run(&self, text: &str, folder: &Path, to: &Path) -> Result<(), String> {
        let from = folder.join("text.c");
        fs::write(&from, text).map_err(|e| format!("{}: {e}", from.display()))?;
        let mut command = Command::new(&self.name);
        let ran = command.args(&self.words).arg(&from).arg("-o").arg(to).arg("-lm");
        let ran = ran.output().map_err(|e| format!("{}: {e}", self.name))?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(format!(
                "{}:\n{}",
                self.name,
                String::from_utf8_lossy(&ran.stderr)
            )),
        }
    }
}

/// The folder that keeps libraries for all test targets and later runs: inside the target folder, so that `cargo clean`
/// removes them. `None` if it cannot be created, for tests that run apart from their build.
fn kept() -> Option<&'static Path> {
    static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel-texts");
        fs::create_dir_all(&folder).ok()?;
        for file in fs::read_dir(&folder).ok()?.flatten() {
            let used = file.metadata().and_then(|data| data.modified()).ok();
            if used
                .and_then(|used| used.elapsed().ok())
                .is_some_and(|age| age > KEPT)
            {
                let _ = fs::remove_file(file.path());
            }
        }
        Some(folder)
    });
    FOLDER.as_deref()
}

/// Compiles the whole C source, or takes the library that was compiled from the same source before, and loads it.
fn compile(text: &str) -> Result<Text, String> {
    static COMPILER: LazyLock<Result<Compiler, String>> = LazyLock::new(Compiler::find);
    let compiler = COMPILER.as_ref().map_err(String::clone)?;
    let text = if text.is_empty() { HEADER } else { text };
    let draft = match kept() {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let draft = draft.map_err(|e| format!("no temporary folder: {e}"))?;
    let name = compiler.library(text);
    let library = kept().unwrap_or(draft.path()).join(&name);
    match fs::File::open(&library) {
        // The age of a library is the time since its last use.
        Ok(file) => drop(file.set_modified(SystemTime::now())),
        Err(_) => {
            let shared_object = draft.path().join("text.so");
            compiler.run(text, draft.path(), &shared_object)?;
            // Another process may have been faster; its library is the same, and is replaced atomically.
            fs::rename(&shared_object, &library).map_err(|e| format!("{}: {e}", library.display()))?;
        }
    }
    // SAFETY: the library has no initialisers; the symbol has the header's type.
    unsafe {
        let library = Library::new(&library).map_err(|e| e.to_string())?;
        let launch = *library
            .get::<Launch>("cuda_on_cpu_launch")
            .map_err(|e| e.to_string())?;
        Ok(Text {
            library,
            launch,
            busy: Mutex::default(),
        })
    }
}

impl Kernel {
    /// Runs all blocks, one after the other.
    ///
    /// # Safety
    /// `args` must point to the kernel's structure, and all memory to which that structure points must be alive.
    pub unsafe fn run(&self, dims: Dims, args: *const c_void, reversed: bool) -> Result<(), Error> {
        let failed = |why: String| Error::setup(format!("kernel {}: {why}", self.name));
        STAGE.with_borrow_mut(|stage| {
            let stage = Stage::prepare(stage, dims.shared).map_err(|e| failed(e.to_string()))?;
            let job = Job {
                entry: self.entry,
                args,
                stacks: stage.stacks.as_mut_ptr(),
                stack_bytes: STACK,
                shared: stage.shared.as_mut_ptr(),
                shared_bytes: dims.shared,
                grid: dims.grid.map(|n| n as u32),
                threads: dims.threads as u32,
                reversed: u32::from(reversed),
            };
            let mut message = [0u8; 512];
            let _alone = self.text.busy.lock().unwrap();
            // SAFETY: the memory of `stage` has the sizes that the job states; the caller guarantees the other
            // conditions.
            let code = unsafe { (self.text.launch)(&job, message.as_mut_ptr().cast(), message.len()) };
            let sentence = CStr::from_bytes_until_nul(&message).unwrap_or_default();
            match code {
                0 => Ok(()),
                _ => Err(failed(sentence.to_string_lossy().into_owned())),
            }
        })
    }
}

impl Stage {
    fn prepare(stage: &mut Option<Self>, shared: usize) -> std::io::Result<&mut Self> {
        let bytes = shared + 2 * GUARD;
        if stage.is_none() {
            *stage = Some(Self {
                stacks: MmapMut::map_anon(MOST_THREADS * STACK)?,
                shared: MmapMut::map_anon(bytes)?,
            });
        }
        let stage = stage.as_mut().expect("just made");
        if stage.shared.len() < bytes {
            stage.shared = MmapMut::map_anon(bytes)?;
        }
        Ok(stage)
    }
}
