//! Every kernel source that a run can need compiles for the GPU generation for which the tiles were tuned, a quarter of
//! the performance-critical sources also for one of the other generations (with `EVERY_GENERATION=1` all sources for
//! all generations), and the critical kernels do not spill registers.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::device::accelerator::Source;
use kernels::device::cuda::nvrtc;
use kernels::methods::displacement::gpu::variant;
use kernels::methods::spectral_elements::gpu::variant as elements;
use kernels::methods::velocity_stress::born::variant as linearised;
use kernels::methods::velocity_stress::gpu::variant as staggered;

/// Compute capability of a generation, and the shared memory that a block can have on it.
const GENERATIONS: [(u32, usize); 3] = [(80, 163 << 10), (90, 227 << 10), (120, 99 << 10)];

/// Kernels in which spilled registers cost speed.
const HOT: [&str; 23] = [
    "sweep",
    "velocity",
    "stress",
    "forces",
    "advance",
    "velocities",
    "velocities_changed",
    "stresses",
    "stresses_changed",
    "velocities_back",
    "stresses_back",
    "velocities_gather_back",
    "stresses_gather_back",
    "velocities_gather",
    "stresses_gather",
    "pressures",
    "velocities_inside",
    "stresses_inside",
    "velocities_undo",
    "stresses_undo",
    "adjoint_waves",
    "rotations",
    "multiply",
];

fn complaints(generation: u32, source: &Source, double: bool) -> Vec<String> {
    let compiled = match nvrtc::compile(source, generation, true) {
        Ok(compiled) if compiled.cubin.is_empty() => {
            return vec![format!("sm_{generation} {}: no code", source.name)];
        }
        Ok(compiled) => compiled,
        Err(error) => return vec![error.to_string()],
    };
    let mut messages = Vec::new();
    for r in compiled.resources() {
        let spills = r.spill_stores + r.spill_loads;
        if HOT.contains(&r.kernel.as_str()) {
            println!(
                "sm_{generation} {} registers, {spills} bytes spilled: {}",
                r.registers, source.name
            );
            // An array that is indexed is on the stack, in memory like a spilled register. The kernel of small grids
            // has its arguments there, once per launch; tiles for the small shared memory of sm_120 were not tuned.
            let tuned = generation == 90 && !source.name.starts_with("fused_2d.cu");
            let stack = if tuned { r.stack } else { 0 };
            if !double && spills + stack > 0 {
                messages.push(format!(
                    "sm_{generation} {}: {} spills {spills} bytes, {stack} bytes of stack",
                    source.name, r.kernel
                ));
            }
        }
    }
    messages
}

/// Whether a kernel source is for elements of degree 4, or does not depend on the degree.
fn is_usual(source: &Source) -> bool {
    !source.name.starts_with("elements.cu") || source.name.contains(" N=5 ")
}

/// Whether geometry, attenuation and constants all have their simplest form or all their most general one.
fn is_extreme(source: &Source) -> bool {
    let has = |word: &str| source.name.contains(&format!(" {word}=1"));
    let [stored, loss, varies] = ["STORED", "LOSS", "VARIES"].map(has);
    stored == varies && (loss == stored || source.name.contains(" LAW=2"))
}

/// Whether a source has a kernel in which spilled registers cost speed: it is enough to compile the other sources for
/// one generation.
fn is_hot(source: &Source) -> bool {
    HOT.iter()
        .any(|kernel| source.text.contains(&format!("KERNEL({kernel})")))
}

/// A hash of a source, always the same for the same name.
fn number_of(source: &Source) -> u64 {
    let mut hasher = DefaultHasher::new();
    source.name.hash(&mut hasher);
    hasher.finish()
}

/// Whether a source is compiled for this generation in addition to the generation for which the kernels are tuned: an
/// eighth of the sources is compiled for the generation before it, another eighth for the generation after it.
fn is_for(source: &Source, generation: u32) -> bool {
    number_of(source) % 8 == u64::from(generation > 90)
}

/// Whether a source belongs to the sample of one in forty.
fn is_in_sample(source: &Source) -> bool {
    number_of(source) % 40 == 1
}

/// Whether a source of a linearised run is compiled. For the generation for which the kernels are tuned these are all
/// sources of the highest order, the sources of the other orders without attenuation, and the kernels of points; for
/// the other generations, the sources of the highest order with attenuation, surface or images.
fn is_longest(source: &Source, tuned: bool) -> bool {
    let has = |word: &str| source.name.contains(word);
    match has(" HALF=4") {
        true => tuned || has(" LOSSY=1") || has("surface.cu") || has("images.cu"),
        false => has("points.cu") || tuned && has(" LOSSY=0"),
    }
}

/// Sources with the generation and the precision for which each is compiled. The generations differ in registers and
/// shared memory, the orders and degrees only in the length of sums; therefore every order is compiled for the tuned
/// generation, and order 4 for one of the other generations and in double precision. EVERY_GENERATION=1 compiles all
/// sources for all generations.
fn texts() -> Vec<(u32, Source, bool)> {
    let all = std::env::var_os("EVERY_GENERATION").is_some();
    let mut jobs = Vec::new();
    let kinds = GENERATIONS.map(|(generation, shared)| (generation, shared, false));
    for (generation, shared, double) in kinds.into_iter().chain([(90, 227 << 10, true)]) {
        let mut sources = variant::all(double, generation, shared).expect("a tile fits");
        let orders = staggered::all(double).into_iter();
        let tuned = generation == 90 && !double;
        sources.extend(orders.filter(|source| all || tuned || source.name.contains("HALF=2")));
        if !double {
            // Degrees differ only in the bounds of loops: the smallest, the usual and the largest degree are compiled,
            // the usual degree in every variant and the others in the simplest and the most general variant.
            let degrees = match (all, generation) {
                (true, _) => vec![2, 3, 4, 5, 6, 7, 8],
                (_, 90) => vec![2, 4, 8],
                _ => vec![4],
            };
            let texts = elements::all(degrees.into_iter()).into_iter();
            sources.extend(texts.filter(|source| all || is_usual(source) || is_extreme(source)));
            let texts = linearised::all().into_iter();
            sources.extend(texts.filter(|source| all || is_longest(source, tuned)));
        }
        let here = |source: &Source| {
            let other = is_hot(source) && is_for(source, generation);
            all || generation == 90 || other
        };
        let sources = sources.into_iter().filter(here);
        jobs.extend(sources.map(|source| (generation, source, double)));
    }
    jobs
}

/// Compiles the sources with one thread per core; each thread takes the next remaining source.
fn assert_no_complaints(texts: &[(u32, Source, bool)]) {
    println!("{} texts", texts.len());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut own = Vec::new();
        while let Some((generation, source, double)) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
            own.extend(complaints(*generation, source, *double));
        }
        own
    };
    let all: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker ends"));
        results.flatten().collect()
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The file from which a source is made.
fn file(source: &Source) -> &str {
    source.name.split(' ').next().unwrap_or_default()
}

/// The first source of each file and a fraction of the other sources, for the tuned generation.
#[test]
fn texts_of_every_file_compile_without_spills() {
    if !super::compile::compiler_is_here("texts_of_every_file_compile_without_spills") {
        return;
    }
    let mut files = BTreeSet::new();
    let mut few = texts();
    few.retain(|(generation, source, double)| {
        *generation == 90 && !double && (files.insert(file(source).to_string()) || is_in_sample(source))
    });
    assert!(files.len() >= 10, "{files:?}");
    assert_no_complaints(&few);
}

#[test]
#[ignore = "long: ./sconsw test full=y"]
fn every_variant_compiles_without_spills() {
    if super::compile::compiler_is_here("every_variant_compiles_without_spills") {
        assert_no_complaints(&texts());
    }
}
