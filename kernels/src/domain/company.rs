//! How the ranks of a run work together.

use super::gather::Snapshots;
use super::remote::Manner;

/// The way of ghosts between GPUs of different ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The first that can be had, in the order below.
    #[default]
    Auto,
    /// A copy into the memory of the neighbour's device, and a note; for devices of one host.
    Peer,
    /// Messages from device to device; for an MPI that says it can.
    Device,
    /// Messages from host to host.
    Host,
}

/// How ranks work together.
#[derive(Clone, Copy, Debug)]
pub struct Company {
    /// How ghosts travel between them.
    pub manner: Manner,
    /// By which way, between GPUs.
    pub way: Way,
    /// Who writes snapshots.
    pub snapshots: Snapshots,
}

impl Default for Company {
    fn default() -> Self {
        Self {
            manner: Manner::Overlapped,
            way: Way::Auto,
            snapshots: Snapshots::Own,
        }
    }
}
