//! Launchers of several processes, known by what they put into the environment.

use std::env;

/// How this process was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// How many processes there are.
    pub size: usize,
    /// The number of this one.
    pub rank: usize,
    /// The launcher's name.
    pub by: &'static str,
}

/// What launchers say of the number of processes, and of the number of this one.
const LAUNCHERS: [(&str, &str, &str); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"),
    ("PMI_SIZE", "PMI_RANK", "mpiexec"),
    ("MPI_LOCALNRANKS", "MPI_LOCALRANKID", "mpiexec"),
];
/// The same of Slurm, which says it of every step: only one with PMIx is a start of MPI.
const SLURM: (&str, &str, &str) = ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun");

/// What a launcher says of this process, where one has started it. The innermost launcher counts.
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
