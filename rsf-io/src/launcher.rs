//! Recognises launchers of MPI processes by the environment variables that they set.

use std::env;

/// How this process was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Number of processes.
    pub size: usize,
    /// Rank of this process, counted from 0.
    pub rank: usize,
    /// The launcher's name.
    pub by: &'static str,
}

/// The variables that hold the number of processes and the rank of this one, and the name of the launcher
/// that sets them.
const LAUNCHERS: [(&str, &str, &str); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"),
    ("PMI_SIZE", "PMI_RANK", "mpiexec"),
    ("MPI_LOCALNRANKS", "MPI_LOCALRANKID", "mpiexec"),
];
/// The variables of Slurm. It sets them in every job step, but only a step with PMIx starts MPI processes.
const SLURM: (&str, &str, &str) = ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun");

/// How a launcher started this process; `None` without a launcher. If several launchers apply, the first one in
/// `LAUNCHERS` is used, and Slurm only if none of them started the process.
pub fn launched() -> Option<Launched> {
    let number = |name: &str| env::var(name).ok()?.parse::<usize>().ok();
    let slurm = env::var_os("PMIX_RANK").map(|_| SLURM);
    LAUNCHERS.into_iter().chain(slurm).find_map(|(size, rank, by)| {
        Some(Launched {
            size: number(size)?,
            rank: number(rank).unwrap_or(0),
            by,
        })
    })
}
