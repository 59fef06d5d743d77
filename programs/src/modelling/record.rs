//! The recorder that writes RSF, and the axes of what it writes.

use anyhow::bail;
use kernels::grid::{AXES, Padded};
use kernels::survey::Snapshots;
use kernels::time_loop::Recorder;
use rsf_io::{Axis, Job, Output};
use std::ops::Range;

/// The snapshot window in padded cells and its axes; `None` with `snap=n`. `whole`: the cells without `nq*=`, `oq*=`.
pub fn window(
    job: &Job,
    padded: &Padded,
    whole: [Range<usize>; 3],
    nt: usize,
) -> anyhow::Result<(Option<Snapshots>, Vec<Axis>)> {
    if !job.flag("snap")? {
        if job.given("wfl") {
            job.warn("wfl= is given but snap=n: no snapshots are written; add snap=y");
        }
        return Ok((None, Vec::new()));
    }
    if !job.given("wfl") {
        job.warn("wfl= is not given: the snapshots go into the file wfl");
    }
    let mut cells = [0..1, 0..1, 0..1];
    let mut axes = Vec::new();
    for a in 0..padded.ndim() {
        let (n_key, o_key) = (format!("nq{}", AXES[a]), format!("oq{}", AXES[a]));
        let n = job.int_opt(&n_key)?.map_or(Ok(whole[a].len()), usize::try_from)?;
        let d = padded.d()[a];
        let start = padded.o[a] + whole[a].start as f32 * d;
        let o = job.float_opt(&o_key)?.unwrap_or(start);
        // The nearest node; half-way origins (a hundredth of a cell either way) go down, as the original's floor has them.
        let first = ((f64::from(o) - f64::from(padded.o[a])) / f64::from(d) + 0.49).floor();
        if first < 0.0 || first + n as f64 > padded.n[a] as f64 {
            let last = padded.o[a] + (padded.n[a] - 1) as f32 * d;
            bail!(
                "snapshot window {n_key}={n} {o_key}={o} leaves the grid: along {} it has {} nodes from {} to {last}, frame included",
                AXES[a],
                padded.n[a],
                padded.o[a]
            );
        }
        cells[a] = first as usize..first as usize + n;
        axes.push(Axis::new(n, o, d));
    }
    let every = job.int_opt("jsnap")?.map_or(Ok(nt.max(1)), usize::try_from)?;
    Ok((Some(Snapshots { every, window: cells }), axes))
}

/// The axes of what a run writes.
pub struct Records {
    /// Steps and when the first record is taken.
    pub time: Axis,
    /// Receivers.
    pub receivers: Axis,
    /// Components of the data.
    pub components: Axis,
    /// Steps from record to record.
    pub jdata: usize,
    /// Snapshots, if any.
    pub snapshots: Option<Films>,
}

/// The axes of snapshots.
pub struct Films {
    /// Steps and when the first is taken.
    pub time: Axis,
    /// Steps from one to the next.
    pub every: usize,
    /// Axes z, x[, y].
    pub window: Vec<Axis>,
    /// Their components.
    pub components: Axis,
}

/// The files a run writes.
pub struct Outputs {
    data: Output,
    snapshots: Option<Output>,
}

impl Outputs {
    /// Opens the outputs and sets their axes.
    pub fn open(job: &mut Job, records: &Records) -> anyhow::Result<Self> {
        let thinned = |time: &Axis, every: usize| Axis {
            n: time.n.div_ceil(every),
            d: time.d * every as f32,
            label: Some("t".into()),
            ..time.clone()
        };
        let mut data = job.output()?;
        data.set_axis(1, &records.receivers);
        data.set_axis(2, &records.components);
        data.set_axis(3, &thinned(&records.time, records.jdata));
        data.set_rank(3);
        let snapshots = match &records.snapshots {
            None => None,
            Some(films) => {
                let mut wfl = job.tagged_output("wfl")?;
                films
                    .window
                    .iter()
                    .enumerate()
                    .for_each(|(i, axis)| wfl.set_axis(i + 1, axis));
                let rank = films.window.len();
                wfl.set_axis(rank + 1, &films.components);
                wfl.set_axis(rank + 2, &thinned(&films.time, films.every));
                wfl.set_rank(rank + 2);
                Some(wfl)
            }
        };
        Ok(Self { data, snapshots })
    }

    /// Puts a text into the headers.
    pub fn tell(&mut self, key: &str, text: &str) {
        self.data.put_text(key, text);
        if let Some(wfl) = &mut self.snapshots {
            wfl.put_text(key, text);
        }
    }

    /// Puts the device into the history of what is written.
    pub fn note(&mut self, device: &str) {
        let version = rsf_io::version();
        self.data.put_note(&version, device);
        if let Some(wfl) = &mut self.snapshots {
            wfl.put_note(&version, device);
        }
    }

    /// Ends a dry run, which wants the header of the data and nothing else.
    pub fn header_only(self) -> anyhow::Result<()> {
        Ok(self.data.finish()?)
    }
}

/// Writes what the engine measures.
pub struct Writer {
    outputs: Outputs,
    silent: bool,
}

impl Writer {
    /// A writer into these files.
    pub fn new(outputs: Outputs) -> Self {
        Self {
            outputs,
            silent: true,
        }
    }

    /// Ends the files; data without a single non-zero number are worth a warning.
    pub fn finish(self, job: &Job) -> anyhow::Result<()> {
        self.outputs.data.finish()?;
        if let Some(wfl) = self.outputs.snapshots {
            wfl.finish()?;
        }
        if self.silent {
            job.warn("all data are zero: no wave reached a receiver; look at the source, the wavelet and the number of steps");
        }
        Ok(())
    }
}

fn write(output: &mut Output, values: &[f32]) -> Result<(), kernels::Error> {
    output
        .write_f32(values)
        .map_err(|e| kernels::Error::Recorder(Box::new(e)))
}

impl Recorder<f32> for Writer {
    fn traces(&mut self, _it: usize, traces: &[f32]) -> Result<(), kernels::Error> {
        self.silent &= traces.iter().all(|&x| x == 0.0);
        write(&mut self.outputs.data, traces)
    }

    fn snapshot(&mut self, _it: usize, piece: &[f32]) -> Result<(), kernels::Error> {
        self.outputs
            .snapshots
            .as_mut()
            .map_or(Ok(()), |wfl| write(wfl, piece))
    }
}
