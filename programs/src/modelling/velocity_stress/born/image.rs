//! Images by reverse-time migration: the common part of `sfvsrtm2d-gpu` and `sfvsrtm3d-gpu`.

use super::params;
use super::set_up::{self, SetUp};
use super::stations::{Rest, Station, Ways, at_work, records_for};
use crate::modelling::checkpoint::Sums;
use crate::modelling::linearised::kept::{Stack, Summed};
use crate::modelling::linearised::{meet, survey};
use crate::modelling::observed;
use crate::modelling::shots::ShotResult;
use crate::modelling::world::World;
use anyhow::{bail, ensure};
use kernels::communicator::Communicator;
use kernels::grid::Grid;
use kernels::methods::velocity_stress::born::{ImageRequest, Kind};
pub use params::{IMAGE_2D as PROGRAM_2D, IMAGE_3D as PROGRAM_3D};
use rsf_io::{Axis, Job, Output};

/// Runs `sfvsrtm2d-gpu`.
pub fn run_2d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 2, world)
}

/// Runs `sfvsrtm3d-gpu`.
pub fn run_3d(job: &mut Job, world: &World) -> anyhow::Result<()> {
    run(job, 3, world)
}

/// The values of `image=` in the order of the help.
const KINDS: [(&str, Kind, &str); 5] = [
    ("pp", Kind::Pp, "P waves by P waves"),
    ("ps", Kind::Ps, "P waves by S waves"),
    ("sp", Kind::Sp, "S waves by P waves"),
    ("ss", Kind::Ss, "S waves by S waves"),
    ("energy", Kind::Energy, "all waves in the norm of the energy"),
];

/// The requested images.
struct RequestedImages {
    words: Vec<&'static str>,
    /// Their quantity, in words.
    quantity: String,
    request: ImageRequest,
    /// The numbers of lags along z, x, y.
    lags: [usize; 3],
}

impl RequestedImages {
    fn read(job: &Job, set_up: &SetUp) -> anyhow::Result<Self> {
        let (mut words, mut kinds, mut descriptions) = (Vec::new(), Vec::new(), Vec::new());
        for given in job.text("image")?.unwrap_or_else(|| "pp".into()).split(',') {
            let kind_of_word = KINDS.iter().find(|(word, ..)| *word == given.trim());
            let Some(&(word, kind, description)) = kind_of_word else {
                bail!(
                    "image={given}: the images are pp, ps, sp, ss and energy, or several of them separated \
                    by commas"
                );
            };
            ensure!(
                !kinds.contains(&kind),
                "image= has {word} twice: give each image once"
            );
            ensure!(
                !kind.separates() || set_up.is_isotropic(),
                "image={word} with ccc=: P and S waves of an anisotropic medium cannot be distinguished by their potentials; give vp= and vs=, or image=pp or energy"
            );
            words.push(word);
            kinds.push(kind);
            descriptions.push(description);
        }
        let ndim = set_up.run.padded.ndim();
        let mut lags = [0; 3];
        for (a, key) in ["nhz", "nhx", "nhy"].iter().enumerate().take(ndim) {
            lags[a] = usize::try_from(job.int(key)?)?;
            let cells = set_up.run.padded.model.n[a];
            ensure!(
                2 * lags[a] < cells,
                "{key}={}: twice the largest lag must be less than the {cells} cells of the model on that axis",
                lags[a]
            );
        }
        let span = |n: usize| -(n as isize)..=n as isize;
        let mut all = Vec::new();
        for y in span(lags[2]) {
            for x in span(lags[1]) {
                all.extend(span(lags[0]).map(|z| [z, x, y]));
            }
        }
        Ok(Self {
            words,
            quantity: format!("image of {}", descriptions.join(", ")),
            request: ImageRequest { kinds, lags: all },
            lags,
        })
    }

    /// The output, on rank 0.
    fn output(&self, job: &mut Job, set_up: &SetUp, world: &World) -> anyhow::Result<Option<Output>> {
        if !world.leads() {
            return Ok(None);
        }
        let mut output = job.output()?;
        self.axes(&mut output, &set_up.run.padded.model);
        observed::name(&mut output, "Image", &self.quantity);
        output.put_note(&rsf_io::version(), &set_up.machine().describe(None));
        Ok(Some(output))
    }

    /// Sets the axes of the output: the axes of the model, lags and kinds.
    fn axes(&self, output: &mut Output, grid: &Grid) {
        set_up::model_axes(output, grid, &[]);
        let mut rank = grid.ndim;
        for (a, &n) in self.lags.iter().enumerate().filter(|(_, n)| **n > 0) {
            rank += 1;
            let (d, label) = (grid.d[a], ["hz", "hx", "hy"][a]);
            let axis = Axis::new(2 * n + 1, -(n as f32) * d, d).label(label).unit("m");
            output.set_axis(rank, &axis);
        }
        if self.words.len() > 1 {
            rank += 1;
            let axis = Axis::new(self.words.len(), 0.0, 1.0).label(&self.words.join(" "));
            output.set_axis(rank, &axis);
        }
        output.end_axes(rank);
    }
}

/// Image and illumination of each kind, summed over the shots.
struct Images {
    kinds: Vec<[Vec<f32>; 2]>,
}

impl Images {
    /// Splits a stack into the image and the illumination of each kind.
    fn new(grid: &Grid, request: &ImageRequest, stack: Stack) -> Self {
        let (cells, mut rest) = (grid.cells(), &stack.total()[..]);
        let mut part = |numbers: usize| {
            let (own, others) = rest.split_at(numbers.min(rest.len()));
            rest = others;
            own.to_vec()
        };
        let kinds = request.kinds.iter();
        let kinds = kinds.map(|_| [request.lags.len() * cells, cells].map(&mut part));
        Self {
            kinds: kinds.collect(),
        }
    }

    /// Divides each image by its illumination plus a fraction of the largest illumination.
    fn normalise(&mut self, share: f64) {
        for [image, light] in &mut self.kinds {
            let largest = light.iter().copied().fold(0.0, f32::max);
            let least = (share * f64::from(largest)).max(f64::MIN_POSITIVE);
            for image in image.chunks_exact_mut(light.len()) {
                for (image, &light) in image.iter_mut().zip(&*light) {
                    *image = (f64::from(*image) / (f64::from(light) + least)) as f32;
                }
            }
        }
    }
}

/// The sum of the shots so far.
struct ImageSums(Stack);

impl Summed for ImageSums {
    fn sums(&mut self) -> Sums<'_> {
        self.0.sums()
    }

    fn stack(&mut self) -> &mut Stack {
        &mut self.0
    }

    fn note(&mut self, _: usize, _: &[f32], words: &[u64]) {
        self.0.note_read(words);
    }
}

fn run(job: &mut Job, ndim: usize, world: &World) -> anyhow::Result<()> {
    meet(job, world)?;
    if job.flag("plan")? {
        let set_up = SetUp::read_plain(job, ndim, world)?;
        let requested = world.agree(RequestedImages::read(job, &set_up))?;
        return set_up.plan_survey(job, Some(&requested.request), world);
    }
    let data = world.agree(job.stdin().map_err(Into::into))?;
    let mut set_up = SetUp::read_plain(job, ndim, world)?;
    let requested = set_up.take_data(job, &data, "this program");
    let requested = world.agree(requested.and_then(|()| RequestedImages::read(job, &set_up)))?;
    let mut kept = set_up.kept(job, Vec::new(), world)?;
    let output = world.agree(requested.output(job, &set_up, world))?;
    if job.is_dry_run() {
        return Ok(output.map_or(Ok(()), Output::finish)?);
    }
    let stations = set_up.stations(job, world, Ways::Back(Some(&requested.request)))?;
    if job.flag("verb")? {
        set_up.summary(job);
        stations[0].print_summary(job);
    }
    let (grid, request) = (&set_up.run.padded.model, &requested.request);
    let numbers = [request.numbers(grid.cells()), grid.n[0]];
    let mut total = ImageSums(Stack::new("images and illuminations", numbers, kept.done()));
    let records = records_for(job, vec![data], &set_up.run, &stations);
    let records = world.agree(records)?;
    kept.begin((job, set_up.model()), &records, &mut total, world)?;
    let work = |numbers: &[usize], station: &Station, ranks: &dyn Communicator| {
        let (given, sums) = records.of_shots(numbers)?;
        let given = station.records(given);
        let images = station
            .born
            .images_among(ranks, &given, (station.schedule()?, &requested.request))?;
        Ok(Box::new(move || {
            let results = images.into_iter().zip(sums).map(|(pictures, words)| {
                let parts = pictures.into_iter();
                let parts: Vec<_> = parts.flat_map(|picture| [picture.image, picture.light]).collect();
                ShotResult {
                    values: parts.concat(),
                    own: Vec::new(),
                    words,
                }
            });
            results.collect()
        }) as Rest<'_>)
    };
    let (clock, shots) = (kept.clock, kept.todo().len());
    clock.shots(job, shots, || {
        survey::sum(at_work(stations, &work, world), (&mut kept, &mut total), world)
    })?;
    world.agree(match output {
        Some(output) => {
            let images = Images::new(&set_up.run.padded.model, &requested.request, total.0);
            write(job, &set_up, (&requested, images), output)
        }
        None => Ok(()),
    })
}

/// Writes the stacked images.
fn write(
    job: &mut Job,
    set_up: &SetUp,
    (requested, mut images): (&RequestedImages, Images),
    mut output: Output,
) -> anyhow::Result<()> {
    for ([image, _], word) in images.kinds.iter().zip(&requested.words) {
        if image.iter().all(|&x| x == 0.0) {
            job.warn(&format!(
                "the image {word} is zero: no wave of the data coincided with a wave of the sources; check \
                the data and the number of steps"
            ));
        }
    }
    if job.flag("norm")? {
        images.normalise(job.double("eps")?);
    }
    if job.given("illum") {
        write_light(job, set_up, requested, &images)?;
    }
    for [image, _] in &images.kinds {
        output.write_f32(image)?;
    }
    Ok(output.finish()?)
}

/// Writes the illumination; the illuminations of several images are written one after another.
fn write_light(
    job: &mut Job,
    set_up: &SetUp,
    requested: &RequestedImages,
    images: &Images,
) -> anyhow::Result<()> {
    let mut file = job.tagged_output("illum")?;
    let plain = RequestedImages {
        lags: [0; 3],
        words: requested.words.clone(),
        quantity: String::new(),
        request: requested.request.clone(),
    };
    plain.axes(&mut file, &set_up.run.padded.model);
    let quantity = match requested.words[..] {
        ["pp"] => "squared pressure of the sources",
        _ => "squared waves of the sources that form the images",
    };
    observed::name(&mut file, "Illumination", quantity);
    for [_, light] in &images.kinds {
        file.write_f32(light)?;
    }
    Ok(file.finish()?)
}
