//! Checks the data of a dataset against its header.

use std::io::Seek;
use std::sync::Arc;

use super::{Cut, Input};
use crate::{Error, Result};

impl Input {
    /// Warns if `esize` is not the size of the type. As in Madagascar's library the type decides, so that
    /// data with elements of twice the size would be read as twice as many numbers.
    pub(super) fn compare_sizes(&mut self) {
        let (size, format) = (self.format.kind.size(), self.format);
        if let Some(esize) = self.header.int("esize")
            && esize > 0
            && format.is_binary()
            && esize as usize != size
        {
            self.noted.flaws.push(format!(
                "{}: esize={esize} in the header is not the size of {format} numbers, which is {size} bytes: they are read as {format}",
                self.name
            ));
        }
    }

    /// Finds out whether elements can be read by position, and if so whether the file holds all of them. If `cut`
    /// allows it, data that end early are read up to their last complete record: a new line in the header then sets
    /// that length.
    pub(super) fn measure(&mut self, cut: Cut) -> Result<()> {
        let meta = self.reader.get_ref().metadata().map_err(|e| self.unreadable(e))?;
        if !meta.is_file() || !self.format.is_binary() {
            return Ok(());
        }
        let start = self.reader.stream_position().map_err(|e| self.unreadable(e))?;
        let have = meta.len().saturating_sub(start);
        let size = self.format.kind.size() as u64;
        let need = self.len * size;
        if have < need {
            let lack = format!(
                "{}: {} has {have} bytes of data, {} of {} need {need}",
                self.name,
                if self.data == self.name { "it" } else { &self.data },
                self.header.sizes(),
                self.format,
            );
            self.shorten(lack, have / size, cut)?;
        }
        self.start = Some(start);
        Ok(())
    }

    /// Shortens the dataset to the complete records among the `elements` elements that the file holds.
    fn shorten(&mut self, lack: String, elements: u64, cut: Cut) -> Result<()> {
        let whole = match cut {
            Cut::Along(axis) => self.header.whole_records_along(axis, elements),
            Cut::Records | Cut::Refused => self.header.whole_records(elements),
        };
        let Some(whole) = whole else {
            return Err(Error::new(format!(
                "{lack}: the file is cut short or the header is wrong"
            )));
        };
        if matches!(cut, Cut::Refused) {
            return Err(Error::new(format!(
                "{lack}: the file is cut short or the header is wrong ({whole}; sfwindow takes them out)"
            )));
        }
        self.noted.flaws.push(format!(
            "{lack}: the file is cut short, still being written, or the header is wrong; {whole} and are read"
        ));
        Arc::make_mut(&mut self.header).keep(&whole);
        self.len = self.header.elements()?;
        Ok(())
    }
}
