//! A file of traces, and how they are laid out in it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result, ensure};
use rsf_io::Job;

use super::keys::TRACE_HEADER;
use super::samples::{Coding, Order};
use super::text::{self, TEXT_HEADER};
use super::{BINARY_HEADER, BLOCK, DT, EXTENDED, FORMAT, HDT, HNS, NS, ORDER_CONSTANT, REVISION};

/// An open file of traces.
pub struct Tape {
    file: BufReader<File>,
    /// Name for messages.
    pub name: String,
    /// Bytes of the whole; `None` for a pipe.
    pub length: Option<u64>,
}

/// How its traces are laid out.
pub struct Layout {
    /// Order of bytes in headers and samples.
    pub order: Order,
    /// How samples are written.
    pub coding: Coding,
    /// Samples of a trace.
    pub samples: usize,
    /// Sampling in s.
    pub step: f32,
    /// Bytes before the first trace.
    pub before: u64,
}

impl Tape {
    /// The file that tape= names, or standard input.
    pub fn open(job: &Job) -> Result<Self> {
        let (file, name) = match job.text("tape")? {
            Some(path) => {
                let file = File::open(&path).with_context(|| format!("cannot read tape={path}"))?;
                (file, format!("tape={path}"))
            }
            None => {
                ensure!(
                    !io::stdin().is_terminal(),
                    "no file is given: tape= names one, or standard input brings one (< file.sgy)"
                );
                (
                    File::from(io::stdin().as_fd().try_clone_to_owned()?),
                    "standard input".into(),
                )
            }
        };
        let meta = file.metadata().with_context(|| format!("cannot read {name}"))?;
        ensure!(
            !meta.is_dir(),
            "{name} is a directory, a SEG-Y or SU file was expected"
        );
        let mut tape = Self {
            file: BufReader::with_capacity(BLOCK, file),
            name,
            length: meta.is_file().then_some(meta.len()),
        };
        if tape.length.is_some() {
            // Whoever looked for data on standard input may have moved it.
            tape.file.seek(SeekFrom::Start(0))?;
        }
        Ok(tape)
    }

    /// Reads exactly as many bytes; `what` says of what, should they be lacking.
    pub fn fill(&mut self, bytes: &mut [u8], what: &dyn Fn() -> String) -> Result<()> {
        let done = self.file.read_exact(bytes);
        done.with_context(|| format!("{}: cannot read {}", self.name, what()))
    }

    /// Passes over bytes.
    pub fn pass(&mut self, bytes: u64) -> Result<()> {
        if self.length.is_some() {
            return Ok(self.file.seek_relative(bytes as i64)?);
        }
        let passed = io::copy(&mut (&mut self.file).take(bytes), &mut io::sink())?;
        ensure!(passed == bytes, "{} ends in the middle of a trace", self.name);
        Ok(())
    }

    /// The first bytes of what follows, which stay to be read.
    pub fn ahead(&mut self, count: usize) -> Result<Vec<u8>> {
        // A pipe can bring less than a header at first.
        let mut last = 0;
        loop {
            let buffer = self.file.fill_buf()?;
            if buffer.len() >= count {
                return Ok(buffer[..count].to_vec());
            }
            let got = buffer.len();
            ensure!(
                got > last && self.length.is_none(),
                "{} has no trace: {got} bytes are left, a trace header has {count}",
                self.name
            );
            last = got;
            std::thread::yield_now();
        }
    }
}

/// Reads textual and binary headers.
pub fn segy_layout(job: &Job, tape: &mut Tape) -> Result<Layout> {
    let (mut text, mut binary) = (vec![0; TEXT_HEADER], vec![0; BINARY_HEADER]);
    tape.fill(&mut text, &|| "the 3200 bytes of the textual header".into())?;
    tape.fill(&mut binary, &|| "the 400 bytes of the binary header".into())?;
    for (key, bytes) in [("hfile", text::to_ascii(&text)), ("bfile", binary.clone())] {
        if let Some(path) = job.text(key)?.filter(|_| !job.is_dry_run()) {
            let written = File::create(&path).and_then(|mut file| file.write_all(&bytes));
            written.with_context(|| format!("cannot write {key}={path}"))?;
        }
    }
    let order = order(job, &binary)?;
    let number = job.int_opt("format")?;
    let coding = Coding::of(number.unwrap_or(i64::from(order.int(&binary, FORMAT, 2))));
    let coding = coding.with_context(|| format!("{}: no format that is known", tape.name))?;
    let samples = job
        .int_opt("ns")?
        .map_or(order.count(&binary, HNS), |n| n as usize);
    ensure!(
        samples > 0,
        "{}: the binary header says 0 samples a trace; ns= says how many there are",
        tape.name
    );
    let size = (TRACE_HEADER + samples * coding.size()) as u64;
    let further = further_text(tape, order, &binary, size)?;
    Ok(Layout {
        order,
        coding,
        samples,
        step: order.count(&binary, HDT) as f32 / 1e6,
        before: (TEXT_HEADER + BINARY_HEADER) as u64 + further,
    })
}

/// The order of bytes: from the constant of revision 2, else the one in which the format makes sense.
fn order(job: &Job, binary: &[u8]) -> Result<Order> {
    if !job.flag("endian")? {
        return Ok(Order::Little);
    }
    match &binary[ORDER_CONSTANT..ORDER_CONSTANT + 4] {
        [1, 2, 3, 4] => return Ok(Order::Big),
        [4, 3, 2, 1] => return Ok(Order::Little),
        _ => {}
    }
    let sane = |order: Order| (1..=16).contains(&order.int(binary, FORMAT, 2));
    Ok(match (sane(Order::Big), sane(Order::Little)) {
        (false, true) => Order::Little,
        _ => Order::Big,
    })
}

/// Passes over the textual headers that revision 1 allows behind the binary one, where traces have `size` bytes; their bytes.
fn further_text(tape: &mut Tape, order: Order, binary: &[u8], size: u64) -> Result<u64> {
    // The revision is 1.0 as 0x0100. Revision 0 leaves the number free: it is one where the traces fill the file only so.
    let (major, told) = (order.count(binary, REVISION) >> 8, order.int(binary, EXTENDED, 2));
    let fills = |number: u64| {
        let before = (TEXT_HEADER + BINARY_HEADER) as u64 + number * TEXT_HEADER as u64;
        tape.length
            .is_some_and(|length| length > before && (length - before).is_multiple_of(size))
    };
    let wanted = match major {
        1 | 2 => told,
        _ if told > 0 && fills(told as u64) && !fills(0) => told,
        _ => 0,
    };
    let mut block = vec![0; TEXT_HEADER];
    let mut passed = 0;
    loop {
        if wanted >= 0 && passed >= wanted as u64 {
            return Ok(passed * TEXT_HEADER as u64);
        }
        tape.fill(&mut block, &|| "a further textual header".into())?;
        passed += 1;
        let text = String::from_utf8_lossy(&text::to_ascii(&block)).to_lowercase();
        // -1: as many as there are, the last one with this mark.
        if wanted < 0 && text.replace(' ', "").contains("((seg:endtext))") {
            return Ok(passed * TEXT_HEADER as u64);
        }
    }
}

/// SU has no headers but those of traces.
pub fn su_layout(job: &Job, tape: &mut Tape) -> Result<Layout> {
    ensure!(
        !job.given("format"),
        "format= is for SEG-Y: SU holds reals of 4 bytes"
    );
    let first = tape.ahead(TRACE_HEADER)?;
    let fits = |order: Order| {
        let samples = order.count(&first, NS);
        let size = (TRACE_HEADER + 4 * samples) as u64;
        samples > 0 && tape.length.is_none_or(|length| length % size == 0)
    };
    let order = if !job.flag("endian")? {
        Order::Little
    } else if job.flag("suxdr")? {
        Order::Big
    } else {
        match (fits(Order::Little), fits(Order::Big)) {
            (true, true) => likely(&first),
            (false, true) => Order::Big,
            _ => Order::Little,
        }
    };
    let samples = job.int_opt("ns")?.map_or(order.count(&first, NS), |n| n as usize);
    ensure!(
        samples > 0,
        "{}: the first trace header says 0 samples; ns= says how many there are",
        tape.name
    );
    Ok(Layout {
        order,
        coding: Coding::Ieee,
        samples,
        step: order.count(&first, DT) as f32 / 1e6,
        before: 0,
    })
}

/// Of two orders that both fit: the one in which the kind of trace is a small number, as it always is.
fn likely(header: &[u8]) -> Order {
    const TRID: usize = 28;
    let size = |order: Order| order.count(header, TRID);
    if size(Order::Big) < size(Order::Little) {
        Order::Big
    } else {
        Order::Little
    }
}
