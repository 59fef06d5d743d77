//! An accelerator emulated on the processor: it runs the unchanged source of the kernels, so that every machine can
//! test it.
//!
//! Streams are synchronous, or late ([`Emulator::late`]). Device memory is host memory between two guards, which
//! [`Accelerator::finish`] checks; copies outside allocated device memory are refused.
#![allow(dead_code)] // each test target that includes this file uses a part of it

use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kernels::Error;
use kernels::device::accelerator::{Accelerator, Boxes, Dims, Memory, Properties, Source, Stream};

#[path = "cuda_on_cpu.rs"]
mod cuda_on_cpu;
#[path = "guarded_memory.rs"]
mod guarded_memory;
#[path = "streams.rs"]
mod streams;

use cuda_on_cpu::{GUARD, Kernel, MOST_THREADS};
use guarded_memory::{Borrowed, Buffer, Ledger, Lump, POISON, damage, fence, inside, pages};
use streams::{Event, Late, Work, patiently, word};

/// The emulated accelerator.
pub struct Emulator {
    properties: Properties,
    reversed: bool,
    ledger: Arc<Ledger>,
    late: Option<Late>,
    opens_memory: bool,
    synchronous: bool,
    recording: Mutex<Option<Vec<Work>>>,
    replays: AtomicUsize,
}

impl Emulator {
    /// Whether kernels can run here. If not, the test reports this to standard error directly, which the capture of
    /// test output does not hide, and `./sconsw test` counts it as skipped.
    pub fn ready() -> bool {
        let available = Self::available();
        if let Err(why) = &available {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("a test");
            let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
        }
        available.is_ok()
    }

    /// `Err` with the reason on a machine without a C compiler; with `REQUIRE_CC=1` that is a panic.
    pub fn available() -> Result<(), String> {
        let compiler = cuda_on_cpu::available();
        if let Err(why) = &compiler
            && std::env::var("REQUIRE_CC").is_ok_and(|v| v == "1")
        {
            panic!("REQUIRE_CC=1, but kernels cannot run on this processor: {why}");
        }
        compiler
    }

    /// An accelerator with two multiprocessors, 227 KiB of shared memory and 1 TiB of memory.
    pub fn new() -> Self {
        Self {
            properties: Properties {
                name: "processor playing accelerator".into(),
                number: 0,
                architecture: 90,
                clusters: false,
                signals: true,
                multiprocessors: 2,
                shared_bytes: 232_448,
                memory_bytes: 1 << 40,
            },
            reversed: false,
            ledger: Arc::default(),
            late: None,
            opens_memory: true,
            synchronous: false,
            recording: Mutex::default(),
            replays: AtomicUsize::new(0),
        }
    }

    /// Runs blocks and threads from the last to the first, so that a result that depends on their order has different
    /// bits.
    pub fn reversed(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// Its streams, and the streams of all late devices of this thread, run concurrently: work is deferred until the
    /// host waits, and is then done in an order that events and the seed determine.
    pub fn late(mut self, seed: u64) -> Self {
        self.late = Some(Late::open(seed));
        self
    }

    /// Does not open memory of other processes.
    pub fn closed(mut self) -> Self {
        self.opens_memory = false;
        self
    }

    /// Waits for every launch.
    pub fn synchronous(mut self) -> Self {
        self.synchronous = true;
        self
    }

    /// Sets its number on this host.
    pub fn numbered(mut self, number: usize) -> Self {
        self.properties.number = number;
        self
    }

    /// Sets its number of multiprocessors.
    pub fn with_multiprocessors(mut self, count: usize) -> Self {
        self.properties.multiprocessors = count;
        self
    }

    /// Sets the shared memory that a block may use.
    pub fn with_shared_bytes(mut self, bytes: usize) -> Self {
        self.properties.shared_bytes = bytes;
        self
    }

    /// Sets the memory of the device.
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.properties.memory_bytes = bytes;
        self
    }

    /// Bytes that are used if memory is allocated in pages: large pieces occupy whole pages, and small ones share
    /// pages.
    pub fn paged_bytes(&self, page: usize) -> usize {
        let live = self.ledger.live.lock().unwrap();
        let (small, large): (Vec<usize>, Vec<usize>) = live.values().partition(|bytes| **bytes < page / 2);
        let large = large.iter().map(|bytes| bytes.next_multiple_of(page));
        large.sum::<usize>() + small.iter().sum::<usize>().next_multiple_of(page)
    }

    /// Number of open pieces of memory of other processes.
    pub fn borrowed(&self) -> usize {
        self.ledger.borrowed.lock().unwrap().len()
    }

    /// Number of times that recorded work was replayed.
    pub fn replays(&self) -> usize {
        self.replays.load(Ordering::Relaxed)
    }

    fn submit(&self, stream: Stream, work: Work) -> Result<(), Error> {
        if let Some(recorded) = self.recording.lock().unwrap().as_mut() {
            recorded.push(work);
            return Ok(());
        }
        match &self.late {
            None => work(),
            Some(late) => {
                late.submit(stream, work);
                Ok(())
            }
        }
    }

    fn check(&self, kernel: &Kernel, dims: Dims, args: usize) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::setup(format!("kernel {}: {why}", kernel.name)));
        let [x, y, z] = dims.grid;
        if args != 1 {
            return refuse(format!("{args} arguments; it takes one structure"));
        }
        if x == 0 || y == 0 || z == 0 || x > i32::MAX as usize || y > 65_535 || z > 65_535 {
            return refuse(format!("no device runs a grid of {x} x {y} x {z} blocks"));
        }
        if dims.threads == 0 || dims.threads > MOST_THREADS {
            return refuse(format!(
                "{} threads in a block; 1 to {MOST_THREADS} fit",
                dims.threads
            ));
        }
        let most = self.properties.shared_bytes;
        if dims.shared > most {
            return refuse(format!(
                "{} bytes of shared memory; a block has {most}",
                dims.shared
            ));
        }
        Ok(())
    }
}

/// A copy that can be deferred: the memory at the addresses stays alive until it is done.
fn copy(from: u64, to: u64, bytes: usize) {
    // SAFETY: the callers of the copies of `Accelerator` guarantee both ranges.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) }
}

impl Accelerator for Emulator {
    type Memory = Lump;
    type Pinned = Buffer;
    type Kernel = Kernel;
    type Event = Event;
    type Graph = Vec<Work>;

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn is_synchronous(&self) -> bool {
        self.synchronous
    }

    fn free_bytes(&self) -> Result<usize, Error> {
        Ok(self.properties.memory_bytes.saturating_sub(self.ledger.used()))
    }

    fn load(&self, source: &Source, kernels: &[&str]) -> Result<Vec<Kernel>, Error> {
        cuda_on_cpu::load(source, kernels)
    }

    fn resident_blocks(&self, _: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        let fits = threads <= MOST_THREADS && shared <= self.properties.shared_bytes;
        Ok(usize::from(fits))
    }

    fn allocate(&self, bytes: usize) -> Result<Lump, Error> {
        let free = self.free_bytes()?;
        if bytes > free {
            return Err(Error::setup(format!(
                "out of device memory: {bytes} bytes asked for, {free} free"
            )));
        }
        let mut pages = pages(bytes + 2 * GUARD)?;
        let start = pages[GUARD..].as_mut_ptr();
        pages[..GUARD].copy_from_slice(fence(start as u64));
        pages[GUARD + bytes..][..GUARD].copy_from_slice(fence(start as u64 + bytes as u64));
        self.ledger.live.lock().unwrap().insert(start as u64, bytes);
        Ok(Lump {
            start,
            bytes,
            ledger: self.ledger.clone(),
            late: self.late.clone(),
            _pages: pages,
        })
    }

    fn reserve(&self, bytes: usize) -> Result<Lump, Error> {
        let lump = self.allocate(bytes)?;
        // SAFETY: the memory is that long, and nothing else refers to it yet.
        unsafe { lump.start.write_bytes(POISON, bytes) };
        Ok(lump)
    }

    fn clear(&self, memory: &Lump) -> Result<(), Error> {
        let (start, bytes) = (memory.start as u64, memory.bytes);
        self.submit(
            Stream::Main,
            Arc::new(move || {
                // SAFETY: the caller keeps the memory until the work is done.
                unsafe { std::ptr::write_bytes(start as *mut u8, 0, bytes) };
                Ok(())
            }),
        )
    }

    fn pin(&self, bytes: usize) -> Result<Buffer, Error> {
        let pages = pages(bytes)?;
        Ok(Buffer {
            pages,
            bytes,
            late: self.late.clone(),
        })
    }

    unsafe fn upload(
        &self,
        stream: Stream,
        from: &Buffer,
        offset: usize,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        inside(from, offset, bytes)?;
        self.ledger.check(to, bytes)?;
        let from = from.pages.as_ptr() as u64 + offset as u64;
        self.submit(
            stream,
            Arc::new(move || {
                copy(from, to, bytes);
                Ok(())
            }),
        )
    }

    unsafe fn download(
        &self,
        stream: Stream,
        from: u64,
        to: &mut Buffer,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Error> {
        inside(to, offset, bytes)?;
        self.ledger.check(from, bytes)?;
        let to = to.pages.as_mut_ptr() as u64 + offset as u64;
        self.submit(
            stream,
            Arc::new(move || {
                copy(from, to, bytes);
                Ok(())
            }),
        )
    }

    unsafe fn copy_to(
        &self,
        stream: Stream,
        from: u64,
        peer: &Self,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        self.ledger.check(from, bytes)?;
        peer.ledger.check(to, bytes)?;
        self.submit(
            stream,
            Arc::new(move || {
                copy(from, to, bytes);
                Ok(())
            }),
        )
    }

    unsafe fn launch(
        &self,
        stream: Stream,
        kernel: &Kernel,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error> {
        self.check(kernel, dims, args.len())?;
        // Numbers of 16 bytes have the largest alignment of any structure of the kernels.
        let mut held = vec![0u128; kernel.args_bytes.div_ceil(16)];
        // SAFETY: the caller guarantees that the pointer is to the kernel's structure.
        unsafe {
            std::ptr::copy_nonoverlapping(args[0].cast(), held.as_mut_ptr().cast::<u8>(), kernel.args_bytes)
        };
        let (kernel, reversed) = (kernel.clone(), self.reversed);
        self.submit(
            stream,
            Arc::new(move || {
                // SAFETY: as above; the caller keeps the memory alive that the kernel uses.
                unsafe { kernel.run(dims, held.as_ptr().cast(), reversed) }
            }),
        )
    }

    fn event(&self) -> Result<Event, Error> {
        Ok(Event::default())
    }

    fn record(&self, stream: Stream, event: &Event) -> Result<(), Error> {
        if let Some(late) = &self.late {
            late.record(stream, event);
        }
        Ok(())
    }

    fn wait(&self, stream: Stream, event: &Event) -> Result<(), Error> {
        if let Some(late) = &self.late {
            late.wait(stream, event);
        }
        Ok(())
    }

    fn synchronize(&self, event: &Event) -> Result<(), Error> {
        self.late.as_ref().map_or(Ok(()), |late| late.synchronize(event))
    }

    fn finish(&self) -> Result<(), Error> {
        self.late.as_ref().map_or(Ok(()), Late::finish)?;
        let mut messages = self.ledger.damage.lock().unwrap().clone();
        for (address, bytes) in self.ledger.live.lock().unwrap().iter() {
            // SAFETY: memory in the ledger is alive, with its guards, and streams are done.
            messages.extend(unsafe { damage(*address, *bytes) });
        }
        match messages.is_empty() {
            true => Ok(()),
            false => Err(Error::setup(messages.join("; "))),
        }
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Vec<Work>, Error> {
        let before = self.recording.lock().unwrap().replace(Vec::new());
        let done = match before {
            Some(_) => Err(Error::setup("record inside record: end the first one before")),
            None => work(),
        };
        let recorded = self.recording.lock().unwrap().take();
        done.map(|()| recorded.unwrap_or_default())
    }

    fn launch_graph(&self, graph: &Vec<Work>) -> Result<(), Error> {
        self.replays.fetch_add(1, Ordering::Relaxed);
        graph
            .iter()
            .try_for_each(|work| self.submit(Stream::Main, work.clone()))
    }

    fn boxes(&self, _: &Boxes) -> Result<[u64; 16], Error> {
        Ok([0; 16])
    }

    fn export_ipc(&self, memory: &Lump) -> Result<Vec<u8>, Error> {
        let words = [memory.address(), memory.bytes() as u64];
        Ok(words.iter().flat_map(|w| w.to_le_bytes()).collect())
    }

    fn import_ipc(&self, words: &[u8]) -> Option<Box<dyn Memory>> {
        let (address, bytes) = words.split_at_checked(8).filter(|_| self.opens_memory)?;
        let [address, bytes] = [address, bytes].map(|w| w.try_into().ok().map(u64::from_le_bytes));
        let borrowed = Borrowed {
            address: address?,
            bytes: bytes? as usize,
            ledger: self.ledger.clone(),
        };
        let mut all = self.ledger.borrowed.lock().unwrap();
        all.insert(borrowed.address, borrowed.bytes);
        Some(Box::new(borrowed))
    }

    unsafe fn signal(&self, stream: Stream, to: u64, number: u64) -> Result<(), Error> {
        self.ledger.check(to, size_of::<u64>())?;
        self.submit(
            stream,
            Arc::new(move || {
                word(to).store(number, Ordering::Release);
                Ok(())
            }),
        )
    }

    unsafe fn await_signal(&self, stream: Stream, at: u64, number: u64) -> Result<(), Error> {
        self.ledger.check(at, size_of::<u64>())?;
        match &self.late {
            Some(late) => {
                late.await_signal(stream, at, number);
                Ok(())
            }
            None => patiently(|| (word(at).load(Ordering::Acquire) >= number).then_some(Ok(()))),
        }
    }

    fn enable_peer_access(&self, _: &Self) -> Result<bool, Error> {
        Ok(true)
    }
}
