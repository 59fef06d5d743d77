//! Domain decomposition: the division of grids into slabs, the exchange between subdomains, and runs on several ranks
//! and devices.

mod device_channels;
pub mod device_halo;
pub mod gather;
pub mod group;
pub mod halo;
pub mod ipc;
pub mod message_buffers;
pub mod options;
pub mod ordered_sum;
pub mod rank_halo;
pub mod slabs;
