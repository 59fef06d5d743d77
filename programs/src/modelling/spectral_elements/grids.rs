//! A model on regular grids that are separate from the mesh: vp=, vs=, den=, qp=, qs= and ccc= as planes.

use super::advice;
use crate::modelling::checksum::Checksum;
use crate::modelling::losses::refuse_low_quality;
use crate::modelling::units;
use anyhow::bail;
use kernels::medium::voigt::Coefficients;
use kernels::mesh::{Basis, Material, Mesh};
use kernels::methods::spectral_elements::{Band, GridModel, Grids, Lattice, Planes, Pml};
use rsf_io::{Input, Job, NumberOrFile};

/// Parameters of grids with one number for each node.
const WORDS: [&str; 5] = ["vp", "vs", "den", "qp", "qs"];

/// The files of a model, and its grid.
struct Files {
    /// Name and axes of the first file: number of nodes, first node and step of z, x[, y].
    grid: Option<(String, Vec<[f64; 3]>)>,
    /// The number of grids: one for all regions or one for each region.
    grids: usize,
    regions: usize,
    sum: Checksum,
}

impl Files {
    /// Reads the numbers of a file, `planes` for each node, after a check of its axes.
    fn read(
        &mut self,
        word: &str,
        mut file: Input,
        (ndim, planes): (usize, usize),
    ) -> anyhow::Result<Vec<f32>> {
        let axis = |k: usize| {
            let axis = file.axis(k);
            [axis.n as f64, f64::from(axis.o), f64::from(axis.d)]
        };
        let (name, axes) = (file.name(), (1..=ndim).map(axis).collect::<Vec<_>>());
        if let Some(bad) = axes
            .iter()
            .position(|[n, _, d]| *n > 1.0 && !(*d > 0.0 && d.is_finite()))
        {
            bail!(
                "{name} has d{}={}; the spacings of a grid must be more than 0",
                bad + 1,
                axes[bad][2]
            );
        }
        let behind = if planes > 1 { ndim + 2 } else { ndim + 1 };
        let grids = file.axis(behind).n;
        let nodes: f64 = axes.iter().map(|a| a[0]).product();
        if ![1, self.regions].contains(&grids) || file.len() as f64 != nodes * (planes * grids) as f64 {
            bail!(
                "{name} has {} values and n{behind}={grids}; {word}= takes a grid z, x{}{} for all of the mesh, or n{behind}={} of them, one per region",
                file.len(),
                if ndim == 3 { ", y" } else { "" },
                if planes > 1 { ", planes" } else { "" },
                self.regions
            );
        }
        match &self.grid {
            None => (self.grid, self.grids) = (Some((name.clone(), axes)), grids),
            Some((first, known)) if *known != axes || grids != self.grids => {
                let known = words(known, (behind, self.grids));
                bail!(
                    "{first} and {name} have different grids, {known} and {}; all files of a model must share one grid \
                    (sfwindow, \
                    sfremap1 and sftransp change one)",
                    words(&axes, (behind, grids))
                )
            }
            _ => {}
        }
        let mut values = file.read_all_f32()?;
        if planes > 1 && grids > 1 {
            // In the file regions come last; in memory the regions of a plane follow each other.
            let cells = nodes as usize;
            let at = |k: usize| values[(k / cells % grids * planes + k / cells / grids) * cells + k % cells];
            values = (0..values.len()).map(at).collect();
        }
        self.sum = std::mem::replace(&mut self.sum, Checksum::new())
            .with_text(word)
            .with_text(&format!("{:?}", self.grid.as_ref().map(|grid| &grid.1)))
            .with(&values);
        Ok(values)
    }

    /// The grid with its axes in the order of the mesh (z last); `None` if no file has been read.
    fn lattice<const D: usize>(&self) -> Option<Lattice<D>> {
        let (_, axes) = self.grid.as_ref()?;
        // z is the first axis of files and the last of meshes.
        let axis = |c: usize| axes[(c + 1) % D];
        Some(Lattice {
            n: std::array::from_fn(|c| axis(c)[0] as usize),
            o: std::array::from_fn(|c| axis(c)[1]),
            d: std::array::from_fn(|c| if axis(c)[2] > 0.0 { axis(c)[2] } else { 1.0 }),
        })
    }
}

/// The axes of a grid in words, and the number of grids along axis `behind` if there are several.
fn words(axes: &[[f64; 3]], (behind, grids): (usize, usize)) -> String {
    let axis = |(k, [n, o, d]): (usize, &[f64; 3])| format!("n{k}={n} o{k}={} d{k}={}", *o as f32, *d as f32);
    let mut words: Vec<String> = (1..).zip(axes).map(axis).collect();
    if grids > 1 {
        words.push(format!("n{behind}={grids}"));
    }
    words.join(" ")
}

/// Whether ccc= has a grid of constants; otherwise it has a row for each region.
pub fn constants_on_a_grid(file: &Input, regions: usize) -> bool {
    !(file.axis(1).n == 21 && file.len() == (21 * regions) as u64)
}

/// The planes of ccc=, with row and column in the Voigt matrix.
fn constants(files: &mut Files, file: Input, ndim: usize) -> anyhow::Result<Vec<([usize; 2], Vec<f32>)>> {
    let (name, planes) = (file.name(), file.axis(ndim + 1).n);
    let Some(kind) = Coefficients::of_count(ndim, planes) else {
        let kinds = [Coefficients::Orthorhombic, Coefficients::All].map(|kind| kind.count(ndim).to_string());
        bail!(
            "{name} has n{}={planes}; ccc= takes {} planes on a grid as sfstiffness writes them, or n1=21 constants for each of the {} regions of the mesh",
            ndim + 1,
            kinds.join(" or "),
            files.regions
        );
    };
    let values = files.read("ccc", file, (ndim, planes))?;
    let table = kind.table(ndim);
    let order = table.file_order();
    let pairs = order.iter().map(|place| table.pairs[*place]);
    let chunks = values.chunks_exact((values.len() / planes).max(1));
    let plane = |((i, j), values): ((usize, usize), &[f32])| ([i - 1, j - 1], values.to_vec());
    Ok(pairs.zip(chunks).map(plane).collect())
}

/// Quality factors of one kind, a number or a grid.
fn quality(
    job: &mut Job,
    word: &str,
    read: impl FnOnce(Input) -> anyhow::Result<Vec<f32>>,
) -> anyhow::Result<Option<Vec<f32>>> {
    let factors = match job.number_or_file(word)? {
        None => None,
        Some(NumberOrFile::Number(q)) => Some(vec![q]),
        Some(NumberOrFile::File(file)) => Some(read(file)?),
    };
    refuse_low_quality(word, factors.as_deref().unwrap_or_default())?;
    Ok(factors)
}

/// A model and its checksum, if any of its parameters is given. `table` is ccc=, if ccc= is a grid.
pub fn read<const D: usize>(
    job: &mut Job,
    mesh: (&Mesh<D>, &Basis),
    (materials, layers): (&[Material], Option<&Pml<D>>),
    table: Option<Input>,
    band: impl FnOnce(&Job) -> anyhow::Result<Band>,
) -> anyhow::Result<Option<(GridModel<D>, u64)>> {
    if table.is_none() && !WORDS.iter().any(|word| job.given(word)) {
        return Ok(None);
    }
    if job.given("qp") != job.given("qs") {
        bail!("qp= and qs= belong together: give both (0 means no attenuation)");
    }
    if table.is_some() && (job.given("vp") || job.given("vs")) {
        bail!("ccc= and vp=, vs= both describe the medium: leave out one of them");
    }
    let mut files = Files {
        grid: None,
        grids: 1,
        regions: materials.len(),
        sum: Checksum::new(),
    };
    let mut one = |job: &mut Job, word: &str| -> anyhow::Result<Option<Vec<f32>>> {
        Ok(match word {
            "qp" | "qs" => quality(job, word, |file| files.read(word, file, (D, 1)))?,
            _ if job.has_input(word) => {
                let file = job.input(word)?;
                units::header(job, &file);
                let values = files.read(word, file, (D, 1))?;
                advice::grid(job, word, &values);
                Some(values)
            }
            _ => None,
        })
    };
    let [vp, vs, density, qp, qs] = [
        one(job, WORDS[0])?,
        one(job, WORDS[1])?,
        one(job, WORDS[2])?,
        one(job, WORDS[3])?,
        one(job, WORDS[4])?,
    ];
    let planes = Planes {
        vp,
        vs,
        density,
        quality: qp.zip(qs).map(|(p, s)| [p, s]),
        constants: match table {
            Some(file) => constants(&mut files, file, D)?,
            None => Vec::new(),
        },
    };
    // If no parameter is a grid, the model consists only of quality factors that are given as numbers.
    let anywhere = Lattice {
        n: [1; D],
        o: [0.0; D],
        d: [1.0; D],
    };
    let (lattice, grids) = files
        .lattice()
        .map_or((anywhere, files.regions), |lattice| (lattice, files.grids));
    let band = match planes.quality {
        Some(_) => Some(band(job)?),
        None => None,
    };
    let numbers = planes.quality.iter().flatten().filter(|q| q.len() == 1);
    let sum = numbers.fold(files.sum, |sum, q| sum.with(q)).end();
    let model = GridModel::new(
        mesh.0,
        mesh.1,
        Grids {
            lattice,
            count: grids,
            planes,
        },
        (materials, layers),
        band,
    )?;
    Ok(Some((model, sum)))
}
