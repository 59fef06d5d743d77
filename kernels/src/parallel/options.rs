//! Options of runs on several ranks.

use super::gather::SnapshotWriter;
use super::rank_halo::Overlap;

/// The transport of halos between GPUs of different ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The first kind that is possible, in the order below.
    #[default]
    Auto,
    /// Copies into memory of the neighbour's device that its process has exported (CUDA IPC), each reported by a
    /// message; for devices of one host.
    Ipc,
    /// Messages from device memory to device memory, for an MPI that reports support for them.
    CudaAware,
    /// Messages from host memory to host memory, with copies to and from the device.
    HostStaged,
}

/// Options of a run on several ranks.
#[derive(Clone, Copy, Debug)]
pub struct ParallelOptions {
    /// Overlap of messages with computation.
    pub overlap: Overlap,
    /// Transport of halos between GPUs of different ranks.
    pub transport: Transport,
    /// The recorders that receive snapshots.
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
