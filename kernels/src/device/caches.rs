//! The data caches of the processors that this process may use, and each worker's share of them.
//!
//! Linux describes them in files on every kind of processor. Where these files are missing, and on other systems, the
//! second-level cache is assumed to be as large as in common processors of this vector width.

use super::cpu::Cpu;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

/// One kind of data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cache {
    /// Level of the cache; level 1 is nearest to the processor.
    pub level: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Number of processors that share it, counting only those that this process may use.
    pub shared: usize,
}

/// The data caches of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// All kinds of caches, sorted by level and size.
    kinds: Vec<Cache>,
    /// Number of processors that this process may use.
    processors: usize,
    /// Whether the operating system reported the caches; otherwise they are assumed.
    known: bool,
}

impl Caches {
    /// The caches of this machine. `wide` indicates whether its registers have 512 bits, which matters only where the
    /// operating system does not report the caches.
    pub fn of_this_machine(wide: bool) -> Self {
        static CACHES: OnceLock<Option<Caches>> = OnceLock::new();
        let caches = CACHES.get_or_init(|| {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let allowed = status
                .lines()
                .find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?;
            Self::read(Path::new("/sys/devices/system/cpu"), &numbers(allowed)?)
        });
        caches.clone().unwrap_or_else(|| Self::assumed(wide))
    }

    /// A first-level cache of 32 KiB and a second-level cache of `second` bytes, both private to each processor; for
    /// tests and measurements.
    pub fn given(second: usize) -> Self {
        let first = Cache {
            level: 1,
            bytes: 32 << 10,
            shared: 1,
        };
        Self {
            kinds: vec![
                first,
                Cache {
                    level: 2,
                    bytes: second,
                    ..first
                },
            ],
            processors: usize::MAX,
            known: true,
        }
    }

    /// Common sizes of the second-level cache: 2 MiB where registers have 512 bits, otherwise 512 KiB.
    fn assumed(wide: bool) -> Self {
        Self {
            known: false,
            ..Self::given(if wide { 2 << 20 } else { 512 << 10 })
        }
    }

    /// Reads the files of Linux below `folder` for the processors with these numbers; `None` where no second-level
    /// cache is found or a file cannot be understood.
    fn read(folder: &Path, processors: &[usize]) -> Option<Self> {
        let mut kinds = Vec::new();
        for number in processors {
            let caches = folder.join(format!("cpu{number}/cache"));
            for index in (0..).map(|k| caches.join(format!("index{k}"))) {
                let word = |name: &str| std::fs::read_to_string(index.join(name)).ok();
                let Some(kind) = word("type") else { break };
                if kind.trim() == "Instruction" {
                    continue;
                }
                let sharing = numbers(&word("shared_cpu_list")?)?;
                kinds.push(Cache {
                    level: word("level")?.trim().parse().ok()?,
                    bytes: size(&word("size")?)?,
                    shared: sharing.iter().filter(|k| processors.contains(k)).count().max(1),
                });
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        let second = kinds.iter().any(|cache| cache.level == 2);
        second.then_some(Self {
            kinds,
            processors: processors.len(),
            known: true,
        })
    }

    /// Bytes of this level for each of `workers` threads, which the operating system spreads over the processors. Where
    /// processors differ this is the smallest share, because all threads use tiles of one size. `None` without such a
    /// level.
    pub fn share(&self, level: usize, workers: usize) -> Option<usize> {
        let share = |cache: &Cache| {
            let on_it = (workers * cache.shared).div_ceil(self.processors);
            cache.bytes / on_it.clamp(1, workers.max(1))
        };
        let kinds = self.kinds.iter().filter(|cache| cache.level == level);
        kinds.map(share).min()
    }
}

impl fmt::Display for Caches {
    /// `caches 32 KiB, 512 KiB, 16 MiB shared by 4 processors`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self
            .kinds
            .iter()
            .map(|cache| match cache.shared {
                1 => bytes(cache.bytes),
                n => format!("{} shared by {n} processors", bytes(cache.bytes)),
            })
            .collect();
        let assumed = if self.known {
            ""
        } else {
            " (assumed: the system does not say)"
        };
        write!(f, "caches {}{assumed}", words.join(", "))
    }
}

/// Describes, for logs, how the size of tiles was chosen: by each thread's share of the second-level cache, or by the
/// user.
pub fn reason(cpu: &Cpu) -> String {
    let caches = cpu.caches();
    match (cpu.tile(), caches.share(2, cpu.threads())) {
        (Some(_), _) => format!("their size is asked for; {caches}"),
        (None, Some(share)) => format!(
            "chosen for {} of the second-level cache per thread; {caches}",
            bytes(share)
        ),
        (None, None) => format!("{caches}"),
    }
}

/// `512 KiB`
fn bytes(count: usize) -> String {
    match count {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 18) => format!("{} MiB", n as f64 / f64::from(1 << 20)),
        n => format!("{} KiB", n >> 10),
    }
}

/// `512K` in bytes.
fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => text.strip_suffix('M').map_or((text, 0), |digits| (digits, 20)),
    };
    let bytes = digits.parse::<usize>().ok()?.checked_mul(1 << unit)?;
    (bytes > 0).then_some(bytes)
}

/// The numbers of a list like `0-3,8`; `None` for anything else.
fn numbers(list: &str) -> Option<Vec<usize>> {
    const MOST: usize = 1 << 16;
    let mut numbers = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes files as Linux does: for each cache of each processor its level, type, size and list of sharing
    /// processors.
    fn machine(processors: &[&[[&str; 4]]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (number, caches) in processors.iter().enumerate() {
            for (index, words) in caches.iter().enumerate() {
                let at = folder.path().join(format!("cpu{number}/cache/index{index}"));
                std::fs::create_dir_all(&at).unwrap();
                for (name, word) in ["level", "type", "size", "shared_cpu_list"].iter().zip(words) {
                    std::fs::write(at.join(name), format!("{word}\n")).unwrap();
                }
            }
        }
        folder
    }

    #[test]
    fn four_threads_on_two_cores_with_a_common_last_level() {
        let of = |pair: &'static str| {
            [
                ["1", "Data", "32K", pair],
                ["1", "Instruction", "64K", pair],
                ["2", "Unified", "512K", pair],
                ["3", "Unified", "16384K", "0-3"],
            ]
        };
        let folder = machine(&[&of("0,2"), &of("1,3"), &of("0,2"), &of("1,3")]);
        let caches = Caches::read(folder.path(), &[0, 1, 2, 3]).unwrap();
        assert_eq!(
            caches.to_string(),
            "caches 32 KiB shared by 2 processors, 512 KiB shared by 2 processors, 16 MiB shared by 4 processors"
        );
        for (workers, second, third) in [(1, 512, 16384), (2, 512, 8192), (3, 256, 5461), (4, 256, 4096)] {
            assert_eq!(caches.share(2, workers), Some(second << 10), "{workers}");
            assert_eq!(
                caches.share(3, workers).map(|b| b >> 10),
                Some(third),
                "{workers}"
            );
        }
        assert_eq!(caches.share(4, 1), None);
        // A process that may run on only one of two sibling threads has their cache to itself.
        let alone = Caches::read(folder.path(), &[0, 1]).unwrap();
        assert_eq!(alone.share(2, 2), Some(512 << 10));
    }

    #[test]
    fn of_two_kinds_of_cores_the_smaller_share_counts() {
        let wide = [["2", "Unified", "2048K", "0"]];
        let narrow = [["2", "Unified", "2M", "1-4"]];
        let folder = machine(&[&wide, &narrow, &narrow, &narrow, &narrow]);
        let caches = Caches::read(folder.path(), &[0, 1, 2, 3, 4]).unwrap();
        assert_eq!(caches.share(2, 5), Some(512 << 10));
        assert_eq!(caches.share(2, 1), Some(2 << 20));
    }

    #[test]
    fn what_is_no_list_of_caches_is_not_believed() {
        for caches in [
            &[["2", "Unified", "512Q", "0"]],
            &[["2", "Unified", "0K", "0"]],
            &[["two", "Unified", "512K", "0"]],
            &[["2", "Unified", "512K", "0-"]],
            &[["2", "Unified", "512K", "9-1"]],
            &[["2", "Unified", "512K", "0-99999999999"]],
            // Without a second-level cache there is no basis for a choice.
            &[["1", "Data", "32K", "0"]],
        ] {
            let folder = machine(&[caches]);
            assert_eq!(Caches::read(folder.path(), &[0]), None, "{caches:?}");
        }
        assert_eq!(Caches::read(Path::new("/nowhere"), &[0]), None);
        assert_eq!(Caches::assumed(true).share(2, 8), Some(2 << 20));
        assert_eq!(
            Caches::assumed(false).to_string(),
            "caches 32 KiB, 512 KiB (assumed: the system does not say)"
        );
        assert!(Caches::of_this_machine(false).share(2, 1).is_some());
    }
}
