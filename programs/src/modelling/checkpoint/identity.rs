//! The identity of a run, by which a state is recognised: program, grid, parameters, acquisition, model.

use kernels::time_loop::state::StateHeader;
use rsf_io::Job;
use xxhash_rust::xxh3::xxh3_64;

/// Parameters that do not change the results. `nt` may be larger when a run is resumed.
pub const FREE: [&str; 15] = [
    "threads",
    "tile",
    "device",
    "gpu",
    "ngpu",
    "groups",
    "exchange",
    "verb",
    "plan",
    "cfl",
    "jcheck",
    "nt",
    "checkpoint",
    "every",
    "resume",
];

/// Parameters that do not change the results of programs that sum over the shots of a survey.
const FREE_OF_SUMS: [&str; 15] = [
    "threads",
    "device",
    "gpu",
    "ngpu",
    "groups",
    "verb",
    "plan",
    "cfl",
    "jcheck",
    "memory",
    "disk",
    "scratch",
    "checkpoint",
    "every",
    "resume",
];

/// The largest number of differences that a message lists.
const MOST_DIFFERENCES: usize = 3;

/// Everything that determines the results of a run.
pub struct Identity {
    program: &'static str,
    grid: String,
    /// Name and value of each parameter; `None` if the value follows from others.
    settings: Vec<(&'static str, Option<String>)>,
    /// Checksums of small inputs, by their names in messages.
    contents: Vec<(&'static str, u64)>,
    /// Checksums of the source terms up to each step.
    sources: Vec<u64>,
    /// Checksum of the model, once it is read.
    model: u64,
    /// The parameters that may differ, as a list in words.
    free: String,
}

/// The list in the form `threads=, tile=, nt= and the names of files`.
fn listed(free: &[&str]) -> String {
    let own = ["groups", "plan", "checkpoint", "every", "resume"];
    let others = free.iter().filter(|name| !own.contains(name));
    let words: Vec<String> = others.map(|name| format!("{name}=")).collect();
    format!("{} and the names of files", words.join(", "))
}

impl Identity {
    /// The identity of a run whose model is not yet read, from its grid in words, checksums of its small
    /// inputs by their names, and checksums of the source terms of each step.
    pub fn of(
        job: &Job,
        grid: String,
        contents: Vec<(&'static str, u64)>,
        sources_by_step: Vec<u64>,
    ) -> anyhow::Result<Self> {
        let mut sources = vec![0];
        for step in sources_by_step {
            let before = sources[sources.len() - 1];
            sources.push(xxh3_64(bytemuck::bytes_of(&[before, step])));
        }
        Ok(Self {
            program: job.declared_name(),
            grid,
            settings: job.settings(&FREE)?,
            contents,
            sources,
            model: 0,
            free: listed(&FREE),
        })
    }

    /// The identity of sums over the shots of a survey with this grid and these contents; its states count
    /// shots instead of steps.
    pub fn of_sums(job: &Job, grid: String, contents: Vec<(&'static str, u64)>) -> anyhow::Result<Self> {
        Ok(Self {
            program: job.declared_name(),
            grid,
            settings: job.settings(&FREE_OF_SUMS)?,
            contents,
            sources: Vec::new(),
            model: 0,
            free: listed(&FREE_OF_SUMS),
        })
    }

    /// This identity with the checksum of its model.
    pub fn over(mut self, model: u64) -> Self {
        self.model = model;
        self
    }

    /// The labels in the header of a state after `step` steps.
    pub fn labels(&self, step: usize) -> Vec<(String, String)> {
        let mut labels = vec![
            ("program".into(), self.program.into()),
            ("version".into(), rsf_io::version()),
            ("grid".into(), self.grid.clone()),
        ];
        for (name, value) in &self.settings {
            labels.extend(value.clone().map(|value| (setting(name), value)));
        }
        for (name, sum) in &self.contents {
            labels.push((content(name), format!("{sum:016x}")));
        }
        labels.push(("sources".into(), self.sources_until(step)));
        labels.push(("model".into(), format!("{:016x}", self.model)));
        labels
    }

    fn sources_until(&self, step: usize) -> String {
        self.sources
            .get(step)
            .map_or(String::new(), |sum| format!("{sum:016x}"))
    }

    /// The reason why a state does not belong to this run, as the end of a message; the model is compared
    /// later.
    pub fn difference(&self, header: &StateHeader) -> Option<String> {
        let program = header.label("program").unwrap_or("an unnamed program");
        if program != self.program {
            return Some(format!(
                "the state was saved by {program}, but this program is {}",
                self.program
            ));
        }
        let grid = header.label("grid").unwrap_or_default();
        if grid != self.grid {
            return Some(format!(
                "the state belongs to another grid: {grid} in the state, {} here",
                self.grid
            ));
        }
        let mut differences = Vec::new();
        for (name, here) in &self.settings {
            let there = header.label(&setting(name));
            if there != here.as_deref() {
                let word = |value: Option<&str>| value.map_or("not given".into(), str::to_string);
                differences.push(format!(
                    "{name}= is {} in the state and {} here",
                    word(there),
                    word(here.as_deref())
                ));
            }
        }
        for (name, sum) in &self.contents {
            if header.label(&content(name)) != Some(&format!("{sum:016x}")) {
                differences.push(format!(
                    "the content of {name} has changed since the state was saved"
                ));
            }
        }
        if differences.is_empty() && header.label("sources") != Some(&self.sources_until(header.step)) {
            let until = format!(
                "the sources of the first {} steps differ from those in the state",
                header.step
            );
            differences.push(until);
        }
        if differences.is_empty() {
            return None;
        }
        let more = differences.len().saturating_sub(MOST_DIFFERENCES);
        differences.truncate(MOST_DIFFERENCES);
        let more = if more > 0 {
            format!("; {more} more differ")
        } else {
            String::new()
        };
        Some(format!(
            "the state belongs to another run: {}{more}; continue with the parameters of that run (only {} may differ)",
            differences.join("; "),
            self.free
        ))
    }
}

/// The label of a parameter.
fn setting(name: &str) -> String {
    format!("parameter {name}")
}

/// The label of a small input; labels must not contain an equals sign.
fn content(name: &str) -> String {
    format!("content of {}", name.replace('=', ""))
}
