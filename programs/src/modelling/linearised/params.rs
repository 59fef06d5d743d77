//! Parameters of surveys whose sums are saved behind their shots.

use rsf_io::Param;

/// `checkpoint=`, behind shots.
pub const CHECKPOINT: Param = Param::string("checkpoint")
    .default_text("none")
    .doc("with several shots: file in which the sums over the finished shots are saved; FILE.1 is the state before that");

/// `every=`, in shots.
pub const EVERY: Param = Param::string("every")
    .default_text("1")
    .doc("interval between saved states: a number of shots, or a time such as every=30s, 10min, 2h");

/// `resume=`.
pub const RESUME: Param = Param::string("resume")
    .default_text("none")
    .doc("saved state from which this run continues; data, model and parameters must be the same, but threads, memory=, device=, groups and ranks may differ");
