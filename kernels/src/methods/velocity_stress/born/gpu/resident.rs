//! What no step changes, in the memory of a device: coefficients, layers, attenuation, the surface.

use super::super::program::{Discrete, places};
use super::arguments::{Args, GridArgs, LayerArgs, SurfaceArgs, int};
use super::transfer::Transfer;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory};
use crate::methods::velocity_stress::rows::NONE;

/// Arrays of a run on their way to a device, each once.
struct Sender<'a, A: Accelerator> {
    a: &'a A,
    transfer: Transfer<A>,
    memory: Vec<A::Memory>,
    /// Where arrays of the host have gone.
    sent: Vec<(*const f32, u64)>,
}

impl<A: Accelerator> Sender<'_, A> {
    /// The address of an array; stiffnesses of an isotropic medium are the same for several places.
    fn send(&mut self, numbers: &[f32]) -> Result<u64, Error> {
        if let Some((_, address)) = self.sent.iter().find(|(start, _)| *start == numbers.as_ptr()) {
            return Ok(*address);
        }
        let memory = self.a.allocate(size_of_val(numbers).max(1))?;
        self.transfer.put(self.a, numbers, memory.address())?;
        let address = memory.address();
        self.memory.push(memory);
        self.sent.push((numbers.as_ptr(), address));
        Ok(address)
    }

    /// The same for an array that lives no longer than the call.
    fn send_once(&mut self, numbers: &[f32]) -> Result<u64, Error> {
        let address = self.send(numbers)?;
        self.sent.pop();
        Ok(address)
    }
}

/// The arrays of a program that go to a device as they are, each once.
fn arrays(program: &Discrete<f32>) -> Vec<&[f32]> {
    let mut all: Vec<&[f32]> = (0..program.ndim()).map(|k| program.medium.buoyancy(k)).collect();
    for &place in places(program.ndim()) {
        all.push(program.medium.stiffness(place));
        all.extend(program.relaxing.iter().map(|r| r.medium.stiffness(place)));
    }
    all.sort_by_key(|array| array.as_ptr());
    all.dedup_by_key(|array| array.as_ptr());
    all
}

/// Bytes of the coefficients.
pub fn bytes(program: &Discrete<f32>) -> usize {
    arrays(program).into_iter().map(size_of_val).sum()
}

/// The layers across an axis, without their factors, and how many these are.
fn layer(number: &[usize], component: usize, live: std::ops::Range<usize>) -> LayerArgs {
    let framed = |line: &usize| number[*line] != NONE;
    let low = live.start + live.clone().take_while(framed).count();
    let high = low + (low..live.end).take_while(|line| !framed(line)).count();
    LayerArgs {
        factors: 0,
        component: component as i64,
        first: int(live.start),
        low: int(low),
        high: int(high),
        end: int(live.end),
        lines: 0,
        padding: 0,
    }
}

/// Sends a program; the memory must live as long as the arguments are used.
pub fn send<A: Accelerator>(a: &A, program: &Discrete<f32>) -> Result<(Args, Vec<A::Memory>), Error> {
    let mut to = Sender {
        a,
        transfer: Transfer::new(a, program.rows.len)?,
        memory: Vec::new(),
        sent: Vec::new(),
    };
    let mut grid = GridArgs::new(program);
    for component in 0..program.ndim() {
        grid.buoyancy[component] = to.send(program.medium.buoyancy(component))?;
    }
    for (k, &place) in places(program.ndim()).iter().enumerate() {
        grid.stiffness[k] = to.send(program.medium.stiffness(place))?;
        if let Some(relaxing) = &program.relaxing {
            grid.relaxing[k] = to.send(relaxing.medium.stiffness(place))?;
        }
    }
    if let Some(sponge) = &program.sponge {
        for (address, weights) in grid.sponge.iter_mut().zip(sponge) {
            *address = to.send(weights)?;
        }
    }
    let rows = &program.rows;
    let live = [rows.z.clone(), rows.rows.clone(), rows.planes.clone()];
    for (axis, live) in live.into_iter().enumerate() {
        if let Some((factors, number)) = program.layers.lines(axis) {
            grid.layers[axis] = layer(number, program.layers.component(axis), live);
            let all = factors
                .iter()
                .flat_map(|f| [&f.inverse_kappa, &f.a, &f.b])
                .flatten();
            // Along z factors are padded like rows.
            grid.layers[axis].lines = int(factors[0].a.len());
            grid.layers[axis].factors = to.send_once(&all.copied().collect::<Vec<_>>())?;
        }
    }
    grid.patterns = to.send_once(&patterns(program))?;
    let mut surface = SurfaceArgs::default();
    if let Some(images) = &program.images {
        surface = SurfaceArgs::new(program, images);
        surface.ratios = to.send_once(&program.ratios.concat())?;
        surface.slopes = to.send_once(&vec![0.0; rows.count()])?;
    }
    Ok((Args::new(grid, surface), to.memory))
}

/// How mechanisms go on, `[mechanism][plane is odd][row is odd][keep, take][z]`.
fn patterns(program: &Discrete<f32>) -> Vec<f32> {
    let Some(relaxing) = &program.relaxing else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for mechanism in 0..program.mechanisms() {
        for planes in &relaxing.patterns {
            for pattern in &planes[mechanism] {
                all.extend_from_slice(&pattern.keep);
                all.extend_from_slice(&pattern.take);
            }
        }
    }
    all
}
