//! The waves of `waves.rs` on devices: fields in their memory, kernels in their streams.

use crate::graph::Part;
use crate::waves::{DT2, Fields, SOURCE, Waves};
use kernels::Error;
use kernels::device::accelerator::{Accelerator, Memory, Pinned, Source, Stream, argument, send, walk};
use kernels::parallel::device_halo::{DeviceHalo, DeviceNetwork};
use std::ops::Range;
use std::sync::Arc;

/// Fields on a device.
pub struct OnDevice<A: Accelerator> {
    device: Arc<A>,
    kernels: Vec<A::Kernel>,
    table: A::Memory,
    memory: A::Memory,
    levels: [A::Memory; 2],
    computed: A::Event,
    advanced: A::Event,
    summed: A::Event,
}

/// `struct Waves` of waves.cu.
#[repr(C)]
struct Args {
    arrays: [u64; 4],
    first: i32,
    end: i32,
    source: i32,
    strength: f32,
    dt2: f32,
}

impl<A: Accelerator> OnDevice<A> {
    pub fn new(part: &Part, device: Arc<A>) -> Result<Self, Error> {
        let name = "waves.cu".into();
        let text = kernels::parallel::ordered_sum::prelude(false) + include_str!("waves.cu");
        let level = || send(&*device, &vec![0f32; part.nodes.len()]);
        Ok(Self {
            kernels: device.load(&Source { name, text }, &["contribute", "advance"])?,
            table: send(&*device, &part.contributions)?,
            memory: send(&*device, &vec![0f32; part.numbers()])?,
            levels: [level()?, level()?],
            computed: device.event()?,
            advanced: device.event()?,
            summed: device.event()?,
            device,
        })
    }

    fn launch(&self, stream: Stream, kernel: usize, part: &Part, of: Range<usize>) -> Result<(), Error> {
        let args = Args {
            arrays: [&self.memory, &self.table, &self.levels[0], &self.levels[1]].map(Memory::address),
            first: of.start as i32,
            end: of.end as i32,
            source: part.local(SOURCE.0).map_or(-1, |here| here as i32),
            strength: SOURCE.1,
            dt2: DT2,
        };
        let (kernel, threads) = (&self.kernels[kernel], walk(of.len().max(1)));
        // SAFETY: this is the structure that the kernels take, and its numbers are in this subdomain's memory.
        unsafe { self.device.launch(stream, kernel, threads, &argument(&args)) }
    }
}

/// `struct Sums` of ordered_sum.cu.
#[repr(C)]
struct Sums {
    memory: u64,
    tables: [u64; 3],
    count: i64,
}

/// The numbers after the kernel of ordered sums; `tables` are the positions of the sums, the first term of each, and
/// the positions of the terms.
pub fn summed<A: Accelerator>(device: &A, numbers: &[f32], tables: [&[i32]; 3]) -> Result<Vec<f32>, Error> {
    let kernels = device.load(&kernels::parallel::ordered_sum::source(false), &["ordered_sum"])?;
    let (memory, kept) = (send(device, numbers)?, tables.map(|table| send(device, table)));
    let [targets, starts, terms] = kept;
    let (targets, starts, terms) = (targets?, starts?, terms?);
    let args = Sums {
        memory: memory.address(),
        tables: [&targets, &starts, &terms].map(Memory::address),
        count: tables[0].len() as i64,
    };
    let mut host = device.pin(memory.bytes())?;
    // SAFETY: this is the structure that the kernel takes, its positions are inside the memory, and the copy is
    // awaited.
    unsafe {
        device.launch(Stream::Main, &kernels[0], walk(tables[0].len()), &argument(&args))?;
        device.download(Stream::Main, memory.address(), &mut host, 0, memory.bytes())?;
    }
    device.finish()?;
    Ok(bytemuck::cast_slice(&host.bytes()[..memory.bytes()]).to_vec())
}

impl<A: Accelerator> Fields for OnDevice<A> {
    type Network = DeviceNetwork<A>;
    fn contribute(&mut self, part: &Part, of: Range<usize>, is_boundary: bool) -> Result<(), Error> {
        if is_boundary {
            self.device.wait(Stream::Edges, &self.advanced)?;
            return self.launch(Stream::Edges, 0, part, of);
        }
        self.launch(Stream::Main, 0, part, of)?;
        // The sums are in the boundary stream.
        self.device.record(Stream::Main, &self.computed)?;
        self.device.wait(Stream::Edges, &self.computed)
    }
    fn advance(&mut self, part: &Part) -> Result<(), Error> {
        self.launch(Stream::Main, 1, part, 0..part.nodes.len())?;
        self.levels.swap(0, 1);
        self.device.record(Stream::Main, &self.advanced)
    }
    fn level(&self, level: usize) -> Result<Vec<f32>, Error> {
        let memory = &self.levels[level];
        let mut host = self.device.pin(memory.bytes())?;
        // SAFETY: the whole level is read, and the copy is awaited.
        unsafe {
            self.device
                .download(Stream::Main, memory.address(), &mut host, 0, memory.bytes())?
        };
        self.device.finish()?;
        Ok(bytemuck::cast_slice(&host.bytes()[..memory.bytes()]).to_vec())
    }
    fn set_level(&mut self, level: usize, numbers: &[f32]) -> Result<(), Error> {
        self.levels[level] = send(&*self.device, numbers)?;
        Ok(())
    }
}

impl<A: Accelerator> DeviceHalo for Waves<OnDevice<A>> {
    type Device = A;
    fn device(&self) -> &Arc<A> {
        &self.fields.device
    }
    fn exchanged(&self, _: usize) -> u64 {
        self.fields.memory.address()
    }
    fn released(&self) -> &A::Event {
        &self.fields.summed
    }
    fn received(&mut self, _: usize) -> Result<(), Error> {
        self.fields.device.record(Stream::Edges, &self.fields.summed)?;
        self.fields.device.wait(Stream::Main, &self.fields.summed)
    }
}
