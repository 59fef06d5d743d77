//! Parameters of surveys whose sums are saved after their shots.

use rsf_io::Param;

/// The file in which the sums over the finished shots are saved.
pub const CHECKPOINT: Param = Param::string("checkpoint")
    .default_text("none")
    .doc("with several shots: file in which the sums over the finished shots are saved; FILE.1 is the state before that");

/// The interval between states, in shots or as a time.
pub const EVERY: Param = Param::string("every")
    .default_text("1")
    .doc("interval between saved states: a number of shots, or a time such as every=30s, 10min, 2h");

/// The state from which a survey continues.
pub const RESUME: Param = Param::string("resume")
    .default_text("none")
    .doc("saved state from which this run continues; data, model and parameters must be the same, but threads, memory, devices, groups and ranks may differ");
