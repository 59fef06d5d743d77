//! The disk space that a dataset will need.

use std::os::fd::AsRawFd;

use super::Output;
use crate::files::is_regular;
use crate::memory::gigabytes;
use crate::{Error, Result};

impl Output {
    /// Refuses `elements` elements if the disk has too little space for them. Without this check a run would fail only
    /// after it had filled the disk.
    ///
    /// # Errors
    /// Returns an error if the system reports the free space and it is too small.
    pub fn ensure_disk(&self, elements: u64) -> Result<()> {
        let Some(file) = self.data.as_ref().map(|data| data.get_ref()) else {
            return Ok(());
        };
        if !is_regular(file) {
            return Ok(());
        }
        // SAFETY: all bytes of this structure may be zero.
        let mut disk: libc::statvfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open as long as the file, and the structure is a local variable.
        if unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut disk) } != 0 {
            return Ok(());
        }
        let free = disk.f_bavail as f64 * disk.f_frsize as f64;
        let needed = elements as f64 * self.format.kind.size() as f64;
        if needed > free {
            return Err(Error::new(format!(
                "{} takes {}, but its disk has {} left: write fewer samples, or choose another place (datapath=)",
                self.data_name,
                gigabytes(needed),
                gigabytes(free)
            )));
        }
        Ok(())
    }
}
