//! The parameters of all cells, as numbers and files on one grid.

use anyhow::{Context, Result, bail};
use rsf_io::{Axis, Input, Job, NumberOrFile};

use super::recipe::{ALPHA, EPSILON, Law, NAMES, NU, Recipe, VP, Values};

/// A bound on the anisotropy parameters of rock.
const LARGEST: f32 = 2.0;
/// The largest number of cells; a plane then has four terabytes.
const MOST_CELLS: f64 = 1e12;

/// Warns of an anisotropy parameter that is larger than in any rock.
pub(crate) fn warn_of_percent(job: &Job, name: &str, value: f32) {
    if value.abs() > LARGEST {
        job.warn(&format!(
            "{name}={value}: anisotropy parameters are fractions, which are below {LARGEST} in rock; \
            check that it is not in percent"
        ));
    }
}

/// The source of the values of one parameter.
enum Source {
    Number(f64),
    /// A file that is read in pieces into the buffer.
    File(Input, Vec<f32>),
    /// The values of a file that cannot be read twice.
    Held(Vec<f32>),
}

/// The grid and all sources.
pub(super) struct Model {
    /// The axes z, x, y; y has one sample in 2-D.
    axes: [Axis; 3],
    ndim: usize,
    sources: Vec<Source>,
    /// The first isotropic cell of a 2-D model that is stable in 2-D but not in 3-D, with its P and S velocity.
    pub(super) stiff: Option<(usize, [f64; 2])>,
    /// The largest anisotropy parameter of each file so far.
    largest: [f32; NAMES.len()],
}

/// Values of consecutive cells.
pub(super) struct Piece<'a> {
    columns: Vec<Column<'a>>,
}

#[derive(Clone, Copy)]
enum Column<'a> {
    Same(f64),
    Each(&'a [f32]),
}

/// A grid and the name of the file that gave it.
struct Grid {
    axes: [Axis; 3],
    rank: usize,
    name: String,
}

impl Model {
    /// Opens every parameter of `law`. The first file defines the grid, and the others must have the same grid.
    ///
    /// # Errors
    /// Returns an error for a missing parameter, grids that differ, or a file that cannot be read.
    pub(super) fn open(job: &mut Job, law: Law) -> Result<Self> {
        let mut grid: Option<Grid> = None;
        let mut sources = Vec::new();
        for (slot, name) in NAMES.iter().enumerate() {
            let value = if law.uses(slot) {
                number_or_file(job, slot)?
            } else {
                NumberOrFile::Number(0.0)
            };
            sources.push(match value {
                NumberOrFile::Number(v) => {
                    if (EPSILON..NU).contains(&slot) {
                        warn_of_percent(job, name, v);
                    }
                    Source::Number(f64::from(v))
                }
                NumberOrFile::File(input) => {
                    grid = Some(agreed(grid, &input)?);
                    opened(input).with_context(|| format!("{name}="))?
                }
            });
        }
        let grid = match grid {
            Some(grid) => {
                not_otherwise(job, &grid)?;
                grid
            }
            None if job.given("n1") => grid_of_parameters(job)?,
            None => Grid::of(&job.stdin().context(
                "no grid: give at least one parameter as a file, or n1=, n2= (n3=) and d1=, d2= (d3=), \
                 or a dataset of that size on standard input",
            )?)?,
        };
        let ndim = dimensions(job, &grid)?;
        Ok(Self {
            axes: grid.axes,
            ndim,
            sources,
            stiff: None,
            largest: [0.0; NAMES.len()],
        })
    }

    /// The number of dimensions, 2 or 3.
    pub(super) fn ndim(&self) -> usize {
        self.ndim
    }

    /// The axes z, x, y.
    pub(super) fn axes(&self) -> &[Axis; 3] {
        &self.axes
    }

    /// Number of cells.
    pub(super) fn cells(&self) -> usize {
        self.axes.iter().map(|a| a.n).product()
    }

    /// Whether any cell may be tilted.
    pub(super) fn is_tilted(&self) -> bool {
        [NU, ALPHA]
            .iter()
            .any(|slot| !matches!(self.sources[*slot], Source::Number(0.0)))
    }

    /// The position of a cell in words, as in `cell (3, 0, 7) at z = 0.5, x = 1, y = 2`.
    pub(super) fn place(&self, cell: usize) -> String {
        let [z, x, _] = self.axes.each_ref().map(|a| a.n);
        let index = [cell % z, cell / z % x, cell / z / x];
        let shown = &index[..self.ndim];
        let at = ["z", "x", "y"].iter().zip(&self.axes).zip(shown);
        let at: Vec<_> = at
            .map(|((name, a), i)| format!("{name} = {}", a.o + *i as f32 * a.d))
            .collect();
        let numbers: Vec<_> = shown.iter().map(usize::to_string).collect();
        format!("cell ({}) at {}", numbers.join(", "), at.join(", "))
    }

    /// Reads cells `start .. start + count` for [`Model::piece`].
    ///
    /// # Errors
    /// Returns an error for a file that cannot be read.
    pub(super) fn read(&mut self, start: usize, count: usize) -> Result<()> {
        for (slot, source) in self.sources.iter_mut().enumerate() {
            let values = match source {
                Source::File(input, buffer) => {
                    buffer.resize(count, 0.0);
                    input.read_f32_at(start as u64, buffer)?;
                    &buffer[..]
                }
                Source::Held(all) => &all[start..start + count],
                Source::Number(_) => &[],
            };
            if (EPSILON..NU).contains(&slot) {
                let larger = |most: f32, x: &f32| if x.abs() > most.abs() { *x } else { most };
                self.largest[slot] = values.iter().fold(self.largest[slot], larger);
            }
        }
        Ok(())
    }

    /// Warns of anisotropy parameters in files that are larger than in any rock, among the cells read so far.
    pub(super) fn warn_of_percent(&self, job: &Job) {
        for (name, largest) in NAMES.iter().zip(self.largest) {
            warn_of_percent(job, name, largest);
        }
    }

    /// The values of the cells last read.
    pub(super) fn piece(&self, start: usize, count: usize) -> Piece<'_> {
        let columns = self.sources.iter().map(|source| match source {
            Source::Number(v) => Column::Same(*v),
            Source::File(_, buffer) => Column::Each(buffer),
            Source::Held(all) => Column::Each(&all[start..start + count]),
        });
        Piece {
            columns: columns.collect(),
        }
    }
}

impl Piece<'_> {
    /// All parameters of cell `i` of the piece.
    pub(super) fn values(&self, i: usize) -> Values {
        std::array::from_fn(|slot| match self.columns[slot] {
            Column::Same(v) => v,
            Column::Each(values) => f64::from(values[i]),
        })
    }

    /// The parameters of cell `i` that have an effect, as in `vp = 2, vs = 1, ...`.
    pub(super) fn listed(&self, i: usize, recipe: &Recipe) -> String {
        let values = self.values(i);
        let part = |slot: usize| recipe.law.uses(slot) && (recipe.tilted || slot < NU);
        let named = (0..NAMES.len())
            .filter(|s| part(*s))
            .map(|s| format!("{} = {}", NAMES[s], values[s] as f32));
        named.collect::<Vec<_>>().join(", ")
    }
}

impl Grid {
    fn of(input: &Input) -> Result<Self> {
        let (rank, name) = (input.rank(), input.name());
        if rank > 3 {
            bail!(
                "{name} has n{rank}={}; a model has the axes z, x and, in 3-D, y",
                input.axis(rank).n
            );
        }
        Ok(Self {
            axes: [1, 2, 3].map(|i| input.axis(i)),
            rank,
            name,
        })
    }
}

/// The number or file of a parameter; without `vp=` the P velocity comes from standard input.
fn number_or_file(job: &mut Job, slot: usize) -> Result<NumberOrFile> {
    let name = NAMES[slot];
    if let Some(value) = job.number_or_file(name)? {
        return Ok(value);
    }
    if slot == VP {
        let input = job
            .stdin()
            .context("vp= is missing: give a number, a file, or the P velocity on standard input")?;
        return Ok(NumberOrFile::File(input));
    }
    bail!("{name}= is missing: give a number or the name of an RSF file")
}

fn opened(mut input: Input) -> Result<Source> {
    Ok(if input.is_seekable() {
        Source::File(input, Vec::new())
    } else {
        Source::Held(input.read_all_f32()?)
    })
}

/// The grid of the first file; an error if the next file has another grid.
fn agreed(first: Option<Grid>, next: &Input) -> Result<Grid> {
    let next = Grid::of(next)?;
    let Some(first) = first else { return Ok(next) };
    for (i, (a, b)) in first.axes.iter().zip(&next.axes).enumerate() {
        let number = i + 1;
        let differ = |key: &str, x: String, y: String| -> Result<Grid> {
            bail!(
                "{key}{number}={y} in {}, but {key}{number}={x} in {}: all parameters must have the same grid",
                next.name,
                first.name
            )
        };
        if a.n != b.n {
            return differ("n", a.n.to_string(), b.n.to_string());
        }
        if a.n > 1 && (a.d - b.d).abs() > 1e-4 * a.d.abs() {
            return differ("d", a.d.to_string(), b.d.to_string());
        }
        if a.n > 1 && (a.o - b.o).abs() > 1e-2 * a.d.abs() {
            return differ("o", a.o.to_string(), b.o.to_string());
        }
    }
    Ok(first)
}

/// Refuses n#=, d#= and o#= that differ from the grid of the files, because they would have no effect.
fn not_otherwise(job: &Job, grid: &Grid) -> Result<()> {
    for (i, axis) in grid.axes.iter().enumerate() {
        for (letter, value) in [("n", axis.n as f32), ("o", axis.o), ("d", axis.d)] {
            let key = format!("{letter}{}", i + 1);
            if !job.given(&key) {
                continue;
            }
            let given = match letter {
                "n" => job.int(&key)? as f32,
                _ => job.float(&key)?,
            };
            if given != value {
                bail!(
                    "{key}={given} is given, but {} gives the grid and has {key}={value}: leave out {key}= \
                    (sfwindow cuts a file, and sfput changes its axes)",
                    grid.name
                );
            }
        }
    }
    Ok(())
}

/// The axes z, x, y and the number of dimensions of a model without files, from n1=, n2=, n3= or a dataset on
/// standard input.
///
/// # Errors
/// Returns an error if there is no grid, or if it has no cells or no spacing.
pub(crate) fn grid_of(job: &mut Job) -> Result<([Axis; 3], usize)> {
    let grid = match job.given("n1") {
        true => grid_of_parameters(job)?,
        false => Grid::of(&job.stdin().context(
            "no grid: give n1=, n2= (n3=) and d1=, d2= (d3=), or a dataset of that size on standard input",
        )?)?,
    };
    let ndim = dimensions(job, &grid)?;
    Ok((grid.axes, ndim))
}

fn grid_of_parameters(job: &Job) -> Result<Grid> {
    let mut axes = [1, 2, 3].map(|_| Axis::default());
    for (i, axis) in axes.iter_mut().enumerate() {
        let number = i + 1;
        axis.n = usize::try_from(job.int_opt(&format!("n{number}"))?.unwrap_or(1))?;
        axis.o = job.float(&format!("o{number}"))?;
        axis.d = job.float(&format!("d{number}"))?;
        axis.label = Some(["z", "x", "y"][i].to_string());
    }
    let rank = if job.given("n3") { 3 } else { 2 };
    Ok(Grid {
        axes,
        rank,
        name: "n1=, n2=, n3=".to_string(),
    })
}

fn dimensions(job: &Job, grid: &Grid) -> Result<usize> {
    let own = grid.rank.max(2);
    let ndim = job.int_opt("dim")?.map_or(own, |d| d as usize);
    if ndim < own {
        bail!(
            "dim=2, but n3={} in {}: use dim=3{}",
            grid.axes[2].n,
            grid.name,
            match grid.axes[2].n {
                1 => ", or leave out n3=",
                _ => ", or extract one plane with sfwindow",
            }
        );
    }
    if ndim > own && own == 2 {
        job.warn(&format!(
            "dim=3, but {} has two axes: the result is a 3-D model with n3=1, which 2-D programs refuse; leave out dim=3 for a 2-D model",
            grid.name
        ));
    }
    let flat = |axis: &Axis| axis.n > 1 && !(axis.d != 0.0 && axis.d.is_finite());
    if let Some(i) = grid.axes.iter().position(flat) {
        bail!(
            "d{}={} in {}: the distance between nodes must be a number other than 0",
            i + 1,
            grid.axes[i].d,
            grid.name
        );
    }
    let empty = grid.axes.iter().position(|a| a.n == 0);
    if let Some(i) = empty {
        bail!("n{}=0 in {}: the grid has no cells", i + 1, grid.name);
    }
    let cells = grid.axes.iter().map(|a| a.n as f64).product::<f64>();
    if cells > MOST_CELLS {
        bail!(
            "{cells:e} cells in {}: at most {MOST_CELLS:e} are possible; check n1=, n2=, n3=",
            grid.name
        );
    }
    Ok(ndim)
}
