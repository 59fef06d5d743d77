//! Common part of the benchmarks on GPUs: the command line, a case and its simulation.
#![allow(dead_code)] // each benchmark uses a part of it

use kernels::Error;
use kernels::boundary::{free_surface::Surface, one_way::Form};
use kernels::device::accelerator::{Accelerator, Memory, Stream};
use kernels::device::cuda::Cuda;
use kernels::grid::{Grid, Padded};
use kernels::medium::{Coefficients, Symmetry};
use kernels::methods::displacement::gpu::tile::{self, Tile};
use kernels::methods::displacement::gpu::{Simulation, Upload};
use kernels::methods::displacement::{Shot, SourceKind};
use kernels::parallel::slabs::Slab;
use kernels::time_loop::Recorder;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

pub mod elements;

/// A recorder that keeps only the sum of absolute values.
#[derive(Default)]
pub struct Nothing(pub f64);

impl Recorder<f32> for Nothing {
    fn traces(&mut self, _it: usize, traces: &[f32]) -> Result<(), Error> {
        self.0 += traces.iter().map(|&x| f64::from(x.abs())).sum::<f64>();
        Ok(())
    }
    fn snapshot(&mut self, _it: usize, _piece: &[f32]) -> Result<(), Error> {
        Ok(())
    }
}

/// Parameters `key=value` of the command line.
pub struct Words(HashMap<String, String>);

impl Words {
    /// The parameters of this process's command line.
    pub fn new() -> Self {
        let words = std::env::args().skip(1);
        Self(
            words
                .filter_map(|w| w.split_once('=').map(|(k, v)| (k.into(), v.into())))
                .collect(),
        )
    }
    /// The case of size `n` on `gpus` devices.
    pub fn case(&self, n: usize, gpus: usize, tile: Option<Tile>) -> Case {
        Case {
            ndim: self.number("dim", 3),
            n,
            deep: self.number("deep", n),
            edge: self.0.get("edge").map(|v| v.parse().expect("a number")),
            noise: self.text("noise", "y") == "y",
            nb: self.number("nb", 48),
            symmetry: match self.text("sym", "ort").as_str() {
                "iso" => Symmetry::Isotropic,
                "vti" => Symmetry::Vti,
                "hti" => Symmetry::Hti,
                "tri" => Symmetry::Triclinic,
                _ => Symmetry::Orthorhombic,
            },
            gpus,
            steps: self.number("steps", 100),
            jdata: self.number("jdata", 10),
            absorbing: self.text("absorbing", "y") == "y",
            tile,
        }
    }
    pub fn text(&self, key: &str, default: &str) -> String {
        self.0.get(key).cloned().unwrap_or_else(|| default.into())
    }
    pub fn number(&self, key: &str, default: usize) -> usize {
        self.0.get(key).map_or(default, |v| v.parse().expect("a number"))
    }
}

/// The case that is measured.
pub struct Case {
    pub ndim: usize,
    pub n: usize,
    /// Interior cells along the slowest axis.
    pub deep: usize,
    pub nb: usize,
    /// Number of planes at an edge of a slab that are computed before the exchange, instead of the default.
    pub edge: Option<usize>,
    pub noise: bool,
    pub symmetry: Symmetry,
    pub gpus: usize,
    pub steps: usize,
    pub jdata: usize,
    pub absorbing: bool,
    pub tile: Option<Tile>,
}

impl Case {
    pub fn padded(&self) -> Padded {
        let grid = match self.ndim {
            3 => Grid::new_3d([self.n, self.n, self.deep], [0.0; 3], [10.0; 3]),
            _ => Grid::new_2d([self.n, self.deep], [0.0; 2], [10.0; 2]),
        };
        Padded::new(&grid, self.nb)
    }

    fn shot(&self) -> Shot {
        let middle = 5.0 * self.n as f32;
        let count = self.n.min(200);
        let along = |k: usize| [100.0, 10.0 * (k * (self.n - 1) / count) as f32, middle];
        Shot {
            dt: 0.001,
            wavelet: (0..self.steps * self.ndim)
                .map(|i| (i as f32 * 0.1).sin())
                .collect(),
            sources: vec![[middle; 3]],
            receivers: (0..count).map(along).collect(),
            kind: SourceKind::Stress,
            nbell: 5,
            absorbing: self.absorbing,
            one_way: Form::Box,
            surface: Surface::None,
            interpolate: true,
            quantity: kernels::receiver::Quantity::Displacement,
            jdata: self.jdata,
            snapshots: None,
            jcheck: 100,
        }
    }

    fn set_edges(&self, slab: &mut Slab) {
        let Some(edge) = self.edge else { return };
        if !slab.low_edge.is_empty() {
            slab.low_edge.end = slab.own.start + edge;
        }
        if !slab.high_edge.is_empty() {
            slab.high_edge.start = (slab.own.end - edge).max(slab.low_edge.end);
        }
        slab.interior = slab.low_edge.end..slab.high_edge.start;
    }

    /// Makes the simulation in a homogeneous medium with vp 3000 and vs 1700 m/s. All coefficients of the class are
    /// non-zero, and are uploaded in blocks.
    pub fn simulation(
        &self,
        devices: &[Arc<Cuda>],
        mut layouts: Vec<Slab>,
    ) -> Result<Simulation<f32, Cuda>, Error> {
        let (padded, shot) = (self.padded(), self.shot());
        for slab in &mut layouts {
            self.set_edges(slab);
        }
        let machines = devices.iter().cloned().zip(layouts).collect();
        let kind = self.symmetry.coefficients();
        let widest = Symmetry::widest(kind);
        let mut upload = Upload::<f32, Cuda>::of_class(&padded, machines, shot.surface, shot.dt, widest)?;
        let (p, s, rho) = (2200.0f32 * 9e6, 2200.0f32 * 2.89e6, 2200.0f32);
        let value = |&(i, j): &(usize, usize)| match (i <= 3, j <= 3) {
            (true, true) if i != j => p - 2.0 * s,
            (true, true) => p,
            _ if i == j => s,
            _ => 0.02 * s,
        };
        let planes: Vec<f32> = kind
            .table(self.ndim)
            .pairs
            .iter()
            .map(value)
            .chain([rho])
            .collect();
        let lines = padded.model.cells() / self.n;
        let mut first = 0;
        while first < lines {
            let count = upload.capacity().min(lines - first);
            let block = upload.numbers(count)?;
            for (out, &value) in block.chunks_mut(count * self.n).zip(&planes) {
                out.fill(value);
            }
            upload.send(first, count)?;
            first += count;
        }
        let mut simulation = Simulation::new(&shot, upload, self.symmetry, self.tile)?;
        if !self.noise {
            return Ok(simulation);
        }
        // The fields start from noise, because zeros can be faster than real fields.
        let mut seed = 1u32;
        let mut noise = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 * 1e-8
        };
        let (nz, pitch) = (padded.n[0], padded.pitch());
        simulation.start_from(|_, _, plane| {
            plane
                .chunks_mut(pitch)
                .for_each(|row| row[..nz].iter_mut().for_each(|x| *x = noise()));
        })?;
        Ok(simulation)
    }

    /// Smallest number of words that a fused step must move per point of the padded grid. The medium counts in full,
    /// although it has fewer points.
    pub fn words(&self) -> f64 {
        let medium = match (self.ndim, self.symmetry) {
            (_, Symmetry::Isotropic) => 3.0,
            (ndim, Symmetry::Triclinic) => 1.0 + Coefficients::All.count(ndim) as f64,
            (2, _) => 5.0,
            (_, Symmetry::Vti | Symmetry::Hti) => 6.0,
            _ => 10.0,
        };
        3.0 * self.ndim as f64 + medium
    }
}

pub fn tiles(text: &str) -> Vec<Option<Tile>> {
    let one = |t: &str| {
        let k: Vec<usize> = t.split(',').map(|x| x.parse().expect("five numbers")).collect();
        let form = [tile::Form::Sweep, tile::Form::Relay, tile::Form::Small][k.get(6).copied().unwrap_or(0)];
        Tile {
            form,
            vec: k[0],
            z: k[1],
            rows: if form == tile::Form::Small { 1 } else { k[2] },
            planes: if form == tile::Form::Small { k[2] } else { 1 },
            ahead: k[3],
            blocks: k[4],
            bulk: k.get(5) != Some(&0),
            pad: k.get(7).copied().unwrap_or(4),
            cluster: k.get(8).copied().unwrap_or(1),
        }
    };
    if text.is_empty() {
        vec![None]
    } else {
        text.split('/').map(|t| Some(one(t))).collect()
    }
}

/// Bytes per second, read plus written, of a copy inside a device.
pub fn copy_speed(device: &Cuda) -> Result<f64, Error> {
    let bytes = 2usize << 30;
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..10 {
            // SAFETY: both live until the copies are done, for which this function waits.
            unsafe { device.copy_to(Stream::Main, from.address(), device, to.address(), bytes)? };
        }
        device.finish()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(20.0 * bytes as f64 / best)
}
