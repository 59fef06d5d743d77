//! Errors of the engine, with messages that tell a user what to do.

mod absent;
mod hint;
mod state;

pub use absent::Absent;
pub use hint::{Hint, Message, Part};
pub use state::StateError;

use crate::message;

/// An error of the engine. Positions are indices of the model grid unless the message says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter, point or window does not fit the grid or another parameter.
    #[error("{0}")]
    Setup(Message),
    /// The time step exceeds the stability limit.
    #[error("{}", self.message())]
    Unstable {
        /// Time step of the run, in seconds.
        dt: f32,
        /// Largest stable time step, in seconds.
        limit: f64,
        /// The cell that sets the limit.
        cell: String,
        /// The words before `<=` and the limit, which name the parameter that makes the step smaller.
        cure: &'static str,
    },
    /// The wavefield contains infinity or NaN.
    #[error(
        "the wavefield is not finite at step {step}: first at {cell}; {medium}. Output written so far is readable up to there; reduce the time step or check the model around this cell"
    )]
    NotFinite {
        /// Step after which the value was found.
        step: usize,
        /// Indices and coordinates of the cell.
        cell: String,
        /// Density and stiffness of that cell.
        medium: String,
    },
    /// No GPU can be used.
    #[error("{}", self.message())]
    NoDevice(Absent),
    /// A call of the driver failed, or work that was enqueued earlier on the device.
    #[error("{device}: {doing} failed: {problem}. What was written so far stays readable")]
    Device {
        /// Name of the device.
        device: String,
        /// The action that failed, with the kernel's name if a kernel was launched.
        doing: String,
        /// The driver's error and advice.
        problem: String,
    },
    /// A device does not have enough memory.
    #[error("{}", self.message())]
    DeviceMemory {
        /// Name of the device.
        device: String,
        /// Number of bytes that were requested.
        needed: usize,
        /// Number of bytes that are free.
        free: usize,
    },
    /// The source text of a kernel does not compile.
    #[error("{}", self.message())]
    Compile {
        /// Name and variant of the source text.
        text: String,
        /// Architecture, such as `sm_90`.
        target: String,
        /// Version and file of the compiler.
        compiler: String,
        /// Messages of the compiler.
        log: String,
    },
    /// Another rank has failed and reports the error itself.
    #[error("another rank has ended the run")]
    Elsewhere,
    /// One rank or several failed; all ranks return this error with the same message.
    #[error("{0}")]
    Agreed(Message),
    /// Communication between ranks failed.
    #[error("rank {rank} on {host}: {doing} failed: {problem}")]
    Ranks {
        /// The rank that reports the failure.
        rank: usize,
        /// The host on which it runs.
        host: String,
        /// The action of MPI that failed.
        doing: String,
        /// The error that MPI returned.
        problem: String,
    },
    /// A mesh is faulty, or a point lies outside it: a [`Fault`](crate::mesh::Fault).
    #[error(transparent)]
    Mesh(Box<dyn std::error::Error + Send + Sync>),
    /// A saved state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The run was stopped at the program's request, and its state was saved.
    #[error("the run was stopped after {done} steps")]
    Stopped {
        /// Number of steps done.
        done: usize,
    },
    /// The recorder failed to store the engine's output (a full disk, a closed pipe).
    #[error(transparent)]
    Recorder(#[from] Box<dyn std::error::Error + Send + Sync>),
}

// This is not `#[from]`, which would also make the reason a cause, so that messages with causes would contain it twice.
impl From<Absent> for Error {
    fn from(absent: Absent) -> Self {
        Self::NoDevice(absent)
    }
}

impl Error {
    /// A set-up error with this message.
    pub fn setup(message: impl Into<Message>) -> Self {
        Self::Setup(message.into())
    }

    /// The message of the error with the remedies that it names.
    pub fn message(&self) -> Message {
        match self {
            Self::Setup(message) | Self::Agreed(message) => message.clone(),
            Self::Unstable {
                dt,
                limit,
                cell,
                cure,
            } => message![
                format!(
                    "time step {dt} s is unstable: the largest stable step of this model is {limit:.6e} s (set by cell {cell}); {cure} <= {limit:.6e}, coarsen the grid, or "
                ),
                Hint::RunAnyway,
            ],
            Self::NoDevice(absent) => message![format!("{absent}, or "), Hint::Processors],
            Self::DeviceMemory { device, needed, free } => message![
                format!(
                    "{device} has not enough memory for this run: {needed} bytes more are needed, {free} are free; use a smaller grid, "
                ),
                Hint::NarrowerFrame,
                " or ",
                Hint::MoreGpus,
                ", or end other processes on the device (nvidia-smi lists them)",
            ],
            Self::Compile {
                text,
                target,
                compiler,
                log,
            } => message![
                format!(
                    "{text} does not compile for {target} by {compiler}:\n{log}\nUse another NVRTC by SIFAKA_NVRTC=<folder>, or "
                ),
                Hint::Processors,
                ", and please report this",
            ],
            Self::State(StateError::NotAState) => {
                message!["the file is not a saved state: give ", Hint::SavedState]
            }
            other => other.to_string().into(),
        }
    }
}
