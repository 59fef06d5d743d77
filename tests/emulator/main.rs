//! The emulated accelerator, which runs on the processor, behaves like a GPU, and detects errors that a GPU would not
//! report.

use std::ffi::c_void;
use std::sync::Arc;

use kernels::Error;
use kernels::device::accelerator::{Accelerator, Dims, Memory, Pinned, Source, Stream};

#[path = "../support/emulator.rs"]
mod emulator;

use emulator::Emulator;

const TEXT: &str = r#"
#ifdef CUDA_ON_CPU
#define KERNEL(name) __global__ void name
#else
#define KERNEL(name) extern "C" __global__ void name
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif
#define THREADS 96

struct Line {
    float *to;
    const float *from;
    int count;
    float weight;
};

__device__ __forceinline__ float at(const float *__restrict__ p, int i, int n) {
    return i >= 0 && i < n ? __ldg(p + i) : 0.0f;
}

/* Each block is reversed, then every point takes its neighbours inside the block. */
KERNEL(turn_and_blur)(const struct Line a) {
    DYNAMIC_SHARED(float, tile);
    __shared__ float halo[2];
    int t = (int)threadIdx.x, i = (int)(blockIdx.x * blockDim.x) + t;
    tile[blockDim.x - 1 - t] = at(a.from, i, a.count);
    if (t == 0) halo[0] = (float)blockIdx.x, halo[1] = (float)blockIdx.x + 1;
    __syncthreads();
    float left = t > 0 ? tile[t - 1] : halo[0];
    float right = t + 1 < (int)blockDim.x ? tile[t + 1] : halo[1];
    float sum = fmaf(a.weight, left + right, tile[t]);
    __syncthreads();
    tile[t] = sum;
    __syncthreads();
    if (i < a.count) a.to[i] = tile[t];
}

KERNEL(
    diverge
)(struct Line a) {
    if (threadIdx.x < 7)
        __syncthreads();
    else
        __syncthreads();
}

/* Threads that have ended are not waited for. */
KERNEL(leave_early)(const __grid_constant__ struct Line a) {
    if (threadIdx.x % 3 == 1) return;
    __syncthreads();
    a.to[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

KERNEL(behind_shared)(const struct Line a) {
    DYNAMIC_SHARED(float, tile);
    tile[(int)threadIdx.x + a.count] = a.weight;
}

KERNEL(behind_device)(const struct Line a) {
    if (threadIdx.x == 0) a.to[a.count] = a.weight;
}

KERNEL(adds_behind_device)(const struct Line a) {
    if (threadIdx.x == 0) a.to[a.count] += a.weight;
}

/* The last one that writes wins. */
KERNEL(in_order)(const struct Line a) {
    a.to[0] = (float)(blockIdx.x * blockDim.x + threadIdx.x);
}

KERNEL(never_written)(const struct Line a) {
    DYNAMIC_SHARED(float, tile);
    a.to[threadIdx.x] = tile[threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] = 1.0f;
}

/* Warps wait for themselves, as often as they like. */
KERNEL(warps)(const struct Line a) {
    __shared__ float tile[THREADS];
    int t = (int)threadIdx.x;
    tile[t] = (float)t;
    for (int turn = 0; turn < t / 32 + 1; turn++) {
        __syncwarp();
        float next = tile[t / 32 * 32 + (t + 1) % 32];
        __syncwarp();
        tile[t] = next;
    }
    __syncthreads();
    a.to[t] = tile[THREADS - 1 - t];
}

struct Extremes { unsigned long long *least; int *most; unsigned *count; };

KERNEL(extremes)(const struct Extremes a) {
    unsigned i = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    atomicMin(a.least, (unsigned long long)i + (5ull << 40));
    atomicMax(a.most, -(int)(i * threadIdx.x) - 3);
    atomicAdd(a.count, 1u);
}
"#;

#[repr(C)]
#[derive(Clone, Copy)]
struct Line {
    to: u64,
    from: u64,
    count: i32,
    weight: f32,
}

#[repr(C)]
struct Extremes {
    least: u64,
    most: u64,
    count: u64,
}

/// Returns false, and prints the reason, on a machine without a C compiler.
fn can_run() -> bool {
    Emulator::ready()
}

fn run<T>(emulator: &Emulator, kernel: &str, dims: Dims, args: &T) -> Result<(), Error> {
    let source = Source {
        name: "test.cu".into(),
        text: TEXT.into(),
    };
    let functions = emulator.load(&source, &[kernel])?;
    let args: *const T = args;
    // SAFETY: the tests pass the structure that the kernel takes.
    unsafe { emulator.launch(Stream::Main, &functions[0], dims, &[args.cast::<c_void>()]) }
}

fn dims(blocks: usize, threads: usize, shared: usize) -> Dims {
    Dims {
        grid: [blocks, 1, 1],
        threads,
        shared,
    }
}

fn line(to: u64, count: usize) -> Line {
    Line {
        to,
        from: 0,
        count: count as i32,
        weight: 0.25,
    }
}

fn put(emulator: &Emulator, values: &[f32]) -> impl Memory + use<> {
    let bytes = size_of_val(values);
    let (memory, mut pinned) = (emulator.allocate(bytes).unwrap(), emulator.pin(bytes).unwrap());
    for (to, value) in pinned.bytes_mut().chunks_exact_mut(4).zip(values) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
    // SAFETY: the streams of the emulator are synchronous.
    unsafe {
        emulator
            .upload(Stream::Main, &pinned, 0, memory.address(), bytes)
            .unwrap()
    };
    memory
}

fn get(emulator: &Emulator, memory: &impl Memory) -> Vec<f32> {
    let mut pinned = emulator.pin(memory.bytes()).unwrap();
    // SAFETY: the streams of the emulator are synchronous.
    unsafe {
        emulator
            .download(Stream::Out, memory.address(), &mut pinned, 0, memory.bytes())
            .unwrap();
    }
    let number = |b: &[u8]| f32::from_ne_bytes(b.try_into().unwrap());
    pinned.bytes().chunks_exact(4).map(number).collect()
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.37).sin()).collect()
}

/// The result of `turn_and_blur`.
fn turned_and_blurred(from: &[f32], threads: usize, weight: f32) -> Vec<f32> {
    let blocks = from.len().div_ceil(threads);
    let mut to = Vec::new();
    for block in 0..blocks {
        let at = |i: usize| from.get(block * threads + i).copied().unwrap_or(0.0);
        let tile: Vec<f32> = (0..threads).rev().map(at).collect();
        for t in 0..threads {
            let left = if t > 0 { tile[t - 1] } else { block as f32 };
            let right = *tile.get(t + 1).unwrap_or(&(block as f32 + 1.0));
            to.push(weight.mul_add(left + right, tile[t]));
        }
    }
    to.truncate(from.len());
    to
}

#[test]
fn shared_memory_and_barriers_work_in_any_order_of_blocks() {
    if !can_run() {
        return;
    }
    for threads in [1, 33, 96, 1024] {
        let from = values(5000);
        for emulator in [Emulator::new(), Emulator::new().reversed()] {
            let (a, b) = (put(&emulator, &from), emulator.allocate(from.len() * 4).unwrap());
            let args = Line {
                from: a.address(),
                ..line(b.address(), from.len())
            };
            let blocks = from.len().div_ceil(threads);
            run(
                &emulator,
                "turn_and_blur",
                dims(blocks, threads, threads * 4),
                &args,
            )
            .unwrap();
            assert_eq!(get(&emulator, &b), turned_and_blurred(&from, threads, 0.25));
            emulator.finish().unwrap();
        }
    }
}

#[test]
fn reversed_shows_what_depends_on_the_order() {
    if !can_run() {
        return;
    }
    let last = |emulator: Emulator| {
        let memory = put(&emulator, &[-1.0]);
        run(&emulator, "in_order", dims(3, 4, 0), &line(memory.address(), 1)).unwrap();
        get(&emulator, &memory)[0]
    };
    assert_eq!(
        [last(Emulator::new()), last(Emulator::new().reversed())],
        [11.0, 0.0]
    );
}

#[test]
fn divergent_barriers_are_refused_and_the_next_launch_works() {
    if !can_run() {
        return;
    }
    let emulator = Emulator::new();
    let memory = put(&emulator, &[0.0; 20]);
    let args = line(memory.address(), 20);
    let error = run(&emulator, "diverge", dims(2, 10, 0), &args)
        .unwrap_err()
        .to_string();
    let first = TEXT.lines().position(|l| l.contains("threadIdx.x < 7")).unwrap() + 2;
    for part in [
        "divergent",
        "diverge of test.cu",
        &format!("line {first},"),
        &format!("line {} ", first + 2),
    ] {
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
    run(&emulator, "leave_early", dims(2, 10, 0), &args).unwrap();
    let expected = (0..20).map(|i| if i % 10 % 3 == 1 { 0.0 } else { 1.0 });
    assert_eq!(get(&emulator, &memory), expected.collect::<Vec<f32>>());
}

#[test]
fn warps_wait_for_themselves() {
    if !can_run() {
        return;
    }
    for emulator in [Emulator::new(), Emulator::new().reversed()] {
        let memory = put(&emulator, &[0.0; 96]);
        run(&emulator, "warps", dims(1, 96, 0), &line(memory.address(), 96)).unwrap();
        let rolled = |t: usize| (t / 32 * 32 + (t + t / 32 + 1) % 32) as f32;
        assert_eq!(
            get(&emulator, &memory),
            (0..96).rev().map(rolled).collect::<Vec<_>>()
        );
    }
}

#[test]
fn shared_memory_is_guarded_and_starts_poisoned() {
    if !can_run() {
        return;
    }
    let emulator = Emulator::new();
    let memory = put(&emulator, &[0.0; 32]);
    let inside = line(memory.address(), 0);
    run(&emulator, "behind_shared", dims(2, 32, 128), &inside).unwrap();
    for (count, part) in [(1, "0 bytes behind"), (-1, "4 bytes before")] {
        let args = Line { count, ..inside };
        let error = run(&emulator, "behind_shared", dims(2, 32, 128), &args)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
    run(&emulator, "never_written", dims(2, 32, 128), &inside).unwrap();
    assert!(get(&emulator, &memory).iter().all(|v| v.is_nan()));
}

#[test]
fn device_memory_is_guarded() {
    if !can_run() {
        return;
    }
    for (kernel, count, part) in [
        ("behind_device", 8, "0 bytes behind the end"),
        ("behind_device", -3, "12 bytes before"),
        ("adds_behind_device", 8, "bytes behind the end"),
        ("adds_behind_device", -3, "bytes before"),
    ] {
        let emulator = Emulator::new();
        let memory = put(&emulator, &[0.0; 8]);
        emulator.finish().unwrap();
        let args = Line {
            count,
            ..line(memory.address(), 0)
        };
        run(&emulator, kernel, dims(1, 1, 0), &args).unwrap();
        let error = emulator.finish().unwrap_err().to_string();
        assert!(error.contains(part), "{part} is missing in: {error}");
        drop(memory);
        assert!(
            emulator.finish().is_err(),
            "damage is remembered after memory is freed"
        );
    }
}

#[test]
fn copies_outside_of_memory_are_refused() {
    let (emulator, other) = (Emulator::new().with_memory(64), Emulator::new());
    let (memory, there) = (put(&emulator, &[1.0, 2.0]), put(&other, &[0.0, 0.0]));
    assert_eq!(emulator.free_bytes().unwrap(), 56);
    assert!(emulator.allocate(57).is_err());
    // SAFETY: copies that are refused do not access any memory, and the others are in bounds.
    unsafe {
        let copy = |to, bytes| emulator.copy_to(Stream::Edges, memory.address(), &other, to, bytes);
        copy(there.address(), 8).unwrap();
        assert!(copy(there.address() + 4, 8).is_err());
        assert!(copy(memory.address(), 8).is_err());
    }
    assert_eq!(get(&other, &there), [1.0, 2.0]);
}

#[test]
fn atomics_and_grids_of_three_dimensions() {
    if !can_run() {
        return;
    }
    let emulator = Arc::new(Emulator::new());
    let (least, rest) = (
        put(&emulator, &[f32::from_bits(!0); 2]),
        put(&emulator, &[-0.0, 0.0]),
    );
    let args = Extremes {
        least: least.address(),
        most: rest.address(),
        count: rest.address() + 4,
    };
    let all = Dims {
        grid: [3, 4, 5],
        threads: 2,
        shared: 0,
    };
    run(&emulator, "extremes", all, &args).unwrap();
    let bits = |memory| {
        get(&emulator, memory)
            .iter()
            .map(|v| v.to_bits())
            .collect::<Vec<u32>>()
    };
    assert_eq!(bits(&least), [0, 5 << 8]);
    assert_eq!(bits(&rest), [-3i32 as u32, 120]);
}

#[test]
fn recorded_work_runs_at_each_replay() {
    if !can_run() {
        return;
    }
    let emulator = Emulator::new();
    let memory = put(&emulator, &[0.0; 2]);
    let mut work = || {
        // The structure no longer exists when the work runs, so it must have been copied.
        let args = line(memory.address(), 2);
        run(&emulator, "leave_early", dims(2, 1, 0), &args)?;
        run(&emulator, "leave_early", dims(1, 1, 0), &args)
    };
    let graph = emulator.capture(&mut work).unwrap();
    assert_eq!(get(&emulator, &memory), [0.0, 0.0]);
    for _ in 0..3 {
        emulator.launch_graph(&graph).unwrap();
    }
    assert_eq!(get(&emulator, &memory), [6.0, 3.0]);
}

#[test]
fn wrong_texts_and_launches_are_refused_with_the_reason() {
    if !can_run() {
        return;
    }
    let emulator = Emulator::new().with_shared_bytes(1024);
    let args = line(0, 0);
    let refused = |kernel, dims| run(&emulator, kernel, dims, &args).unwrap_err().to_string();
    assert!(refused("nowhere", dims(1, 1, 0)).contains("no kernel nowhere"));
    assert!(refused("diverge", dims(1, 1025, 0)).contains("1025 threads"));
    assert!(refused("diverge", dims(0, 1, 0)).contains("grid"));
    assert!(refused("diverge", dims(1, 1, 1025)).contains("1025 bytes of shared memory"));
    let source = Source {
        name: "wrong.cu".into(),
        text: "struct A { int n; };\nvoid f(struct A a) { unknown(a.n); } /* KERNEL(f)(struct A a) */".into(),
    };
    let error = emulator.load(&source, &["f"]).err().unwrap().to_string();
    assert!(
        error.contains("wrong.cu:2") && error.contains("unknown"),
        "{error}"
    );
}
