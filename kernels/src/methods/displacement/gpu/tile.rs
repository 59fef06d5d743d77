//! The division of a sweep into blocks.

use crate::grid::stencil::RADIUS;
use crate::medium::stiffness::Symmetry;
use crate::methods::displacement::FACE;
use crate::{Error, Hint, message};

/// The kernel source of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All threads compute stress, then force (sweep.cu).
    Sweep,
    /// Separate warps compute stress and force (warp_specialized.cu; 3-D, compute capability 9.0 and later).
    Relay,
    /// The whole step of a tile at once, for small grids (fused_2d.cu; 2-D).
    Small,
}

/// The tile of a block of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The kernel source.
    pub form: Form,
    /// Number of cells per thread along z: 1, 2 or 4, at most 16 bytes.
    pub vec: usize,
    /// Number of cells along z.
    pub z: usize,
    /// Number of rows (2-D: 1).
    pub rows: usize,
    /// Number of planes of a tile (only in fused_2d.cu).
    pub planes: usize,
    /// Number of planes that are copied to shared memory in advance; cells of stress per thread in fused_2d.cu.
    pub ahead: usize,
    /// Number of blocks that should be resident on one multiprocessor at once.
    pub blocks: usize,
    /// Padding between rows of a plane in shared memory (3-D), in numbers, to avoid bank conflicts.
    pub pad: usize,
    /// Number of blocks that share halos of stress along rows: 2, or 1 for no sharing (warp_specialized.cu).
    pub cluster: usize,
    /// Whether planes are copied in bulk (compute capability 9.0 and later), instead of in pieces of 16 bytes.
    pub bulk: bool,
}

/// The properties of run and device by which a tile is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Number of dimensions, 2 or 3.
    pub ndim: usize,
    /// Whether numbers are float64 instead of float32.
    pub double: bool,
    /// Symmetry class of the medium.
    pub symmetry: Symmetry,
    /// Number of cells of the padded grid.
    pub cells: usize,
    /// Number of cells along its shortest axis.
    pub shortest: usize,
    /// Number of rows of the padded grid (2-D: 1).
    pub rows: usize,
    /// Compute capability times ten.
    pub architecture: u32,
    /// Whether blocks can write to each other's shared memory.
    pub clusters: bool,
    /// Bytes of shared memory that a block may use.
    pub shared_bytes: usize,
}

/// Number of padded cells of a 2-D grid up to which the latency of a step matters most.
const SMALL: usize = 600_000;
/// Registers of a force thread of warp_specialized.cu, in float32 and float64.
const FORCE_REGISTERS: [usize; 2] = [64, 104];
/// Registers of a copying thread of warp_specialized.cu.
const COPY_REGISTERS: usize = 24;
/// Number of tiles along rows from which an idle block at the end costs less than the tenth that sharing halos gains.
const MANY: usize = 9;
/// Bytes of static shared memory that are reserved for a kernel.
const OWN_BYTES: usize = 256;

const fn volume(form: Form, vec: usize, z: usize, rows: usize, pad: usize) -> Tile {
    Tile {
        form,
        vec,
        z,
        rows,
        planes: 1,
        ahead: 1,
        blocks: 1,
        pad,
        cluster: 1,
        bulk: true,
    }
}

/// A tile of warp_specialized.cu whose blocks share halos in pairs.
const fn pair(vec: usize, z: usize, rows: usize) -> Tile {
    Tile {
        cluster: 2,
        ..volume(Form::Relay, vec, z, rows, 0)
    }
}

const fn plane(vec: usize, z: usize, ahead: usize, blocks: usize) -> Tile {
    Tile {
        form: Form::Sweep,
        vec,
        z,
        rows: 1,
        planes: 1,
        ahead,
        blocks,
        pad: 0,
        cluster: 1,
        bulk: true,
    }
}

const fn patch(z: usize, planes: usize, ahead: usize, blocks: usize) -> Tile {
    Tile {
        form: Form::Small,
        vec: 1,
        z,
        rows: 1,
        planes,
        ahead,
        blocks,
        pad: 0,
        cluster: 1,
        bulk: false,
    }
}

/// Tiles of small 2-D grids, each with the largest number of cells for which it is used.
const PATCHES: [(usize, Tile); 2] = [(300_000, patch(24, 16, 2, 2)), (SMALL, patch(32, 24, 4, 1))];

/// Tiles in the order of preference; the first that fits is used (measurements are in `benches/RESULTS-GPU.md`).
const VOLUMES: [Tile; 5] = [
    pair(2, 32, 12),
    volume(Form::Relay, 2, 32, 12, 0),
    volume(Form::Sweep, 2, 32, 16, 4),
    volume(Form::Sweep, 4, 32, 8, 4),
    volume(Form::Sweep, 2, 16, 4, 4),
];
const VOLUMES_DOUBLE: [Tile; 3] = [
    volume(Form::Relay, 1, 16, 8, 0),
    volume(Form::Sweep, 1, 16, 8, 0),
    volume(Form::Sweep, 1, 8, 4, 0),
];
const PLANES: [Tile; 2] = [plane(4, 248, 2, 6), plane(4, 120, 2, 4)];
const PLANES_DOUBLE: [Tile; 1] = [plane(2, 120, 2, 4)];

impl Tile {
    /// All tiles for a kind of run, the preferred one first, whether they fit the device or not.
    pub fn all(terms: &Terms) -> Vec<Self> {
        let mut tiles = match (terms.ndim, terms.double) {
            (3, false) => VOLUMES.to_vec(),
            (3, true) => VOLUMES_DOUBLE.to_vec(),
            (_, false) => PLANES.to_vec(),
            (_, true) => PLANES_DOUBLE.to_vec(),
        };
        // With few coefficients, warps that compute both stress and force are faster.
        let few = !matches!(terms.symmetry, Symmetry::Orthorhombic | Symmetry::Triclinic);
        if terms.ndim == 3 && !terms.double && few {
            tiles[..3].rotate_right(1);
        } else if terms.ndim == 3 && !terms.double && tiles[0].idle_blocks(terms.rows) > 0 {
            let lone = terms.rows.div_ceil(tiles[0].rows) < MANY;
            tiles[..2].rotate_right(usize::from(lone));
        }
        let small = |(cells, _): &&(usize, Tile)| terms.ndim == 2 && terms.cells <= *cells;
        if let Some((_, patch)) = PATCHES.iter().find(small) {
            tiles.insert(0, *patch);
        }
        tiles
    }

    /// Whether this tile suits the device and the grid.
    pub fn fits(&self, terms: &Terms) -> bool {
        let number = if terms.double { 8 } else { 4 };
        self.vec * number <= 16
            && self.shared(terms.ndim) * number + OWN_BYTES <= terms.shared_bytes
            && match self.form {
                Form::Sweep => self.cluster == 1,
                // Values are pushed to the other block in pairs of float32.
                Form::Relay => {
                    let alone = self.cluster == 1 || terms.clusters && self.vec == 2 && !terms.double;
                    terms.ndim == 3 && terms.architecture >= 90 && alone
                }
                // A tile can contain the whole face of one side of the grid, but not of two.
                Form::Small => terms.ndim == 2 && terms.shortest >= 2 * FACE,
            }
    }

    /// The preferred tile that fits.
    ///
    /// # Errors
    /// Returns an error if no tile fits the shared memory of the device.
    pub fn choose(terms: &Terms) -> Result<Self, Error> {
        let modern = terms.architecture >= 90;
        let first = Self::all(terms)
            .into_iter()
            .find(|t| t.fits(terms))
            .map(|t| Tile {
                bulk: t.bulk && modern,
                ..t
            });
        first.ok_or_else(|| {
            Error::setup(message![
                format!(
                    "a block of this GPU may use {} bytes of shared memory, which is less than the smallest tile needs; ",
                    terms.shared_bytes
                ),
                Hint::Processors,
            ])
        })
    }

    /// Number of threads of a block, as in the kernel sources.
    pub fn threads(&self, ndim: usize) -> usize {
        let (quads, side) = (self.z / self.vec, RADIUS / self.vec);
        let all = match ndim {
            3 => quads * self.rows + 2 * side * self.rows + quads * 2 * RADIUS / self.cluster,
            _ => quads + 2 * side,
        };
        match self.form {
            Form::Small => ((self.z + 8) * (self.planes + 8))
                .div_ceil(self.ahead)
                .next_multiple_of(32),
            Form::Sweep => all.next_multiple_of(32),
            Form::Relay => all.next_multiple_of(128) + (self.z * self.rows).next_multiple_of(128) + 128,
        }
    }

    /// Registers per thread at the start of warp_specialized.cu, then of its stress, force and copying warps: as many
    /// as are available, in multiples of eight.
    pub fn registers(&self, double: bool) -> [usize; 4] {
        let (all, force) = (self.threads(3), (self.z * self.rows).next_multiple_of(128));
        let each = FORCE_REGISTERS[usize::from(double)];
        let start = (65536 / all / 8 * 8).min(248);
        let left = (start * all).saturating_sub(COPY_REGISTERS * 128 + each * force);
        let stress = (left / (all - force - 128) / 8 * 8).min(248);
        [start, stress, each, COPY_REGISTERS]
    }

    /// Number of blocks along rows, in whole clusters. A last block that lies outside the grid computes no stress and
    /// writes nothing.
    pub fn blocks_along(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows).next_multiple_of(self.cluster)
    }

    fn idle_blocks(&self, rows: usize) -> usize {
        self.blocks_along(rows) - rows.div_ceil(self.rows)
    }

    /// Numbers of cells along z and of rows of a plane of displacement in shared memory (3-D): the tile with a halo
    /// of twice the stencil's radius, or once on a side where another block computes the halo of stress.
    pub fn around(&self) -> [usize; 2] {
        let halo = (5 - self.cluster) * RADIUS;
        [self.z + 16 + self.pad, self.rows + halo]
    }

    /// Shared memory of a block, in numbers: displacement around the tile, and stress (two planes of it in forms that
    /// advance along planes).
    pub fn shared(&self, ndim: usize) -> usize {
        let ring = 2 * RADIUS + self.ahead + 1;
        let (z, rows) = (self.z, self.rows);
        match (self.form, ndim) {
            (Form::Small, _) => {
                let planes = self.planes;
                2 * (z + 16) * (planes + 16) + 3 * (z + 8) * (planes + 8) + 2 * z * planes
            }
            (_, 3) => {
                let across = rows + 2 * RADIUS;
                let own = if self.form == Form::Relay { rows * z } else { 0 };
                let stress = 2 * rows * (z + 12) + across * (z + 12) + 2 * across * z + own;
                let [pitch, lines] = self.around();
                ring * (3 * lines * pitch).next_multiple_of(32) + 2 * stress
            }
            _ => ring * (2 * (z + 16)).next_multiple_of(32) + 4 * (z + 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that share halos in pairs are launched in pairs, even if the last one lies beyond the last row.
    #[test]
    fn blocks_come_in_whole_clusters() {
        let (alone, paired) = (volume(Form::Sweep, 2, 32, 8, 0), pair(2, 32, 8));
        for (rows, of_alone, of_paired) in [(8, 1, 2), (16, 2, 2), (17, 3, 4), (40, 5, 6)] {
            assert_eq!(alone.blocks_along(rows), of_alone, "{rows}");
            assert_eq!(paired.blocks_along(rows), of_paired, "{rows}");
            assert_eq!(paired.idle_blocks(rows), of_paired - of_alone, "{rows}");
        }
    }

    /// Specialised warps redistribute the registers with which their block started, which are at most the 65536
    /// of a multiprocessor.
    #[test]
    fn registers_that_warps_take_are_those_that_others_give() {
        for (tile, double) in [
            (VOLUMES[0], false),
            (VOLUMES[1], false),
            (VOLUMES_DOUBLE[0], true),
        ] {
            let [start, stress, force, copy] = tile.registers(double);
            let (all, of_force) = (tile.threads(3), (tile.z * tile.rows).next_multiple_of(128));
            let taken = stress * (all - of_force - 128) + force * of_force + copy * 128;
            assert!(taken <= start * all && start * all <= 65536, "{taken} of {start}");
            assert!([start, stress, force, copy].iter().all(|n| n % 8 == 0));
        }
    }

    /// Specialised warps are used for media with many coefficients.
    #[test]
    fn tiles_of_volumes_follow_the_number_of_coefficients() {
        let form = |symmetry: Symmetry| {
            let tile = Tile::choose(&Terms {
                ndim: 3,
                double: false,
                symmetry,
                cells: 1 << 27,
                shortest: 512,
                rows: 516,
                architecture: 90,
                clusters: true,
                shared_bytes: 227 << 10,
            });
            tile.expect("a tile fits").form
        };
        for few in [Symmetry::Isotropic, Symmetry::Vti, Symmetry::Hti] {
            assert_eq!(form(few), Form::Sweep, "{few:?}");
        }
        for many in [Symmetry::Orthorhombic, Symmetry::Triclinic] {
            assert_eq!(form(many), Form::Relay, "{many:?}");
        }
    }

    /// The reserved bytes of a block count in addition to the tile.
    #[test]
    fn tiles_leave_room_for_what_kernels_keep() {
        let tile = VOLUMES[3];
        let fits = |beside: usize| {
            tile.fits(&Terms {
                ndim: 3,
                double: false,
                symmetry: Symmetry::Orthorhombic,
                cells: 1 << 27,
                shortest: 512,
                rows: 512,
                architecture: 80,
                clusters: false,
                shared_bytes: 4 * tile.shared(3) + beside,
            })
        };
        assert!(fits(OWN_BYTES) && !fits(OWN_BYTES - 1) && !fits(0));
    }

    /// Numbers of eight bytes need twice the memory, and a load of 16 bytes contains two of them.
    #[test]
    fn tiles_of_float64_have_room_for_numbers_of_eight_bytes() {
        let fits = |tile: Tile, shared_bytes: usize| {
            tile.fits(&Terms {
                ndim: 3,
                double: true,
                symmetry: Symmetry::Orthorhombic,
                cells: 1 << 27,
                shortest: 512,
                rows: 512,
                architecture: 90,
                clusters: false,
                shared_bytes,
            })
        };
        for tile in VOLUMES_DOUBLE {
            let needed = 8 * tile.shared(3) + OWN_BYTES;
            assert!(fits(tile, needed) && !fits(tile, needed - 1), "{tile:?}");
        }
        assert!(!fits(VOLUMES[3], 1 << 30), "four numbers of eight bytes");
    }
}
