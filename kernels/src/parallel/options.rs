//! How the ranks of a run work together.

use super::gather::Snapshots;
use super::rank_halo::Overlap;

/// The way of ghosts between GPUs of different ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The first that can be had, in the order below.
    #[default]
    Auto,
    /// A copy into the memory of the neighbour's device, and a note; for devices of one host.
    Ipc,
    /// Messages from device to device; for an MPI that says it can.
    CudaAware,
    /// Messages from host to host.
    HostStaged,
}

/// How ranks work together.
#[derive(Clone, Copy, Debug)]
pub struct ParallelOptions {
    /// How ghosts travel between them.
    pub manner: Overlap,
    /// By which way, between GPUs.
    pub way: Transport,
    /// Who writes snapshots.
    pub snapshots: Snapshots,
}

impl Default for ParallelOptions {
    fn default() -> Self {
        Self {
            manner: Overlap::Overlapped,
            way: Transport::Auto,
            snapshots: Snapshots::Own,
        }
    }
}
