//! Threads, memory and instruction sets of the host.

use super::caches::Caches;
use super::simd::{Arch, Real};
use crate::{Error, Hint, message};
use memmap2::MmapMut;
use no_denormals::no_denormals;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// A pool of worker threads; every parallel loop of an engine runs on it.
pub struct Cpu {
    pool: rayon::ThreadPool,
    arch: Arch,
    caches: Caches,
    tile: Option<Tile>,
}

/// The part of a plane that a thread computes before it moves on to the next plane, where the user has set it.
/// Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Number of cells along the fastest axis; 0: all of them.
    pub cells: usize,
    /// Number of rows, in 3-D; 0: all of them.
    pub rows: usize,
}

impl Cpu {
    /// A pool of `threads` workers (0: one per core that this process may use).
    pub fn new(threads: usize) -> Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| {
                Error::setup(message![
                    format!("cannot start {threads} threads: {e}; "),
                    Hint::FewerThreads,
                ])
            })?;
        let arch = Arch::of_this_machine();
        Ok(Self {
            pool,
            arch,
            caches: Caches::of_this_machine(arch.bits() >= 512),
            tile: None,
        })
    }

    /// Starts another pool with the same settings.
    pub fn another(&self) -> Result<Self, Error> {
        Ok(Self {
            arch: self.arch,
            caches: self.caches.clone(),
            tile: self.tile,
            ..Self::new(self.threads())?
        })
    }

    /// This pool with tiles of a given size, which replaces the size chosen from the caches; `None` restores that
    /// choice.
    pub fn with_tile(self, tile: Option<Tile>) -> Self {
        Self { tile, ..self }
    }

    /// This pool as if the machine had the given caches.
    pub fn with_caches(self, caches: Caches) -> Self {
        Self { caches, ..self }
    }

    /// This pool with registers of at most `most` bits, to run the code for processors with fewer instructions.
    pub fn with_registers(self, most: usize) -> Self {
        let arch = self.arch.at_most(most);
        Self { arch, ..self }
    }

    /// The caches of the machine.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// The tile that the user has set.
    pub fn tile(&self) -> Option<Tile> {
        self.tile
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The widest instruction set of this machine that the engine uses.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// One line for logs: threads and instruction set.
    pub fn describe(&self) -> String {
        let threads = self.threads();
        let set = self.arch.name();
        format!(
            "CPU, {threads} thread{}, {set}",
            if threads == 1 { "" } else { "s" }
        )
    }

    /// Runs `job(worker, index)` for every index below `count`, on all threads, in no particular order.
    /// `worker` is below [`Cpu::threads`] and no two jobs run at once on the same worker.
    ///
    /// Denormal numbers are flushed to zero in a job: the amplitudes ahead of a wave front decay through their range,
    /// and a processor needs a hundred times longer for each.
    pub fn for_each(&self, count: usize, job: impl Fn(usize, usize) + Sync) {
        use rayon::prelude::*;
        if self.threads() == 1 {
            (0..count).for_each(|i| flushed(|| job(0, i)));
            return;
        }
        self.pool.install(|| {
            (0..count).into_par_iter().with_max_len(1).for_each(|i| {
                let worker = rayon::current_thread_index().expect("runs inside the pool");
                flushed(|| job(worker, i));
            });
        });
    }

    /// The smallest number that any job returns, `None` if all return `None`; jobs run as in [`Cpu::for_each`].
    pub fn least(&self, count: usize, find: impl Fn(usize) -> Option<usize> + Sync) -> Option<usize> {
        let least = Mutex::new(None::<usize>);
        self.for_each(count, |_, i| {
            if let Some(number) = find(i) {
                let mut least = least.lock().expect("no job panics while it holds this");
                *least = Some(least.map_or(number, |l| l.min(number)));
            }
        });
        least.into_inner().expect("no job panics while it holds this")
    }

    /// Copies between slices of the same length, on all threads.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        use rayon::prelude::*;
        const PIECE: usize = 1 << 20;
        if self.threads() == 1 || from.len() <= PIECE {
            return to.copy_from_slice(from);
        }
        let pieces = to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE));
        self.pool
            .install(|| pieces.for_each(|(to, from)| to.copy_from_slice(from)));
    }

    /// Runs a closure inside the pool, so that rayon's own iterators use it.
    pub fn install<R: Send>(&self, job: impl FnOnce() -> R + Send) -> R {
        self.pool.install(job)
    }
}

/// Lowers the priority of the calling thread so that it runs only on idle processors, where the operating system
/// supports it. A step waits for its slowest worker, so an auxiliary thread must not take a processor from any worker.
pub fn stand_back() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call only changes how this thread is scheduled; if it fails, the thread is unchanged.
    unsafe {
        let parameters = std::mem::zeroed::<libc::sched_param>();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters);
    }
}

/// Runs a job with denormal numbers flushed to zero.
pub(crate) fn flushed(job: impl FnOnce()) {
    // SAFETY: the jobs are plain arithmetic whose results may differ by such numbers; the mode is restored on return.
    unsafe { no_denormals(job) }
}

/// Zeroed memory in separate pages, which are large where the operating system supports it: a sweep touches some
/// hundred rows at once, more than the TLB of a processor covers with small pages.
pub struct Buffer<T> {
    pages: MmapMut,
    len: usize,
    kind: std::marker::PhantomData<T>,
}

impl<T: Real> Buffer<T> {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Result<Self, Error> {
        let bytes = (len * size_of::<T>()).max(1);
        let pages = MmapMut::map_anon(bytes).map_err(|e| {
            Error::setup(message![
                format!("cannot get {bytes} bytes of memory: {e}; use a smaller grid or "),
                Hint::NarrowerFrame,
                ", or more slabs on more machines",
            ])
        })?;
        #[cfg(target_os = "linux")]
        // This is only advice: with small pages the numbers are the same, but the run is slower.
        let _ = pages.advise(memmap2::Advice::HugePage);
        Ok(Self {
            pages,
            len,
            kind: std::marker::PhantomData,
        })
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[T] {
        bytemuck::cast_slice(&self.pages[..self.len * size_of::<T>()])
    }

    /// The numbers, writable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.pages[..self.len * size_of::<T>()])
    }

    /// Bytes of memory that this buffer holds.
    pub fn bytes(&self) -> usize {
        self.pages.len()
    }
}

impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

/// Index of the first number that is not finite.
pub(crate) fn first_bad<T: Real>(numbers: &[T]) -> Option<usize> {
    if finite(numbers) {
        return None;
    }
    numbers.iter().position(|x| !x.f64().is_finite())
}

/// Whether all numbers are finite, tested at the speed of memory: zero times infinity or NaN is NaN.
fn finite<T: Real>(numbers: &[T]) -> bool {
    const LANES: usize = 32;
    let zero = T::of(0.0);
    let mut sums = [zero; LANES];
    let (blocks, rest) = numbers.as_chunks::<LANES>();
    for block in blocks {
        for (sum, &x) in sums.iter_mut().zip(block) {
            *sum += x * zero;
        }
    }
    sums.iter().all(|&s| s == zero) && rest.iter().all(|&x| x * zero == zero)
}
