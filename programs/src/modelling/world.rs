//! The ranks of a run: their hosts, agreement among them, and the end of all ranks after an error on one of
//! them.

#[cfg(test)]
#[path = "../../../tests/support/members.rs"]
pub mod members;

use super::words::explained;
use anyhow::anyhow;
use kernels::communicator::{Alone, Communicator};
use kernels::stability::{BadCell, Findings};
use rsf_io::{Job, launched};

/// An error that all ranks know of and that this rank reports.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
struct Agreed {
    words: String,
    code: u8,
}

/// An error of another rank, which the message names.
pub fn of_another(words: String) -> anyhow::Error {
    Agreed { words, code: 1 }.into()
}

/// The position of a rank among the ranks of its host.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The number of ranks on this host that precede this one.
    pub place: usize,
    /// The number of ranks on this host.
    pub ranks: usize,
    /// The number of ranks on this host that may use the same cores.
    pub sharing: usize,
}

/// This process among its ranks.
pub enum World {
    /// A process that is the only one of its run.
    Alone(Alone),
    /// Ranks that an MPI launcher has started.
    #[cfg(feature = "mpi")]
    Mpi(ranks::World),
    /// Threads of a test.
    #[cfg(test)]
    Members(Box<members::Member>),
}

/// The places of a rank; `all` has, for every rank, its host and, on a second line, its cores.
fn places(all: &[Vec<u8>], rank: usize) -> Places {
    fn host(words: &[u8]) -> &[u8] {
        words.split(|&byte| byte == b'\n').next().unwrap_or_default()
    }
    let mine = &all[rank];
    let here = |words: &&Vec<u8>| host(words) == host(mine);
    Places {
        place: all[..rank].iter().filter(here).count(),
        ranks: all.iter().filter(here).count(),
        sharing: all.iter().filter(|words| *words == mine).count(),
    }
}

impl World {
    /// Meets the other ranks, if there are any.
    ///
    /// # Errors
    /// Returns an error if a launcher has started ranks of a program without MPI, with another MPI, or of
    /// different programs.
    pub fn start() -> anyhow::Result<Self> {
        let Some(all) = launched().filter(|all| all.size > 1) else {
            return Ok(Self::alone());
        };
        // Before the ranks have met, the launcher's first rank reports errors.
        Self::join(all.size, all.by).map_err(|error| match all.rank {
            0 => error,
            _ => rsf_io::Error::Reported(1).into(),
        })
    }

    /// All ranks call this when they have read their command lines. `begun` says whether the rank has
    /// something to run: either all ranks must have something to run, or none.
    pub fn begin(&self, begun: bool, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        if self.is_alone() {
            return outcome;
        }
        let all = self.ranks().all_gather(&[u8::from(begun)])?;
        self.agree(outcome)?;
        if all.iter().all(|words| words == &all[0]) {
            return Ok(());
        }
        self.agree(Err(anyhow!(
            "some ranks have a run but others have none: give all of them the same parameters, and give the \
            wavelet by wav= if the command line has no other parameter"
        )))
    }

    /// Checks that all ranks run the same shot: only the parameters of devices and threads, and `verb=`, may differ.
    pub fn same_shot(&self, job: &Job) -> anyhow::Result<()> {
        let mine = job.words_but(&["threads", "tile", "gpu", "ngpu", "groups", "device", "verb"]);
        let all = self.ranks().all_gather(mine.as_bytes())?;
        let other = all.iter().position(|words| words != &all[0]);
        self.agree(match other {
            None => Ok(()),
            Some(rank) => Err(anyhow!(
                "ranks run different shots: rank 0 has {}, rank {rank} has {}; only threads=, tile=, device=, gpu=, ngpu=, groups= and verb= may differ",
                String::from_utf8_lossy(&all[0]),
                String::from_utf8_lossy(&all[rank])
            )),
        })
    }

    #[cfg(not(feature = "mpi"))]
    fn join(size: usize, launcher: &str) -> anyhow::Result<Self> {
        Err(anyhow!(
            "started by {launcher} as {size} ranks, but this build has no MPI: every rank would run the whole shot; start it without {launcher}, or build with MPI (./sconsw mpi=y)"
        ))
    }

    #[cfg(feature = "mpi")]
    fn join(size: usize, launcher: &str) -> anyhow::Result<Self> {
        let world = ranks::World::start()?;
        if world.size() != size {
            let (count, version) = (world.size(), ranks::version());
            world.end();
            return Err(anyhow!(
                "started by {launcher} as {size} ranks, but the MPI of this build ({version}) finds {count}: use the launcher of that MPI, or build with the MPI of {launcher}"
            ));
        }
        let world = Self::Mpi(world);
        match world.same_program() {
            Ok(()) => Ok(world),
            Err(error) => world.close(Err(error)).map(|()| Self::alone()),
        }
    }

    /// Checks that all ranks run the same binary, because different binaries may compute different numbers.
    #[cfg(feature = "mpi")]
    fn same_program(&self) -> anyhow::Result<()> {
        use std::hash::Hasher;
        let bytes = std::env::current_exe()
            .and_then(std::fs::read)
            .unwrap_or_default();
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(&bytes);
        let mine = format!("{} {:016x}", rsf_io::version(), hasher.finish());
        let all = self.ranks().all_gather(mine.as_bytes())?;
        let other = all.iter().position(|words| words != &all[0]);
        self.agree(match other {
            None => Ok(()),
            Some(rank) => Err(anyhow!(
                "ranks run different binaries: rank 0 has {}, rank {rank} has {}; start all of them from one build",
                String::from_utf8_lossy(&all[0]),
                String::from_utf8_lossy(&all[rank])
            )),
        })
    }

    /// A process without other ranks, or one that computes whole shots without communicating with them.
    pub fn alone() -> Self {
        Self::Alone(Alone)
    }

    /// The ranks in the form that the engine needs.
    pub fn ranks(&self) -> &dyn Communicator {
        match self {
            Self::Alone(alone) => alone,
            #[cfg(feature = "mpi")]
            Self::Mpi(world) => world,
            #[cfg(test)]
            Self::Members(member) => &**member,
        }
    }

    /// Whether this is the only process.
    pub fn is_alone(&self) -> bool {
        self.ranks().size() == 1
    }

    /// Whether this rank reads standard input, writes the data and prints messages.
    pub fn leads(&self) -> bool {
        self.ranks().rank() == 0
    }

    /// The name of this rank, such as `rank 2 on node17`.
    pub fn name(&self) -> String {
        format!("rank {} on {}", self.ranks().rank(), self.ranks().host())
    }

    /// The position of this rank among the ranks of its host.
    pub fn of_host(&self) -> anyhow::Result<Places> {
        let host = self.ranks().host();
        // Launchers may give each rank its own cores.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let cores = status.lines().find(|line| line.starts_with("Cpus_allowed:"));
        let all = self
            .ranks()
            .all_gather(format!("{host}\n{}", cores.unwrap_or_default()).as_bytes())?;
        Ok(places(&all, self.ranks().rank()))
    }

    /// All ranks call this with their results. If one has failed, all fail, and the first one that has failed
    /// reports the error.
    pub fn agree<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        if self.is_alone() {
            return outcome;
        }
        // A rank that only knows that another rank reports an error does not have its own message.
        let own = outcome.as_ref().err().filter(|error| !is_reported(error));
        let code = own.map_or(0, rsf_io::exit_code);
        let words = own.map_or(String::new(), explained);
        let mut mine = words.clone().into_bytes();
        mine.push(code);
        let all = self.ranks().all_gather(&mine)?;
        let Some(first) = all.iter().position(|words| words.len() > 1) else {
            return outcome;
        };
        if first != self.ranks().rank() {
            return Err(rsf_io::Error::Reported(all[first].last().copied().unwrap_or(1)).into());
        }
        let all_know = all.iter().all(|other| *other == all[first]);
        let words = match all_know {
            true => words,
            false => format!("{}: {words}", self.name()),
        };
        Err(Agreed { words, code }.into())
    }

    /// The numbers of all ranks, in the order of the ranks.
    pub fn numbers(&self, mine: &[u64]) -> anyhow::Result<Vec<Vec<u64>>> {
        let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
        let all = self.ranks().all_gather(&bytes)?;
        let read = |bytes: &Vec<u8>| {
            let words = bytes.as_chunks::<8>().0.iter();
            words.map(|&word| u64::from_le_bytes(word)).collect()
        };
        Ok(all.iter().map(read).collect())
    }

    /// The numbers of rank 0, on all ranks.
    pub fn from_first(&self, mine: &[u64]) -> anyhow::Result<Vec<u64>> {
        Ok(self.numbers(mine)?.swap_remove(0))
    }

    /// The error of the first rank that has one, with the name of that rank; the result is the same on all ranks.
    pub fn complaint(&self, mine: Option<String>) -> anyhow::Result<Option<String>> {
        if self.is_alone() {
            return Ok(mine);
        }
        let words = mine.map_or(String::new(), |text| format!("{}: {text}", self.name()));
        let all = self.ranks().all_gather(words.as_bytes())?;
        let first = all.iter().find(|words| !words.is_empty());
        Ok(first.map(|words| String::from_utf8_lossy(words).into_owned()))
    }

    /// Whether `here` is true on any rank.
    pub fn any(&self, here: bool) -> anyhow::Result<bool> {
        let all = self.ranks().all_gather(&[u8::from(here)])?;
        Ok(all.iter().any(|words| words == &[1]))
    }

    /// The sum over all ranks.
    pub fn sum(&self, here: usize) -> anyhow::Result<usize> {
        let all = self.numbers(&[here as u64])?;
        Ok(all.iter().flatten().sum::<u64>() as usize)
    }

    /// For each host, its name, the number of its ranks, the sum of their `need` and the least of their
    /// `free`.
    pub fn by_host(&self, need: f64, free: f64) -> anyhow::Result<Vec<(String, usize, [f64; 2])>> {
        let hosts = self.ranks().all_gather(self.ranks().host().as_bytes())?;
        let all = self.numbers(&[need, free].map(f64::to_bits))?;
        let mut list: Vec<(String, usize, [f64; 2])> = Vec::new();
        for (host, numbers) in hosts.iter().zip(&all) {
            let host = String::from_utf8_lossy(host).into_owned();
            let number = |k: usize| numbers.get(k).map_or(0.0, |&bits| f64::from_bits(bits));
            match list.iter_mut().find(|known| known.0 == host) {
                Some((_, ranks, [needed, least])) => {
                    *ranks += 1;
                    *needed += number(0);
                    *least = least.min(number(1));
                }
                None => list.push((host, 1, [number(0), number(1)])),
            }
        }
        Ok(list)
    }

    /// The ranks in words, as in `4 ranks on 2 hosts; rank 0: `; empty for a process that is alone.
    pub fn describe(&self) -> anyhow::Result<String> {
        if self.is_alone() {
            return Ok(String::new());
        }
        let mut hosts = self.ranks().all_gather(self.ranks().host().as_bytes())?;
        hosts.sort();
        hosts.dedup();
        let (ranks, hosts) = (self.ranks().size(), hosts.len());
        let plural = if hosts == 1 { "" } else { "s" };
        Ok(format!(
            "{ranks} ranks on {hosts} host{plural}; rank {}: ",
            self.ranks().rank()
        ))
    }

    /// Combines the findings about parts of the model. The error is returned on the rank with the first bad cell, and
    /// the others fail without a message, so [`World::agree`] must be called next.
    pub fn merge(&self, findings: Result<Findings, BadCell>) -> anyhow::Result<Result<Findings, BadCell>> {
        if self.is_alone() {
            return Ok(findings);
        }
        let words: Vec<u64> = match &findings {
            Ok(findings) => findings.to_words().to_vec(),
            Err(bad) => vec![bad.cell as u64],
        };
        let all = self.numbers(&words)?;
        if let Some(first) = all
            .iter()
            .filter(|words| words.len() == 1)
            .map(|words| words[0])
            .min()
        {
            return match findings {
                Err(bad) if bad.cell as u64 == first => Ok(Err(bad)),
                _ => Err(rsf_io::Error::Reported(1).into()),
            };
        }
        let read = |words: &Vec<u64>| Findings::from_words(words.as_slice().try_into().ok()?);
        let each: Option<Vec<Findings>> = all.iter().map(read).collect();
        let mut each = each
            .ok_or_else(|| anyhow!("internal error: ranks exchanged findings of different sizes"))?
            .into_iter();
        let mut whole = each
            .next()
            .ok_or_else(|| anyhow!("internal error: no rank has findings about the model"))?;
        each.for_each(|other| whole.merge(&other));
        Ok(Ok(whole))
    }

    /// Ends MPI: in an orderly way after a success or an error that is known on all ranks; at once, with a message from
    /// this rank, after an error that the others are not aware of.
    pub fn close(self, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        match self {
            Self::Alone(_) => outcome,
            #[cfg(feature = "mpi")]
            Self::Mpi(_) => self.close_all(outcome),
            #[cfg(test)]
            Self::Members(_) => outcome,
        }
    }

    #[cfg(feature = "mpi")]
    fn close_all(self, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        let Err(error) = outcome else {
            self.ranks().all_gather(&[])?;
            return self.finish(Ok(()));
        };
        let ours = |cause: &(dyn std::error::Error + 'static)| {
            matches!(
                cause.downcast_ref(),
                Some(rsf_io::Error::Reported(_) | rsf_io::Error::DryRun)
            )
        };
        let agreed = error.chain().find_map(|cause| cause.downcast_ref::<Agreed>());
        let code = agreed.map(|agreed| agreed.code);
        if code.is_none() && !error.chain().any(ours) {
            return Err(self.fail(error));
        }
        // Launchers end all ranks when one fails, so the message is printed first.
        if code.is_some() {
            print_error(&error, "");
        }
        self.ranks().all_gather(&[])?;
        self.finish(Err(
            code.map_or(error, |code| rsf_io::Error::Reported(code).into())
        ))
    }

    #[cfg(feature = "mpi")]
    fn finish(self, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        if let Self::Mpi(world) = self {
            world.end();
        }
        outcome
    }

    /// Ends all ranks at once, with an error that the others are not aware of, before resources that they may still use
    /// are released. A process that is alone returns the error.
    pub fn fail(&self, error: anyhow::Error) -> anyhow::Error {
        #[cfg(feature = "mpi")]
        if let Self::Mpi(world) = self {
            // If several ranks fail at once, the delay lets the first one end the others.
            std::thread::sleep(std::time::Duration::from_millis(30 * world.rank().min(20) as u64));
            let named = error.chain().any(|cause| cause.is::<Agreed>());
            let name = if named { String::new() } else { self.name() + ": " };
            print_error(&error, &name);
            world.abort(rsf_io::exit_code(&error));
        }
        error
    }
}

/// Prints an error as a single line, unless the reader of the output has closed the pipe.
#[cfg(feature = "mpi")]
fn print_error(error: &anyhow::Error, who: &str) {
    use std::io::Write;
    let agreed = error.chain().find_map(|cause| cause.downcast_ref::<Agreed>());
    if agreed.map_or_else(|| rsf_io::exit_code(error), |agreed| agreed.code) == rsf_io::CLOSED_PIPE {
        return;
    }
    let text = explained(error);
    let line: Vec<&str> = text.lines().map(str::trim).collect();
    let message = format!("{}: {who}{}\n", program(), line.join(" "));
    // If stderr is closed, the error cannot be printed.
    let _ = std::io::stderr().write_all(message.as_bytes());
    // Launchers may lose output that a rank wrote just before its end.
    std::thread::sleep(std::time::Duration::from_millis(200));
}

/// Whether another rank reports the error.
fn is_reported(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(rsf_io::Error::Reported(_)))
}

/// The name by which this program was called.
#[cfg(feature = "mpi")]
fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&called).file_name();
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Gives all ranks the standard input of rank 0.
pub fn share_stdin(job: &mut Job, world: &World) -> anyhow::Result<()> {
    if world.is_alone() {
        return Ok(());
    }
    let read = if world.leads() {
        job.stdin_for_all()
    } else {
        Ok(Vec::new())
    };
    let bytes = world.agree(read.map_err(anyhow::Error::from))?;
    let all = world.ranks().all_gather(&bytes)?;
    world.agree(job.set_stdin(&all[0]).map_err(anyhow::Error::from))
}

#[cfg(test)]
mod tests;
