// The beginning of every kernel source. A kernel takes one structure by value. The source is written in the common
// subset of CUDA C++ and C11, so that the tests can run it on a processor (CUDA_ON_CPU). The macros that the host
// defines before it choose the variant:
//   REAL_IS_DOUBLE 0|1, NDIM 2|3, VEC numbers per thread along z (1, 2, 4; 16 bytes at most), BULK 0|1 (see the copies)

#if REAL_IS_DOUBLE
typedef double REAL;
#define FMA fma
#define SQRT sqrt
#else
typedef float REAL;
#define FMA fmaf
#define SQRT sqrtf
#endif

typedef long long WIDE;

#ifdef CUDA_ON_CPU
#define KERNEL(name) void name
#define INLINE static inline
#define UNROLL
#else
#define KERNEL(name) extern "C" __global__ void BOUNDS name
#define BOUNDS  // sources with a time-critical kernel redefine it with launch bounds
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(128) unsigned char name##_bytes[]; type *name = (type *)name##_bytes
#define INLINE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#endif

#ifndef BULK
#define BULK 0
#endif
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CLAMP(x, low, high) MIN(MAX(x, low), high)
// Threads of a warp that have diverged must reconverge before the barrier of the block.
#define BLOCK_BARRIER __syncwarp(), __syncthreads()
#define EACH_VEC UNROLL for (int v = 0; v < VEC; v++)

// Loads and stores VEC numbers, which are aligned to their size.
#if VEC == 1
typedef REAL VECTOR;
#define SPREAD(t, out) (out)[0] = (t)
#define GATHER(in) ((in)[0])
#elif VEC == 2
#if REAL_IS_DOUBLE
typedef double2 VECTOR;
#else
typedef float2 VECTOR;
#endif
#define SPREAD(t, out) ((out)[0] = (t).x, (out)[1] = (t).y)
INLINE VECTOR GATHER(const REAL *in) {
    VECTOR t;
    t.x = in[0], t.y = in[1];
    return t;
}
#else
typedef float4 VECTOR;
#define SPREAD(t, out) ((out)[0] = (t).x, (out)[1] = (t).y, (out)[2] = (t).z, (out)[3] = (t).w)
INLINE VECTOR GATHER(const REAL *in) {
    VECTOR t;
    t.x = in[0], t.y = in[1], t.z = in[2], t.w = in[3];
    return t;
}
#endif

INLINE void load(const REAL *from, REAL *to) {
    VECTOR t = *(const VECTOR *)from;
    SPREAD(t, to);
}

INLINE void store(REAL *to, const REAL *from) { *(VECTOR *)to = GATHER(from); }

// Loads VEC numbers that no thread writes during the kernel.
INLINE void fetch(const REAL *from, REAL *to) {
#ifdef CUDA_ON_CPU
    VECTOR t = *(const VECTOR *)from;
#else
    VECTOR t = __ldg((const VECTOR *)from);
#endif
    SPREAD(t, to);
}

// Loads VEC numbers that are read only once.
INLINE void fetch_once(const REAL *from, REAL *to) {
#ifdef CUDA_ON_CPU
    VECTOR t = *(const VECTOR *)from;
#else
    VECTOR t = __ldcs((const VECTOR *)from);
#endif
    SPREAD(t, to);
}

// 1/x to within one unit in the last place; infinity gives zero.
INLINE REAL inverse(REAL x) {
#if defined(CUDA_ON_CPU) || REAL_IS_DOUBLE
    return 1 / x;
#else
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// Starts copying one number to shared memory, counted in the groups of `copy_async`.
INLINE void copy_number(REAL *to, const REAL *from) {
#ifdef CUDA_ON_CPU
    *to = *from;
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(REAL)) : "memory");
#endif
}

// Prefetches the cache line of a number into the second-level cache.
INLINE void prefetch(const REAL *p) {
#ifndef CUDA_ON_CPU
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

// ---- asynchronous copies from device to shared memory ----

#ifdef CUDA_ON_CPU
#define SHARED_ADDRESS(p) 0
#else
#define SHARED_ADDRESS(p) ((unsigned)__cvta_generic_to_shared(p))
#endif

#if BULK
// Copies of whole rows, whose bytes a barrier in shared memory counts (compute capability 9.0 and later).
typedef unsigned long long ARRIVAL;

INLINE void arrival_init(ARRIVAL *arrival, int count) {
#ifndef CUDA_ON_CPU
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED_ADDRESS(arrival)), "r"(count) : "memory");
#endif
}

INLINE void arrival_arrive(ARRIVAL *arrival) {
#ifndef CUDA_ON_CPU
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED_ADDRESS(arrival)) : "memory");
#endif
}

INLINE void arrivals_ready(void) {
#ifndef CUDA_ON_CPU
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Orders earlier accesses to shared memory, the thread's own and those before the last barrier, before the copies that
// it starts next. Without it, copies into memory that had just been read made results differ from run to run, but only
// on a fully loaded device.
INLINE void before_copies(void) {
#ifndef CUDA_ON_CPU
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

INLINE void arrival_expect(ARRIVAL *arrival, int bytes) {
#ifndef CUDA_ON_CPU
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED_ADDRESS(arrival)), "r"(bytes)
                 : "memory");
#endif
}

// Copies `count` numbers. Their size in bytes and both addresses must be multiples of 16.
INLINE void copy_row(REAL *to, const REAL *from, int count, ARRIVAL *arrival) {
#ifdef CUDA_ON_CPU
    for (int k = 0; k < count; k++) to[k] = from[k];
#else
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(SHARED_ADDRESS(to)),
        "l"(from), "r"(count * (int)sizeof(REAL)), "r"(SHARED_ADDRESS(arrival))
        : "memory");
#endif
}

// Copies a box of a four-dimensional array, with zeros where it extends beyond the array. `map` describes both; the
// coordinates give the position of the box's first number, fastest axis first.
INLINE void copy_box(REAL *to, const void *map, int x, int y, int z, int w, ARRIVAL *arrival) {
#ifndef CUDA_ON_CPU
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];"
        ::"r"(SHARED_ADDRESS(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(SHARED_ADDRESS(arrival))
        : "memory");
#endif
}

// Waits for all bytes of the barrier's phase number `turn`, counted from 0.
INLINE void arrival_wait(ARRIVAL *arrival, int turn) {
#ifndef CUDA_ON_CPU
    unsigned there = 0;
    while (!there) {
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
            : "=r"(there)
            : "r"(SHARED_ADDRESS(arrival)), "r"(turn & 1)
            : "memory");
    }
#endif
}
#else
// Starts copying 16 bytes per thread, counted in groups; writes zeros unless `there`.
INLINE void copy_async(REAL *to, const REAL *from, int there) {
#ifdef CUDA_ON_CPU
    for (int k = 0; k < (int)(16 / sizeof(REAL)); k++) to[k] = there ? from[k] : 0;
#else
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SHARED_ADDRESS(to)), "l"(from), "r"(bytes)
                 : "memory");
#endif
}

INLINE void copies_commit(void) {
#ifndef CUDA_ON_CPU
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most PENDING groups of the thread's copies are in flight.
#ifdef CUDA_ON_CPU
#define COPIES_WAIT(PENDING)
#else
#define COPIES_WAIT(PENDING) asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory")
#endif
#endif
