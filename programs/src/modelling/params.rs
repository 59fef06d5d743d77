//! The parameters that all modelling programs have, each declared once.

use rsf_io::Param;

/// The way of ghosts between ranks.
pub const EXCHANGE: Param = Param::choice("exchange", &["auto", "peer", "device", "host"])
    .default("auto")
    .doc("between GPUs of different ranks: copies into the other GPU's memory (one host), messages from GPU to GPU (an MPI that can), or from host to host; auto: the first that can be had");

/// Where states are saved.
pub const CHECKPOINT: Param = Param::string("checkpoint")
    .default_text("none")
    .doc("file into which the state of the run is saved while it goes on; FILE.1 is the state before it");

/// When.
pub const EVERY: Param = Param::string("every")
    .default_text("10min")
    .doc("with checkpoint=: steps from state to state, or a time, as in every=30s, 10min, 2h");

/// The state behind which a run goes on.
pub const RESUME: Param = Param::string("resume")
    .default_text("none")
    .doc("state of a run with the same words, behind which this one goes on, on any slabs, threads, GPUs and ranks; its outputs are continued");

/// Steps from record to record.
pub const JDATA: Param = Param::int("jdata")
    .default("1")
    .range(">= 1", Some(1.0), None)
    .doc("steps from record to record");

/// Steps from snapshot to snapshot.
pub const JSNAP: Param = Param::int("jsnap")
    .default_text("nt: one snapshot, of the first step")
    .range(">= 1", Some(1.0), None)
    .doc("steps from snapshot to snapshot");

/// Whether there are snapshots.
pub const SNAP: Param = Param::bool("snap").default("n").doc("write snapshots into wfl=");

/// The snapshots.
pub const WFL: Param = Param::output("wfl").doc("snapshots, written when snap=y");

/// What an unstable time step is.
pub const CFL: Param = Param::choice("cfl", &["error", "warn"])
    .default("error")
    .doc("what an unstable time step is");

/// Steps between two looks at the whole field.
pub const JCHECK: Param = Param::int("jcheck")
    .default("100")
    .range(">= 1", Some(1.0), None)
    .doc("steps between searches for values that are not finite");
