//! Streams of emulated accelerators: work is deferred until the host waits for it, and is then done in an order that
//! only the streams and their events restrict. If an event is missing, some seeds give other bits.

use kernels::Error;
use kernels::device::accelerator::Stream;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time for which a stream waits for the signal of a device on another thread.
const PATIENCE: Duration = Duration::from_secs(120);

/// Work in a stream.
pub type Work = Arc<dyn Fn() -> Result<(), Error> + Send + Sync>;

/// A point in a stream: the number with which it was last set, 0 before.
pub type Event = Arc<AtomicUsize>;

enum Item {
    Work(Work),
    Set(usize),
    Wait(usize),
    /// A wait until the number at an address is at least this.
    AwaitSignal(u64, u64),
}

/// The number at an address, which other threads may write.
pub fn word<'a>(address: u64) -> &'a AtomicU64 {
    // SAFETY: the callers of the signals of `Accelerator` guarantee eight aligned bytes that stay alive until they are
    // done.
    unsafe { AtomicU64::from_ptr(address as *mut u64) }
}

/// Retries until there is a result, which may depend on other threads.
pub fn patiently(mut attempt: impl FnMut() -> Option<Result<(), Error>>) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        if begun.elapsed() > PATIENCE {
            return Err(Error::setup("streams wait for each other for ever"));
        }
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// The streams of all devices that one thread has opened.
#[derive(Default)]
pub struct Streams(Mutex<State>);

#[derive(Default)]
struct State {
    /// Streams by device and kind.
    lines: BTreeMap<(usize, usize), VecDeque<Item>>,
    /// Number of events set, and those reached.
    set: usize,
    reached: BTreeSet<usize>,
    devices: usize,
    chance: u64,
    /// Determines the current order of preference of the streams.
    mood: u64,
    failed: Option<String>,
}

thread_local! {
    static OF_THREAD: RefCell<Arc<Streams>> = RefCell::default();
}

/// The streams of one device.
#[derive(Clone)]
pub struct Late {
    streams: Arc<Streams>,
    device: usize,
}

/// A pseudo-random number (SplitMix64).
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Late {
    /// Adds a device to this thread; from now on the seed determines the order of its streams.
    pub fn open(seed: u64) -> Self {
        let streams = OF_THREAD.with_borrow(Arc::clone);
        let mut state = streams.0.lock().unwrap();
        state.devices += 1;
        state.chance = mixed(seed);
        let device = state.devices;
        drop(state);
        Self { streams, device }
    }

    fn put(&self, stream: Stream, item: Item) {
        let mut state = self.streams.0.lock().unwrap();
        let line = (self.device, stream as usize);
        state.lines.entry(line).or_default().push_back(item);
    }

    /// Puts work into a stream.
    pub fn submit(&self, stream: Stream, work: Work) {
        self.put(stream, Item::Work(work));
    }

    /// Sets an event after the current items of the stream.
    pub fn record(&self, stream: Stream, event: &Event) {
        let number = {
            let mut state = self.streams.0.lock().unwrap();
            state.set += 1;
            state.set
        };
        event.store(number, Ordering::Relaxed);
        self.put(stream, Item::Set(number));
    }

    /// Later items of the stream wait for the event as it is set now.
    pub fn wait(&self, stream: Stream, event: &Event) {
        self.put(stream, Item::Wait(event.load(Ordering::Relaxed)));
    }

    /// Later items of the stream wait for a number in memory.
    pub fn await_signal(&self, stream: Stream, at: u64, number: u64) {
        self.put(stream, Item::AwaitSignal(at, number));
    }

    /// Works until the event is reached, and no longer.
    pub fn synchronize(&self, event: &Event) -> Result<(), Error> {
        let number = event.load(Ordering::Relaxed);
        self.until(|state| number == 0 || state.reached.contains(&number))
    }

    /// Works until the device has nothing left.
    pub fn finish(&self) -> Result<(), Error> {
        self.until(|state| {
            let mut lines = state.lines.range((self.device, 0)..(self.device + 1, 0));
            lines.all(|(_, line)| line.is_empty())
        })
    }

    fn until(&self, done: impl Fn(&State) -> bool) -> Result<(), Error> {
        patiently(|| {
            // Between attempts other threads may use these streams, and send the signal for which this thread waits.
            let mut state = self.streams.0.lock().unwrap();
            while !done(&state) {
                if !state.step() {
                    let waits = |line: &VecDeque<Item>| matches!(line.front(), Some(Item::AwaitSignal(..)));
                    return match state.lines.values().any(waits) {
                        true => None,
                        false => Some(Err(Error::setup("streams wait for each other for ever"))),
                    };
                }
            }
            Some(match &state.failed {
                None => Ok(()),
                Some(why) => Err(Error::setup(why.clone())),
            })
        })
    }
}

impl State {
    /// Processes one item of a stream that can continue; `false` if none can.
    fn step(&mut self) -> bool {
        self.chance = mixed(self.chance);
        // The order stays the same for a while, so that a stream can run far ahead of the others.
        if self.chance.is_multiple_of(16) {
            self.mood = mixed(self.chance);
        }
        let (mood, reached) = (self.mood, &self.reached);
        let can = |line: &VecDeque<Item>| match line.front() {
            None => false,
            Some(Item::Wait(number)) => *number == 0 || reached.contains(number),
            Some(Item::AwaitSignal(at, number)) => word(*at).load(Ordering::Acquire) >= *number,
            Some(_) => true,
        };
        let lines = self.lines.iter_mut().filter(|(_, line)| can(line));
        let rank = |(device, stream): (usize, usize)| mixed(mood ^ ((device as u64) << 8) ^ stream as u64);
        let Some((_, line)) = lines.min_by_key(|(line, _)| rank(**line)) else {
            return false;
        };
        match line.pop_front() {
            Some(Item::Work(work)) => {
                if let Err(why) = work() {
                    self.failed.get_or_insert(why.to_string());
                }
            }
            Some(Item::Set(number)) => {
                self.reached.insert(number);
            }
            _ => {}
        }
        true
    }
}
