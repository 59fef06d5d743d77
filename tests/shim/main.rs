//! The processor that plays accelerator does what a GPU does, and finds what a GPU would let pass.

use std::ffi::c_void;
use std::sync::Arc;

use kernels::Error;
use kernels::device::accelerator::{Accelerator, Dims, Memory, Pinned, Queue, Source};

#[path = "../support/shim.rs"]
mod shim;

use shim::Shim;

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

/// False, with the reason printed, on a machine without a C compiler.
fn can_run() -> bool {
    Shim::available()
        .inspect_err(|why| eprintln!("skipped: {why}"))
        .is_ok()
}

fn run<T>(shim: &Shim, kernel: &str, dims: Dims, args: &T) -> Result<(), Error> {
    let source = Source {
        name: "test.cu".into(),
        text: TEXT.into(),
    };
    let found = shim.load(&source, &[kernel])?;
    let args: *const T = args;
    // SAFETY: the tests pass the structure that the kernel takes.
    unsafe { shim.launch(Queue::Main, &found[0], dims, &[args.cast::<c_void>()]) }
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

fn put(shim: &Shim, values: &[f32]) -> impl Memory + use<> {
    let bytes = size_of_val(values);
    let (memory, mut pinned) = (shim.allocate(bytes).unwrap(), shim.pin(bytes).unwrap());
    for (to, value) in pinned.bytes_mut().chunks_exact_mut(4).zip(values) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
    // SAFETY: the queues of the shim are synchronous.
    unsafe {
        shim.upload(Queue::Main, &pinned, 0, memory.address(), bytes)
            .unwrap()
    };
    memory
}

fn get(shim: &Shim, memory: &impl Memory) -> Vec<f32> {
    let mut pinned = shim.pin(memory.bytes()).unwrap();
    // SAFETY: the queues of the shim are synchronous.
    unsafe {
        shim.download(Queue::Out, memory.address(), &mut pinned, 0, memory.bytes())
            .unwrap();
    }
    let number = |b: &[u8]| f32::from_ne_bytes(b.try_into().unwrap());
    pinned.bytes().chunks_exact(4).map(number).collect()
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.37).sin()).collect()
}

/// What `turn_and_blur` computes.
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
        for shim in [Shim::new(), Shim::new().reversed()] {
            let (a, b) = (put(&shim, &from), shim.allocate(from.len() * 4).unwrap());
            let args = Line {
                from: a.address(),
                ..line(b.address(), from.len())
            };
            let blocks = from.len().div_ceil(threads);
            run(&shim, "turn_and_blur", dims(blocks, threads, threads * 4), &args).unwrap();
            assert_eq!(get(&shim, &b), turned_and_blurred(&from, threads, 0.25));
            shim.finish().unwrap();
        }
    }
}

#[test]
fn reversed_shows_what_depends_on_the_order() {
    if !can_run() {
        return;
    }
    let last = |shim: Shim| {
        let memory = put(&shim, &[-1.0]);
        run(&shim, "in_order", dims(3, 4, 0), &line(memory.address(), 1)).unwrap();
        get(&shim, &memory)[0]
    };
    assert_eq!([last(Shim::new()), last(Shim::new().reversed())], [11.0, 0.0]);
}

#[test]
fn divergent_barriers_are_refused_and_the_next_launch_works() {
    if !can_run() {
        return;
    }
    let shim = Shim::new();
    let memory = put(&shim, &[0.0; 20]);
    let args = line(memory.address(), 20);
    let error = run(&shim, "diverge", dims(2, 10, 0), &args)
        .unwrap_err()
        .to_string();
    let first = TEXT.lines().position(|l| l.contains("threadIdx.x < 7")).unwrap() + 2;
    for part in [
        "divergent",
        "diverge of test.cu",
        &format!("line {first},"),
        &format!("line {} ", first + 2),
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    run(&shim, "leave_early", dims(2, 10, 0), &args).unwrap();
    let expected = (0..20).map(|i| if i % 10 % 3 == 1 { 0.0 } else { 1.0 });
    assert_eq!(get(&shim, &memory), expected.collect::<Vec<f32>>());
}

#[test]
fn warps_wait_for_themselves() {
    if !can_run() {
        return;
    }
    for shim in [Shim::new(), Shim::new().reversed()] {
        let memory = put(&shim, &[0.0; 96]);
        run(&shim, "warps", dims(1, 96, 0), &line(memory.address(), 96)).unwrap();
        let rolled = |t: usize| (t / 32 * 32 + (t + t / 32 + 1) % 32) as f32;
        assert_eq!(get(&shim, &memory), (0..96).rev().map(rolled).collect::<Vec<_>>());
    }
}

#[test]
fn shared_memory_is_guarded_and_starts_poisoned() {
    if !can_run() {
        return;
    }
    let shim = Shim::new();
    let memory = put(&shim, &[0.0; 32]);
    let inside = line(memory.address(), 0);
    run(&shim, "behind_shared", dims(2, 32, 128), &inside).unwrap();
    for (count, part) in [(1, "0 bytes behind"), (-1, "4 bytes before")] {
        let args = Line { count, ..inside };
        let error = run(&shim, "behind_shared", dims(2, 32, 128), &args)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    run(&shim, "never_written", dims(2, 32, 128), &inside).unwrap();
    assert!(get(&shim, &memory).iter().all(|v| v.is_nan()));
}

#[test]
fn device_memory_is_guarded() {
    if !can_run() {
        return;
    }
    for (count, part) in [(8, "0 bytes behind the end"), (-3, "12 bytes before")] {
        let shim = Shim::new();
        let memory = put(&shim, &[0.0; 8]);
        shim.finish().unwrap();
        let args = Line {
            count,
            ..line(memory.address(), 0)
        };
        run(&shim, "behind_device", dims(1, 1, 0), &args).unwrap();
        let error = shim.finish().unwrap_err().to_string();
        assert!(error.contains(part), "{part} is not in: {error}");
        drop(memory);
        assert!(
            shim.finish().is_err(),
            "damage is remembered after memory is given back"
        );
    }
}

#[test]
fn copies_outside_of_memory_are_refused() {
    let (shim, other) = (Shim::new().with_memory(64), Shim::new());
    let (memory, there) = (put(&shim, &[1.0, 2.0]), put(&other, &[0.0, 0.0]));
    assert_eq!(shim.free_bytes().unwrap(), 56);
    assert!(shim.allocate(57).is_err());
    // SAFETY: refused copies touch nothing, the others are inside.
    unsafe {
        let copy = |to, bytes| shim.copy_to(Queue::Edges, memory.address(), &other, to, bytes);
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
    let shim = Arc::new(Shim::new());
    let (least, rest) = (put(&shim, &[f32::from_bits(!0); 2]), put(&shim, &[-0.0, 0.0]));
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
    run(&shim, "extremes", all, &args).unwrap();
    let bits = |memory| {
        get(&shim, memory)
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
    let shim = Shim::new();
    let memory = put(&shim, &[0.0; 2]);
    let mut work = || {
        // The structure is gone when the work runs: it must have been copied.
        let args = line(memory.address(), 2);
        run(&shim, "leave_early", dims(2, 1, 0), &args)?;
        run(&shim, "leave_early", dims(1, 1, 0), &args)
    };
    let graph = shim.record(&mut work).unwrap();
    assert_eq!(get(&shim, &memory), [0.0, 0.0]);
    for _ in 0..3 {
        shim.replay(&graph).unwrap();
    }
    assert_eq!(get(&shim, &memory), [6.0, 3.0]);
}

#[test]
fn wrong_texts_and_launches_are_refused_with_the_reason() {
    if !can_run() {
        return;
    }
    let shim = Shim::new().with_shared_bytes(1024);
    let args = line(0, 0);
    let refused = |kernel, dims| run(&shim, kernel, dims, &args).unwrap_err().to_string();
    assert!(refused("nowhere", dims(1, 1, 0)).contains("no kernel nowhere"));
    assert!(refused("diverge", dims(1, 1025, 0)).contains("1025 threads"));
    assert!(refused("diverge", dims(0, 1, 0)).contains("grid"));
    assert!(refused("diverge", dims(1, 1, 1025)).contains("1025 bytes of shared memory"));
    let source = Source {
        name: "wrong.cu".into(),
        text: "struct A { int n; };\nvoid f(struct A a) { unknown(a.n); } /* KERNEL(f)(struct A a) */".into(),
    };
    let error = shim.load(&source, &["f"]).err().unwrap().to_string();
    assert!(
        error.contains("wrong.cu:2") && error.contains("unknown"),
        "{error}"
    );
}
