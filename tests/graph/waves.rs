//! Waves on a subdomain of a graph, on processors, with two time levels of its nodes.

use crate::graph::Part;
use kernels::Error;
use kernels::parallel::group::Subdomain;
use kernels::parallel::halo::{HostHalo, HostNetwork, Link, Linked, Network, OrderedSum};
use kernels::time_loop::state::{State, StateArray};
use kernels::time_loop::{self, Direction, Sampler, Stepper};
use std::collections::VecDeque;
use std::ops::Range;

/// Square of the time step.
pub const DT2: f32 = 0.04;
/// The node on which a force acts, and the force.
pub const SOURCE: (usize, f32) = (45, 0.25);

/// Where the fields of a subdomain are stored, and how they are computed.
pub trait Fields: Sized {
    /// How the halos of such fields are exchanged.
    type Network;
    fn contribute(&mut self, part: &Part, of: Range<usize>, is_boundary: bool) -> Result<(), Error>;
    fn advance(&mut self, part: &Part) -> Result<(), Error>;
    /// A time level, 0 for the current one, in host memory.
    fn level(&self, level: usize) -> Result<Vec<f32>, Error>;
    fn set_level(&mut self, level: usize, numbers: &[f32]) -> Result<(), Error>;
}

/// A subdomain with its fields.
pub struct Waves<F> {
    pub part: Part,
    pub fields: F,
    /// Number of nodes of the graph, and the nodes that are recorded.
    pub nodes: usize,
    pub receivers: Vec<usize>,
    pub direction: Direction,
    /// Snapshots that were requested.
    pub pieces: VecDeque<Vec<f32>>,
    /// Number of records that were made before the run continues.
    pub before: usize,
    /// An error that is reported at the end of the run.
    pub fault: Option<&'static str>,
}

fn one_by_one(nodes: &[usize]) -> Vec<Range<usize>> {
    nodes.iter().map(|&node| node..node + 1).collect()
}

impl<F: Fields> Stepper for Waves<F> {
    type Number = f32;
    fn stages(&self) -> usize {
        self.part.stage + 1
    }
    fn has_neighbours(&self) -> bool {
        !self.part.links.is_empty()
    }
    fn update(&mut self, stage: usize, part: time_loop::Part, _: usize) -> Result<(), Error> {
        let (shared, all) = (self.part.shared, self.part.contributions.len());
        match part {
            _ if stage != self.part.stage => Ok(()),
            time_loop::Part::Boundary => self.fields.contribute(&self.part, 0..shared, true),
            time_loop::Part::Interior => self.fields.contribute(&self.part, shared..all, false),
        }
    }
    fn finish_step(&mut self) -> Result<(), Error> {
        self.fields.advance(&self.part)
    }
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        if std::mem::replace(&mut self.direction, direction) != direction {
            let [now, before] = [self.fields.level(0)?, self.fields.level(1)?];
            self.fields.set_level(0, &before)?;
            self.fields.set_level(1, &now)?;
        }
        Ok(())
    }
}

impl<F: Fields> Sampler for Waves<F> {
    fn traces(&mut self, out: &mut [f32]) -> Result<(), Error> {
        let level = self.fields.level(0)?;
        for k in self.mine() {
            out[k] = level[self.part.local(self.receivers[k]).expect("an own node")];
        }
        Ok(())
    }
    fn snapshot_share(&self) -> Vec<Range<usize>> {
        one_by_one(&self.part.owned)
    }
    fn pieces(&self) -> usize {
        1
    }
    fn request_piece(&mut self, _: usize, _: usize) -> Result<(), Error> {
        let level = self.fields.level(0)?;
        let owned = self.part.owned.iter().filter_map(|&node| self.part.local(node));
        self.pieces.push_back(owned.map(|here| level[here]).collect());
        Ok(())
    }
    fn take_piece(&mut self, out: &mut Vec<f32>) -> Result<(), Error> {
        out.extend(self.pieces.pop_front().expect("a piece was requested"));
        Ok(())
    }
    fn first_non_finite(&mut self) -> Result<Option<usize>, Error> {
        let bad = self.fields.level(0)?.iter().position(|x| !x.is_finite());
        Ok(bad.map(|here| self.part.nodes[here]))
    }
}

impl<F: Fields> Linked for Waves<F> {
    fn number(&self) -> usize {
        self.part.number
    }
    fn links(&self) -> &[Link] {
        &self.part.links
    }
    fn sums(&self, stage: usize) -> Option<&OrderedSum> {
        (stage == self.part.stage).then_some(&self.part.sums)
    }
}

impl<F: Fields> State for Waves<F> {
    fn arrays(&self) -> Vec<StateArray> {
        ["now", "before"]
            .map(|name| StateArray::of::<f32>(name, self.nodes, 1))
            .into()
    }
    fn owned(&self, _: usize) -> Vec<Range<usize>> {
        one_by_one(&self.part.owned)
    }
    fn needed(&self, _: usize) -> Vec<Range<usize>> {
        one_by_one(&self.part.nodes)
    }
    fn save(&mut self, array: usize, block: Range<usize>, out: &mut [u8]) -> Result<(), Error> {
        let here = self.part.local(block.start).expect("an own node");
        out.copy_from_slice(&self.fields.level(array)?[here].to_ne_bytes());
        Ok(())
    }
    fn load(&mut self, array: usize, block: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let mut level = self.fields.level(array)?;
        level[self.part.local(block.start).expect("an own node")] = bytemuck::pod_read_unaligned(bytes);
        self.fields.set_level(array, &level)
    }
}

impl<F: Fields<Network: Network<Self>>> Subdomain for Waves<F> {
    type Network = F::Network;
    fn receivers(&self) -> Vec<usize> {
        self.mine().collect()
    }
    fn owns(&self, place: usize) -> bool {
        self.part.local(place).is_some()
    }
    fn describe(&self, place: usize) -> Result<(String, String), Error> {
        Ok((format!("node {place}"), "springs".into()))
    }
    fn rewind(&mut self, records: usize) {
        self.before = records;
    }
    fn synchronize(&self) -> Result<(), Error> {
        self.fault.map_or(Ok(()), |fault| Err(Error::setup(fault)))
    }
}

impl<F> Waves<F> {
    /// The receivers whose nodes this subdomain owns.
    fn mine(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.receivers.len()).filter(|&k| self.part.owned.contains(&self.receivers[k]))
    }
}

/// Fields in the memory of this process.
pub struct OnHost {
    memory: Vec<f32>,
    levels: [Vec<f32>; 2],
}

impl OnHost {
    pub fn new(part: &Part) -> Self {
        let level = vec![0.0; part.nodes.len()];
        Self {
            memory: vec![0.0; part.numbers()],
            levels: [level.clone(), level],
        }
    }
}

impl Fields for OnHost {
    type Network = HostNetwork<f32>;
    fn contribute(&mut self, part: &Part, of: Range<usize>, _: bool) -> Result<(), Error> {
        let u = &self.levels[0];
        for c in &part.contributions[of] {
            self.memory[c.place as usize] = c.stiffness * (u[c.other as usize] - u[c.node as usize]);
        }
        Ok(())
    }
    fn advance(&mut self, part: &Part) -> Result<(), Error> {
        if let Some(here) = part.local(SOURCE.0) {
            self.memory[here] += SOURCE.1;
        }
        let [now, before] = &mut self.levels;
        for ((before, now), force) in before.iter_mut().zip(&*now).zip(&self.memory) {
            *before = DT2 * force + ((now + now) - *before);
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
}

impl HostHalo for Waves<OnHost> {
    fn exchanged(&mut self, _: usize) -> &mut [f32] {
        &mut self.fields.memory
    }
}
