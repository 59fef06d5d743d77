//! Ends a dataset before all of its elements are written.

use std::io::Write;

use super::Output;
use crate::files::{close, is_regular};
use crate::{Error, Header, Result};

impl Output {
    /// The number of complete records along the last axis, `axis` (counted from 1), and the number in the
    /// header.
    pub fn records(&self, axis: usize) -> Result<(u64, u64)> {
        let whole = self.written / self.record(axis)?.max(1);
        let of = Header::parse(&self.text()?)?.axis(axis).n as u64;
        Ok((whole, of))
    }

    /// The number of elements of one record.
    fn record(&self, axis: usize) -> Result<u64> {
        let header = Header::parse(&self.text()?)?;
        Ok((1..axis).map(|i| header.axis(i).n as u64).product())
    }

    /// Ends the dataset after `records` complete records along its last axis `axis`: all later elements are removed,
    /// and a new line in the header sets that length. In a pipe the header was already sent, and readers see the end of
    /// the data. A dataset whose header was not yet written is removed, as it is when it is dropped. Returns an error
    /// if a write fails.
    pub fn finish_at(mut self, axis: usize, records: u64) -> Result<()> {
        let elements = records * self.record(axis)?;
        let Some(data) = self.data.take().filter(|_| self.begun) else {
            return Ok(());
        };
        let file = data
            .into_inner()
            .map_err(|e| Error::writing(&self.data_name, e.into_error()))?;
        if let Some(mut header) = self.header_again.take() {
            if self.format.is_binary() && is_regular(&file) {
                file.set_len(elements * self.format.kind.size() as u64)
                    .map_err(|e| Error::writing(&self.data_name, e))?;
            }
            let line = format!("\tn{axis}={records}\n");
            let added = header.write_all(line.as_bytes()).and_then(|()| close(header));
            added.map_err(|e| Error::writing(&self.name, e))?;
        }
        close(file).map_err(|e| Error::writing(&self.data_name, e))
    }
}
