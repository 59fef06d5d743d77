//! Waves on a subdomain of a graph, on processors and on devices: two time levels of its nodes.

use crate::graph::Part;
use kernels::Error;
use kernels::device::accelerator::{Accelerator, Memory, Pinned, Source, Stream, argument, send, walk};
use kernels::parallel::device_halo::{DeviceHalo, DeviceNetwork};
use kernels::parallel::group::Subdomain;
use kernels::parallel::halo::{HostHalo, HostNetwork, Link, Linked, OrderedSum};
use kernels::time_loop::state::{State, StateArray};
use kernels::time_loop::{Direction, Sampler, Stepper};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Square of the time step.
const DT2: f32 = 0.04;

/// Where the fields of a subdomain lie, and how they are computed.
pub trait Fields: Sized {
    /// How halos of such fields travel.
    type Network;
    fn contributions(&mut self, part: &Part, of: Range<usize>, is_boundary: bool) -> Result<(), Error>;
    fn advance(&mut self, part: &Part, source: (i32, f32)) -> Result<(), Error>;
    /// A time level, 0 the current one, on the host.
    fn level(&self, level: usize) -> Result<Vec<f32>, Error>;
    fn set_level(&mut self, level: usize, numbers: &[f32]) -> Result<(), Error>;
    fn swap(&mut self);
}

/// One subdomain.
pub struct Waves<F> {
    pub part: Part,
    pub fields: F,
    /// Global nodes of the graph, of the source and of the receivers.
    pub nodes: usize,
    pub source: usize,
    pub receivers: Vec<usize>,
    pub direction: Direction,
    pub pieces: VecDeque<Vec<f32>>,
}

impl<F: Fields> Stepper for Waves<F> {
    type Number = f32;

    fn stages(&self) -> usize {
        1
    }

    fn has_neighbours(&self) -> bool {
        !self.part.links.is_empty()
    }

    fn update(&mut self, _: usize, part: kernels::time_loop::Part, _: usize) -> Result<(), Error> {
        let (shared, all) = (self.part.shared, self.part.contributions.len());
        match part {
            kernels::time_loop::Part::Boundary => self.fields.contributions(&self.part, 0..shared, true),
            kernels::time_loop::Part::Interior => self.fields.contributions(&self.part, shared..all, false),
        }
    }

    fn finish_step(&mut self) -> Result<(), Error> {
        let here = self.part.nodes.binary_search(&self.source);
        let source = here.map_or((-1, 0.0), |node| (node as i32, 0.25));
        self.fields.advance(&self.part, source)
    }

    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        if direction != self.direction {
            self.direction = direction;
            self.fields.swap();
        }
        Ok(())
    }
}

impl<F: Fields> Sampler for Waves<F> {
    fn capacity(&self) -> usize {
        1
    }

    fn sample(&mut self, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn traces(&mut self, out: &mut [f32]) -> Result<(), Error> {
        let level = self.fields.level(0)?;
        for (out, node) in out.iter_mut().zip(&self.receivers) {
            if self.part.owned.contains(node) {
                *out = level[self.part.local(*node)];
            }
        }
        Ok(())
    }

    fn snapshot_share(&self) -> Vec<Range<usize>> {
        Part::ranges(&self.part.owned)
    }

    fn pieces(&self) -> usize {
        usize::from(!self.part.owned.is_empty())
    }

    fn request_piece(&mut self, _: usize, _: usize) -> Result<(), Error> {
        let level = self.fields.level(0)?;
        let numbers = self.part.owned.iter().map(|&node| level[self.part.local(node)]);
        self.pieces.push_back(numbers.collect());
        Ok(())
    }

    fn take_piece(&mut self, out: &mut Vec<f32>) -> Result<(), Error> {
        out.extend(self.pieces.pop_front().expect("a piece was requested"));
        Ok(())
    }

    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        let level = self.fields.level(0)?;
        let bad = level.iter().position(|x| !x.is_finite());
        Ok(bad.map(|node| self.part.nodes[node]))
    }
}

impl<F: Fields> Linked for Waves<F> {
    fn number(&self) -> usize {
        self.part.number
    }

    fn links(&self) -> &[Link] {
        &self.part.links
    }

    fn sums(&self, _: usize) -> Option<&OrderedSum> {
        Some(&self.part.sums)
    }
}

impl<F: Fields> State for Waves<F> {
    fn arrays(&self) -> Vec<StateArray> {
        ["now", "before"]
            .map(|name| StateArray::of::<f32>(name, self.nodes, 1))
            .into()
    }

    fn owned(&self, _: usize) -> Vec<Range<usize>> {
        Part::ranges(&self.part.owned)
    }

    fn needed(&self, _: usize) -> Vec<Range<usize>> {
        Part::ranges(&self.part.nodes)
    }

    fn save(&mut self, array: usize, blocks: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let (level, first) = (self.fields.level(array)?, self.part.local(blocks.start));
        out.copy_from_slice(bytemuck::cast_slice(&level[first..first + blocks.len()]));
        Ok(())
    }

    fn load(&mut self, array: usize, blocks: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let (mut level, first) = (self.fields.level(array)?, self.part.local(blocks.start));
        bytemuck::cast_slice_mut(&mut level[first..first + blocks.len()]).copy_from_slice(bytes);
        self.fields.set_level(array, &level)
    }
}

impl<F: Fields> Subdomain for Waves<F>
where
    F::Network: kernels::parallel::halo::Network<Self>,
{
    type Network = F::Network;

    fn receivers(&self) -> Vec<usize> {
        let mine = |k: &usize| self.part.owned.contains(&self.receivers[*k]);
        (0..self.receivers.len()).filter(mine).collect()
    }

    fn owns(&self, place: usize) -> bool {
        self.part.nodes.contains(&place)
    }

    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        Ok((format!("node {place}"), "springs".into()))
    }
}

/// Fields of a subdomain in the memory of this process.
pub struct OnHost {
    memory: Vec<f32>,
    levels: [Vec<f32>; 2],
}

impl OnHost {
    pub fn new(part: &Part) -> Self {
        let level = || vec![0.0; part.nodes.len()];
        Self {
            memory: vec![0.0; part.numbers],
            levels: [level(), level()],
        }
    }
}

impl Fields for OnHost {
    type Network = HostNetwork<f32>;

    fn contributions(&mut self, part: &Part, of: Range<usize>, _: bool) -> Result<(), Error> {
        let (u, first) = (&self.levels[0], part.nodes.len());
        for (c, k) in part.contributions[of.clone()].iter().zip(of) {
            self.memory[first + k] = c.stiffness * (u[c.other as usize] - u[c.node as usize]);
        }
        Ok(())
    }

    fn advance(&mut self, _: &Part, (source, strength): (i32, f32)) -> Result<(), Error> {
        let [now, before] = &mut self.levels;
        for (k, before) in before.iter_mut().enumerate() {
            let force = if k as i32 == source {
                self.memory[k] + strength
            } else {
                self.memory[k]
            };
            let twice = now[k] + now[k];
            *before = (twice - *before) + DT2 * force;
        }
        self.levels.swap(0, 1);
        Ok(())
    }

    fn level(&self, level: usize) -> Result<Vec<f32>, Error> {
        Ok(self.levels[level].clone())
    }

    fn set_level(&mut self, level: usize, numbers: &[f32]) -> Result<(), Error> {
        self.levels[level].copy_from_slice(numbers);
        Ok(())
    }

    fn swap(&mut self) {
        self.levels.swap(0, 1);
    }
}

impl HostHalo for Waves<OnHost> {
    fn exchanged(&mut self, _: usize) -> &mut [f32] {
        &mut self.fields.memory
    }
}

/// Fields of a subdomain on a device.
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

const TEXT: &str = include_str!("waves.cu");

#[repr(C)]
struct Args {
    memory: u64,
    table: u64,
    now: u64,
    before: u64,
    first: i32,
    end: i32,
    nodes: i32,
    source: i32,
    strength: f32,
    dt2: f32,
}

impl<A: Accelerator> OnDevice<A> {
    pub fn new(part: &Part, device: Arc<A>) -> Result<Self, Error> {
        let source = Source {
            name: "waves.cu".into(),
            text: kernels::parallel::ordered_sum::prelude(false) + TEXT,
        };
        let level = vec![0f32; part.nodes.len()];
        Ok(Self {
            kernels: device.load(&source, &["contribute", "advance"])?,
            table: send(&*device, &part.contributions)?,
            memory: send(&*device, &vec![0f32; part.numbers])?,
            levels: [send(&*device, &level)?, send(&*device, &level)?],
            computed: device.event()?,
            advanced: device.event()?,
            summed: device.event()?,
            device,
        })
    }

    fn launch(
        &self,
        stream: Stream,
        kernel: usize,
        part: &Part,
        range: Range<usize>,
        source: (i32, f32),
    ) -> Result<(), Error> {
        let args = Args {
            memory: self.memory.address(),
            table: self.table.address(),
            now: self.levels[0].address(),
            before: self.levels[1].address(),
            first: range.start as i32,
            end: range.end as i32,
            nodes: part.nodes.len() as i32,
            source: source.0,
            strength: source.1,
            dt2: DT2,
        };
        // SAFETY: the structure of the kernels, whose numbers lie in this subdomain's memory.
        unsafe {
            self.device.launch(
                stream,
                &self.kernels[kernel],
                walk(range.len().max(1)),
                &argument(&args),
            )
        }
    }
}

impl<A: Accelerator> Fields for OnDevice<A> {
    type Network = DeviceNetwork<A>;

    fn contributions(&mut self, part: &Part, of: Range<usize>, is_boundary: bool) -> Result<(), Error> {
        if is_boundary {
            self.device.wait(Stream::Edges, &self.advanced)?;
            return self.launch(Stream::Edges, 0, part, of, (-1, 0.0));
        }
        self.launch(Stream::Main, 0, part, of, (-1, 0.0))?;
        // The sums stand in the boundary stream.
        self.device.record(Stream::Main, &self.computed)?;
        self.device.wait(Stream::Edges, &self.computed)
    }

    fn advance(&mut self, part: &Part, source: (i32, f32)) -> Result<(), Error> {
        self.launch(Stream::Main, 1, part, 0..part.nodes.len(), source)?;
        self.levels.swap(0, 1);
        self.device.record(Stream::Main, &self.advanced)
    }

    fn level(&self, level: usize) -> Result<Vec<f32>, Error> {
        let memory = &self.levels[level];
        let mut host = self.device.pin(memory.bytes())?;
        // SAFETY: the whole level; the copy is waited for.
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

    fn swap(&mut self) {
        self.levels.swap(0, 1);
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
