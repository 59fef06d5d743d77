//! The everyday programs of `sfbasics` run as processes: compared with Madagascar's results, compared with plain loops
//! over random data, and with input that must be refused.

mod agreement;
mod bench;
mod by_hand;
mod corners;
mod cut;
mod exactness;
mod files;
mod formulas;
mod gathers;
mod joined;
mod large;
mod madagascar;
mod messages;
mod operators;
mod pen;
mod pictures;
mod refusals;
mod segy;
mod segy_faults;
mod segy_headers;
mod segy_limits;
mod segy_maps;
mod segy_points;
mod segy_words;
mod shapes;
mod signals;
mod slips;
mod surveys;
mod time_axis;
mod words;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/largest.rs"]
mod largest;
