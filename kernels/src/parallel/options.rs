//! How the ranks of a run work together.

use super::gather::SnapshotWriter;
use super::rank_halo::Overlap;

/// The transport of halos between GPUs of different ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The first that can be had, in the order below.
    #[default]
    Auto,
    /// Copies into memory of the neighbour's device that its process has exported (CUDA IPC), and a message that tells of
    /// them; for devices of one host.
    Ipc,
    /// Messages from device memory to device memory, for an MPI that says it can send them.
    CudaAware,
    /// Messages from host memory to host memory, with copies from and to the device.
    HostStaged,
}

/// How ranks work together.
#[derive(Clone, Copy, Debug)]
pub struct ParallelOptions {
    /// How messages overlap with computing.
    pub overlap: Overlap,
    /// How halos travel between GPUs of different ranks.
    pub transport: Transport,
    /// Who writes snapshots.
    pub snapshots: SnapshotWriter,
}

impl Default for ParallelOptions {
    fn default() -> Self {
        Self {
            overlap: Overlap::Overlapped,
            transport: Transport::Auto,
            snapshots: SnapshotWriter::EachRank,
        }
    }
}
