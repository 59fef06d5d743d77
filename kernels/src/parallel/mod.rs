//! Subdomains that work together: how grids are cut into slabs, what subdomains send each other, and how ranks, devices
//! and threads run one schedule.

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
