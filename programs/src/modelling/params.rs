//! The parameters that all modelling programs have, each declared once.

use rsf_io::Param;

/// The way of ghosts between ranks.
pub const EXCHANGE: Param = Param::choice("exchange", &["auto", "peer", "device", "host"])
    .default("auto")
    .doc("between GPUs of different ranks: copies into the other GPU's memory (one host), messages from GPU to GPU (an MPI that can), or from host to host; auto: the first that can be had");
