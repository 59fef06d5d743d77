//! What can go wrong in the engine, in sentences that a user can act on.

mod absent;
mod state;

pub use absent::Absent;
pub use state::StateError;

/// An engine error. Positions are indices of the model grid unless the text says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter, point or window that does not fit the grid or another parameter.
    #[error("{0}")]
    Setup(String),
    /// The time step exceeds the stability limit.
    #[error(
        "time step {dt} s is unstable: the largest stable step of this model is {limit:.6e} s (set by cell {cell}); {cure} <= {limit:.6e}, coarsen the grid, or run anyway"
    )]
    Unstable {
        /// Step asked for, in seconds.
        dt: f32,
        /// Largest stable step, in seconds.
        limit: f64,
        /// Where it is reached.
        cell: String,
        /// What makes the step smaller, up to the `<=` before the limit.
        cure: &'static str,
    },
    /// The wavefield left the range of numbers.
    #[error(
        "the wavefield is not finite at step {step}: first at {cell}; {medium}. Output written so far is readable up to there; reduce the time step or look at the model around this cell"
    )]
    NotFinite {
        /// Step after which the value was seen.
        step: usize,
        /// Indices and coordinates of the cell.
        cell: String,
        /// Density and stiffness there.
        medium: String,
    },
    /// No GPU can be used.
    #[error(transparent)]
    NoDevice(#[from] Absent),
    /// A call of a device failed, or work that it had been given.
    #[error("{device}: {doing} failed: {problem}. What was written so far stays readable")]
    Device {
        /// Which device.
        device: String,
        /// What was asked of it, with the kernel's name where one was started.
        doing: String,
        /// The driver's error and what can be done.
        problem: String,
    },
    /// A device has not enough memory.
    #[error(
        "{device} has no memory for this run: {wanted} bytes more are needed, {free} are free; use a smaller grid or a narrower frame, more GPUs, or end what else runs on the device (nvidia-smi lists it)"
    )]
    DeviceMemory {
        /// Which device.
        device: String,
        /// Bytes that were asked for.
        wanted: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// A kernel's text does not compile.
    #[error(
        "{text} does not compile for {target} by {compiler}:\n{log}\nTake another NVRTC by SIFAKA_NVRTC=<folder>, or run on the processors, and please report this"
    )]
    Compile {
        /// Name and variant of the text.
        text: String,
        /// Architecture, as `sm_90`.
        target: String,
        /// Which compiler.
        compiler: String,
        /// Its messages.
        log: String,
    },
    /// A process of the same run has found a fault, and tells it.
    #[error("another rank has ended the run")]
    Elsewhere,
    /// What one rank or several could not do; all ranks have this error, with the same sentence.
    #[error("{0}")]
    Agreed(String),
    /// Ranks lost each other.
    #[error("rank {rank} on {host}: {doing} failed: {problem}")]
    Ranks {
        /// Which rank says so.
        rank: usize,
        /// Its host.
        host: String,
        /// What was asked of MPI.
        doing: String,
        /// What it answered.
        problem: String,
    },
    /// A saved state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The program has asked the run to stop, and its state was saved.
    #[error("the run was stopped after {done} steps")]
    Stopped {
        /// Steps done.
        done: usize,
    },
    /// The recorder could not take what the engine gave it (a full disk, a closed pipe).
    #[error(transparent)]
    Recorder(#[from] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A set-up error with this sentence.
    pub fn setup(sentence: impl Into<String>) -> Self {
        Self::Setup(sentence.into())
    }
}
