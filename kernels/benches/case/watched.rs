//! A GPU that measures the time of its kernels.

use kernels::Error;
use kernels::device::accelerator::{Accelerator, Boxes, Dims, Memory, Properties, Source as Text, Stream};
use kernels::device::cuda::Cuda;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A device that records when its kernels were done. With `apart` it waits for each kernel, and adds up the times by
/// kernel.
pub struct Watched {
    pub device: Cuda,
    apart: bool,
    taken: Mutex<BTreeMap<String, (usize, f64)>>,
    done: Mutex<Done>,
}

/// Times of the kernels of a run.
#[derive(Default)]
struct Done {
    /// Whether kernels were launched since `last` was set.
    waiting: bool,
    /// Launch of the first kernel.
    first: Option<Instant>,
    /// End of all kernels launched before the last download.
    last: Option<Instant>,
}

/// The name of a kernel, and the kernel.
pub type Kernel = (String, <Cuda as Accelerator>::Kernel);

impl Accelerator for Watched {
    type Memory = <Cuda as Accelerator>::Memory;
    type Pinned = <Cuda as Accelerator>::Pinned;
    type Kernel = Kernel;
    type Event = <Cuda as Accelerator>::Event;
    type Graph = <Cuda as Accelerator>::Graph;

    fn properties(&self) -> &Properties {
        self.device.properties()
    }
    fn free_bytes(&self) -> Result<usize, Error> {
        self.device.free_bytes()
    }
    fn load(&self, source: &Text, kernels: &[&str]) -> Result<Vec<Kernel>, Error> {
        let names = kernels.iter().map(|name| name.to_string());
        Ok(names.zip(self.device.load(source, kernels)?).collect())
    }
    fn resident_blocks(&self, kernel: &Kernel, threads: usize, shared: usize) -> Result<usize, Error> {
        self.device.resident_blocks(&kernel.1, threads, shared)
    }
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error> {
        self.device.allocate(bytes)
    }
    fn reserve(&self, bytes: usize) -> Result<Self::Memory, Error> {
        let begun = Instant::now();
        let memory = self.device.reserve(bytes);
        self.add("(memory taken)", begun);
        memory
    }
    fn clear(&self, memory: &Self::Memory) -> Result<(), Error> {
        self.device.clear(memory)
    }
    fn pin(&self, bytes: usize) -> Result<Self::Pinned, Error> {
        self.device.pin(bytes)
    }
    unsafe fn upload(
        &self,
        stream: Stream,
        from: &Self::Pinned,
        offset: usize,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.upload(stream, from, offset, to, bytes) }
    }
    unsafe fn download(
        &self,
        stream: Stream,
        from: u64,
        to: &mut Self::Pinned,
        offset: usize,
        bytes: usize,
    ) -> Result<(), Error> {
        let mut done = self.done.lock().expect("nobody panics with it");
        if std::mem::take(&mut done.waiting) {
            self.device.finish()?;
            done.last = Some(Instant::now());
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.download(stream, from, to, offset, bytes) }
    }
    unsafe fn copy_to(
        &self,
        stream: Stream,
        from: u64,
        peer: &Self,
        to: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.copy_to(stream, from, &peer.device, to, bytes) }
    }
    unsafe fn launch(
        &self,
        stream: Stream,
        (name, kernel): &Kernel,
        dims: Dims,
        args: &[*const c_void],
    ) -> Result<(), Error> {
        let mut done = self.done.lock().expect("nobody panics with it");
        done.waiting = true;
        done.first.get_or_insert_with(Instant::now);
        drop(done);
        if !self.apart {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.device.launch(stream, kernel, dims, args) };
        }
        self.device.finish()?;
        let begun = Instant::now();
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.launch(stream, kernel, dims, args)? };
        self.device.finish()?;
        self.add(name, begun);
        Ok(())
    }
    fn event(&self) -> Result<Self::Event, Error> {
        self.device.event()
    }
    fn record(&self, stream: Stream, event: &Self::Event) -> Result<(), Error> {
        self.device.record(stream, event)
    }
    fn wait(&self, stream: Stream, event: &Self::Event) -> Result<(), Error> {
        self.device.wait(stream, event)
    }
    fn synchronize(&self, event: &Self::Event) -> Result<(), Error> {
        self.device.synchronize(event)
    }
    fn finish(&self) -> Result<(), Error> {
        self.device.finish()
    }
    fn capture(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Self::Graph, Error> {
        self.device.capture(work)
    }
    fn launch_graph(&self, graph: &Self::Graph) -> Result<(), Error> {
        self.device.launch_graph(graph)
    }
    fn boxes(&self, boxes: &Boxes) -> Result<[u64; 16], Error> {
        self.device.boxes(boxes)
    }
    fn export_ipc(&self, memory: &Self::Memory) -> Result<Vec<u8>, Error> {
        self.device.export_ipc(memory)
    }
    fn import_ipc(&self, words: &[u8]) -> Option<Box<dyn Memory>> {
        self.device.import_ipc(words)
    }
    unsafe fn signal(&self, stream: Stream, to: u64, number: u64) -> Result<(), Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.signal(stream, to, number) }
    }
    unsafe fn await_signal(&self, stream: Stream, at: u64, number: u64) -> Result<(), Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.await_signal(stream, at, number) }
    }
    fn enable_peer_access(&self, peer: &Self) -> Result<bool, Error> {
        self.device.enable_peer_access(&peer.device)
    }
}

impl Watched {
    /// Wraps a device; `apart` measures each kernel separately.
    pub fn new(device: Cuda, apart: bool) -> Self {
        Self {
            device,
            apart,
            taken: Mutex::default(),
            done: Mutex::default(),
        }
    }

    fn add(&self, name: &str, begun: Instant) {
        let mut taken = self.taken.lock().expect("nobody panics with it");
        let (calls, seconds) = taken.entry(name.to_string()).or_default();
        *calls += 1;
        *seconds += begun.elapsed().as_secs_f64();
    }

    /// Makes the next kernel count as the first of a run.
    pub fn begin(&self) {
        self.done.lock().expect("nobody panics with it").first = None;
    }

    /// Seconds from the launch of the first kernel of a run to the end of the last one.
    pub fn seconds(&self) -> f64 {
        let done = self.done.lock().expect("nobody panics with it");
        match (done.first, done.last) {
            (Some(first), Some(last)) => last.duration_since(first).as_secs_f64(),
            _ => 0.0,
        }
    }

    /// Prints the times by kernel, and resets them.
    fn print_times(&self, cells: f64) {
        let taken = std::mem::take(&mut *self.taken.lock().expect("nobody panics with it"));
        let mut all: Vec<_> = taken.into_iter().collect();
        all.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        for (name, (calls, seconds)) in all {
            let each = seconds / calls as f64;
            println!(
                "  {name:<24} {calls:>5} calls, {:>8.1} us each, {:>7.2} ps a cell, {:>8.1} ms in all",
                each * 1e6,
                each / cells * 1e12,
                seconds * 1e3
            );
        }
    }
}

/// Prints the times by kernel of each device, and resets them.
pub fn print_times(devices: &[Arc<Watched>], cells: f64) {
    for (number, device) in devices.iter().enumerate() {
        if devices.len() > 1 && device.apart {
            println!("GPU {number}:");
        }
        device.print_times(cells / devices.len() as f64);
    }
}
