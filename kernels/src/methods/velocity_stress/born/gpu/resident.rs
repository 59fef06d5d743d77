//! The data that no step changes, in the memory of a device: coefficients, layers, attenuation, the surface.

use super::super::program::{Discrete, places};
use super::arguments::{Args, GridArgs, LayerArgs, SurfaceArgs, int};
use super::slab::LocalProgram;
use super::transfer::Transfer;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::methods::velocity_stress::rows::NONE;

/// The place of the coupling, shared by all couplings of an isotropic medium.
const COUPLING: [usize; 1] = [3];

/// Sends arrays of a run to a device.
struct Sender<'a, A: Accelerator> {
    a: &'a A,
    transfer: &'a mut Transfer<A>,
    memory: Vec<A::Memory>,
}

impl<A: Accelerator> Sender<'_, A> {
    /// Sends an array and returns its address.
    fn send(&mut self, numbers: &[f32]) -> Result<u64, Error> {
        let memory = self.a.allocate(size_of_val(numbers).max(1))?;
        self.transfer.put(self.a, numbers, memory.address())?;
        let address = memory.address();
        self.memory.push(memory);
        Ok(address)
    }
}

/// The stiffnesses of a program that are sent to a device unchanged, both unrelaxed and relaxing: for an isotropic
/// medium only the coupling, since its shear stiffness is sent on the nodes, otherwise the stiffnesses of all places.
fn stiffnesses(program: &Discrete<f32>) -> [Vec<&[f32]>; 2] {
    let sent = match program.nodes.isotropic() {
        true => &COUPLING,
        false => places(program.ndim()),
    };
    let relaxing = program.setup.relaxation.iter();
    [
        sent.iter().map(|&k| program.setup.medium.stiffness(k)).collect(),
        relaxing
            .flat_map(|r| sent.iter().map(|&k| r.stiffness(k)))
            .collect(),
    ]
}

/// Bytes of the coefficients: density, stiffness and relaxing stiffness.
pub fn bytes(slab: LocalProgram<'_, f32>) -> usize {
    let parts = stiffnesses(slab.program);
    let stiff = parts.iter().filter(|part| !part.is_empty());
    let shears = usize::from(slab.program.nodes.isotropic());
    let arrays: usize = 1 + stiff.map(|part| part.len() + shears).sum::<usize>();
    arrays * slab.len() * size_of::<f32>()
}

/// Rows of the memory variables of layers across z begin at multiples of this number, 64 bytes, the unit of memory
/// accesses.
const PIECE: usize = 16;

/// The layers across an axis, without their factors.
fn layer(slab: LocalProgram<'_, f32>, axis: usize) -> LayerArgs {
    let Some((_, number)) = slab.program.layers.lines(axis) else {
        return LayerArgs::NONE;
    };
    let live = slab.live()[axis].clone();
    let first = if axis == 2 { slab.planes.memory.start } else { 0 };
    let framed = |line: &usize| number[first + *line] != NONE;
    let low = live.start + live.clone().take_while(framed).count();
    let high = low + (low..live.end).take_while(|line| !framed(line)).count();
    let whole = |lines: usize| lines.next_multiple_of(if axis == 0 { PIECE } else { 1 });
    let beyond = whole(low - live.start);
    let count = beyond + whole(live.end - high);
    let padded = &slab.program.rows.padded;
    let lines = [slab.rows(), slab.count() * padded.pitch(), padded.plane_len()];
    LayerArgs {
        component: (count * lines[axis]) as i64,
        first: int(live.start),
        low: int(low),
        high: int(high),
        end: int(live.end),
        beyond: int(beyond),
        count: int(count),
        ..LayerArgs::NONE
    }
}

/// Memory variables per component in the layers across an axis.
pub fn component(slab: LocalProgram<'_, f32>, axis: usize) -> usize {
    layer(slab, axis).component as usize
}

/// Copies the part of a program that belongs to a device to that device; the returned memory must outlive the arguments.
pub fn send<A: Accelerator>(
    a: &A,
    slab: LocalProgram<'_, f32>,
    transfer: &mut Transfer<A>,
) -> Result<(Args, Vec<A::Memory>), Error> {
    let program = slab.program;
    let mut to = Sender {
        a,
        transfer,
        memory: Vec::new(),
    };
    let mut grid = GridArgs::new(slab);
    let (on, planes) = ((&program.rows, &*program.setup.cpu), &slab.planes.memory);
    grid.density = to.send(&program.nodes.density(on, planes, program.setup.dt))?;
    let both = [&mut grid.stiffness, &mut grid.relaxing];
    for (part, (addresses, arrays)) in both.into_iter().zip(stiffnesses(program)).enumerate() {
        for (address, array) in addresses.iter_mut().zip(&arrays) {
            *address = to.send(slab.field(array))?;
        }
        if program.nodes.isotropic() && !arrays.is_empty() {
            addresses[1] = to.send(&program.nodes.shear(part, on, planes, program.setup.dt))?;
        }
    }
    if let Some(sponge) = program.setup.edges.weights() {
        let [z, rows, planes] = sponge;
        for (address, weights) in grid.sponge.iter_mut().zip([z, rows, slab.part(planes, 1)]) {
            *address = to.send(weights)?;
        }
    }
    for axis in 0..3 {
        if let Some((factors, _)) = program.layers.lines(axis) {
            grid.layers[axis] = layer(slab, axis);
            let of_lines = |factors: &'_ [f32]| match axis {
                2 => slab.part(factors, 1).to_vec(),
                _ => factors.to_vec(),
            };
            let all = factors.iter().flat_map(|f| [&f.inverse_kappa, &f.a, &f.b]);
            let all: Vec<f32> = all.flat_map(|factors| of_lines(factors)).collect();
            // Two sets of three factors; along z they are padded like rows.
            grid.layers[axis].lines = int(all.len() / 6);
            grid.layers[axis].factors = to.send(&all)?;
        }
    }
    grid.patterns = to.send(&patterns(program))?;
    let mut surface = SurfaceArgs::default();
    if let Some(images) = &program.setup.surface {
        surface = SurfaceArgs::new(program, images);
        let rows = program.rows.padded.rows();
        let ratios = program.ratios.iter().flat_map(|axis| slab.part(axis, rows));
        surface.ratios = to.send(&ratios.copied().collect::<Vec<_>>())?;
    }
    Ok((Args::new(grid, surface), to.memory))
}

/// Coefficients of the mechanisms, `[mechanism][plane is odd][row is odd][keep, take][z]`.
fn patterns(program: &Discrete<f32>) -> Vec<f32> {
    let Some(relaxing) = &program.setup.relaxation else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for mechanism in 0..program.mechanisms() {
        for planes in relaxing.patterns() {
            for pattern in &planes[mechanism] {
                all.extend_from_slice(&pattern.keep);
                all.extend_from_slice(&pattern.take);
            }
        }
    }
    all
}
