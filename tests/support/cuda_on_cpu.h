/* Lets a processor run kernel source written in the common subset of C11 and CUDA C++: this header comes first, then
/* the source, then one entry for each kernel. A block's threads run one after the other, each to its end or to its
/* next barrier,
 * so a run is deterministic. Threads follow each other on one stack; one that waits at a barrier keeps its stack, and the
 * next thread takes another (fibres). A function is declared `__device__` or `static`, but not both. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CUDA_ON_CPU 1
#define __global__
#define __host__
#define __device__ static
#define __constant__ static const
#define __shared__ static
#define __grid_constant__
#define __forceinline__ inline
#define __inline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define DYNAMIC_SHARED(type, name) type *name = (type *)cuda_on_cpu_shared

typedef struct { unsigned x, y, z; } uint3;
typedef struct __align__(8) { int x, y; } int2;
typedef struct __align__(16) { int x, y, z, w; } int4;
typedef struct __align__(8) { unsigned x, y; } uint2;
typedef struct __align__(16) { unsigned x, y, z, w; } uint4;
typedef struct __align__(8) { float x, y; } float2;
typedef struct { float x, y, z; } float3;
typedef struct __align__(16) { float x, y, z, w; } float4;
typedef struct __align__(16) { double x, y; } double2;
typedef struct { double x, y, z; } double3;
typedef struct __align__(16) { double x, y, z, w; } double4;
static inline float2 make_float2(float x, float y) { return (float2){x, y}; }
static inline float3 make_float3(float x, float y, float z) { return (float3){x, y, z}; }
static inline float4 make_float4(float x, float y, float z, float w) { return (float4){x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return (double2){x, y}; }
static inline double3 make_double3(double x, double y, double z) { return (double3){x, y, z}; }
static inline double4 make_double4(double x, double y, double z, double w) { return (double4){x, y, z, w}; }

#define __ldg(pointer) (*(pointer))
#define __fmaf_rn fmaf
#define __fma_rn fma
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define CUDA_ON_CPU_BITS(name, to, from) \
    static inline to name(from value) { to bits; memcpy(&bits, &value, sizeof bits); return bits; }
CUDA_ON_CPU_BITS(__float_as_int, int, float)
CUDA_ON_CPU_BITS(__float_as_uint, unsigned, float)
CUDA_ON_CPU_BITS(__int_as_float, float, int)
CUDA_ON_CPU_BITS(__uint_as_float, float, unsigned)
CUDA_ON_CPU_BITS(__double_as_longlong, long long, double)
CUDA_ON_CPU_BITS(__longlong_as_double, double, long long)

#define min(a, b) ({ __typeof__((a) + (b)) a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__((a) + (b)) a_ = (a), b_ = (b); a_ > b_ ? a_ : b_; })
/* Only one fibre runs at a time, so reading, changing and writing a value without a barrier is atomic. */
#define CUDA_ON_CPU_ATOMIC(pointer, value, result) ({ \
    __typeof__(pointer) at_ = (pointer); __typeof__(*at_) old_ = *at_, new_ = (value); *at_ = (result); old_; })
#define atomicAdd(pointer, value) CUDA_ON_CPU_ATOMIC(pointer, value, old_ + new_)
#define atomicMin(pointer, value) CUDA_ON_CPU_ATOMIC(pointer, value, new_ < old_ ? new_ : old_)
#define atomicMax(pointer, value) CUDA_ON_CPU_ATOMIC(pointer, value, new_ > old_ ? new_ : old_)
#define atomicOr(pointer, value) CUDA_ON_CPU_ATOMIC(pointer, value, old_ | new_)
#define atomicExch(pointer, value) CUDA_ON_CPU_ATOMIC(pointer, value, new_)
#define atomicCAS(pointer, expected, value) \
    ({ __typeof__(*(pointer)) expected_ = (expected); \
       CUDA_ON_CPU_ATOMIC(pointer, value, old_ == expected_ ? new_ : old_); })
#define __threadfence()
#define __threadfence_block()
#define __threadfence_system()

#define __syncthreads() cuda_on_cpu_wait(CUDA_ON_CPU_AT_BLOCK, __LINE__)
#define __syncwarp(...) cuda_on_cpu_wait(CUDA_ON_CPU_AT_WARP, __LINE__)

#define CUDA_ON_CPU_EXPORT __attribute__((visibility("default")))
#define CUDA_ON_CPU_MOST_THREADS 1024
#define CUDA_ON_CPU_GUARD 4096
#define CUDA_ON_CPU_POISON 0xFF
#define CUDA_ON_CPU_CANARY 0x5AFE57ACull

enum { CUDA_ON_CPU_FRESH, CUDA_ON_CPU_READY, CUDA_ON_CPU_AT_BLOCK, CUDA_ON_CPU_AT_WARP, CUDA_ON_CPU_DONE };

/* The same fields in the same order as `Job` in cuda_on_cpu.rs. */
struct cuda_on_cpu_job {
    void (*entry)(const void *);
    const void *args;
    char *stacks;       /* one for each thread, stack_bytes apart (a multiple of 64) */
    size_t stack_bytes;
    char *shared;       /* guard, shared_bytes, guard */
    size_t shared_bytes;
    unsigned grid[3];
    unsigned threads;
    unsigned reversed;  /* blocks and threads run from the last to the first */
};

static uint3 threadIdx, blockIdx, blockDim, gridDim;
static char *cuda_on_cpu_shared;
static const struct cuda_on_cpu_job *cuda_on_cpu_job;
static int cuda_on_cpu_step;
/* The stack pointers of the block's own loop, of waiting threads and of unused stacks. */
static void *cuda_on_cpu_home, *cuda_on_cpu_stack[CUDA_ON_CPU_MOST_THREADS], *cuda_on_cpu_spare[CUDA_ON_CPU_MOST_THREADS];
static int cuda_on_cpu_spares, cuda_on_cpu_stacks;
static unsigned char cuda_on_cpu_state[CUDA_ON_CPU_MOST_THREADS];
static int cuda_on_cpu_line[CUDA_ON_CPU_MOST_THREADS];

/* Saves the registers that a function must preserve on the running stack, stores the stack pointer in *save and
/* continues where the stack `load` was left. A new stack looks as if it had been left at the start of a function. On
/* x86_64 the function ends
 * with a jump: `ret` would be predicted to return to the other stack's caller, which made a barrier four times as
 * slow. */
__attribute__((visibility("hidden")))
void cuda_on_cpu_switch(void **save, void *load) __asm__("cuda_on_cpu_switch");
#if defined(__x86_64__)
#define CUDA_ON_CPU_FRAME 8 /* words: six registers, where to return, padding that aligns the function's stack */
#define CUDA_ON_CPU_RETURN 6
__asm__(".text\n.p2align 4\ncuda_on_cpu_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\npopq %rcx\njmp *%rcx\n");
#elif defined(__aarch64__)
#define CUDA_ON_CPU_FRAME 20 /* words: x19 to x30, d8 to d15 */
#define CUDA_ON_CPU_RETURN 11
#define CUDA_ON_CPU_MOVE(op) \
    #op " x19, x20, [sp]\n" #op " x21, x22, [sp, #16]\n" #op " x23, x24, [sp, #32]\n" \
    #op " x25, x26, [sp, #48]\n" #op " x27, x28, [sp, #64]\n" #op " x29, x30, [sp, #80]\n" \
    #op " d8, d9, [sp, #96]\n" #op " d10, d11, [sp, #112]\n" #op " d12, d13, [sp, #128]\n" \
    #op " d14, d15, [sp, #144]\n"
__asm__(".text\n.p2align 4\ncuda_on_cpu_switch:\nsub sp, sp, #160\n" CUDA_ON_CPU_MOVE(stp)
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n" CUDA_ON_CPU_MOVE(ldp) "add sp, sp, #160\nret\n");
#else
#error "fibres are written for x86_64 and aarch64 only"
#endif

/* Returns the next thread after `from` that can run, or -1. */
static inline int cuda_on_cpu_next(int from) {
    int next = from + cuda_on_cpu_step;
    while (next >= 0 && next < (int)blockDim.x && cuda_on_cpu_state[next] > CUDA_ON_CPU_READY) next += cuda_on_cpu_step;
    return next >= 0 && next < (int)blockDim.x ? next : -1;
}

static void cuda_on_cpu_fibre(void);

/* Returns a stack on which a thread can begin. */
static void *cuda_on_cpu_take(void) {
    if (cuda_on_cpu_spares) return cuda_on_cpu_spare[--cuda_on_cpu_spares];
    char *bottom = cuda_on_cpu_job->stacks + cuda_on_cpu_stacks++ * cuda_on_cpu_job->stack_bytes;
    *(unsigned long long *)bottom = CUDA_ON_CPU_CANARY;
    void **frame = (void **)(bottom + cuda_on_cpu_job->stack_bytes) - CUDA_ON_CPU_FRAME;
    memset(frame, 0, CUDA_ON_CPU_FRAME * sizeof *frame);
    frame[CUDA_ON_CPU_RETURN] = (void *)cuda_on_cpu_fibre;
    return frame;
}

/* Leaves this stack for that of thread `next`, or for that of the block's own loop where there is none. */
static inline void cuda_on_cpu_pass_on(void **save, int next) {
    if (next < 0) {
        if (save != &cuda_on_cpu_home) cuda_on_cpu_switch(save, cuda_on_cpu_home);
        return;
    }
    threadIdx.x = next;
    void *stack = cuda_on_cpu_state[next] == CUDA_ON_CPU_FRESH ? cuda_on_cpu_take() : cuda_on_cpu_stack[next];
    cuda_on_cpu_switch(save, stack);
}

static __attribute__((noinline)) void cuda_on_cpu_wait(int kind, int line) {
    int me = threadIdx.x;
    cuda_on_cpu_state[me] = kind;
    cuda_on_cpu_line[me] = line;
    cuda_on_cpu_pass_on(&cuda_on_cpu_stack[me], cuda_on_cpu_next(me));
}

/* Runs one thread after the other on a fibre, as long as the next one has not begun elsewhere. */
static void cuda_on_cpu_fibre(void) {
    for (;;) {
        cuda_on_cpu_job->entry(cuda_on_cpu_job->args);
        int me = threadIdx.x, next;
        cuda_on_cpu_state[me] = CUDA_ON_CPU_DONE;
        next = cuda_on_cpu_next(me);
        if (next >= 0 && cuda_on_cpu_state[next] == CUDA_ON_CPU_FRESH) threadIdx.x = next;
        else cuda_on_cpu_pass_on(&cuda_on_cpu_spare[cuda_on_cpu_spares++], next);
    }
}

/* Checks that all threads from `begin` to `end` that have not ended wait at the same barrier, and lets them continue.
/* Returns their number, or -1 with a message. */
static int cuda_on_cpu_release(int begin, int end, char *message, size_t room) {
    int first = -1, waiting = 0;
    for (int t = begin; t < end; t++) {
        if (cuda_on_cpu_state[t] == CUDA_ON_CPU_DONE) continue;
        if (first < 0) first = t;
        if (cuda_on_cpu_line[t] != cuda_on_cpu_line[first] || cuda_on_cpu_state[t] != cuda_on_cpu_state[first]) {
            snprintf(message, room,
                     "divergent barrier: thread %d waits at line %d, thread %d at line %d of block %u %u %u",
                     first, cuda_on_cpu_line[first], t, cuda_on_cpu_line[t], blockIdx.x, blockIdx.y, blockIdx.z);
            return -1;
        }
        waiting++;
    }
    for (int t = begin; t < end; t++)
        if (cuda_on_cpu_state[t] != CUDA_ON_CPU_DONE) cuda_on_cpu_state[t] = CUDA_ON_CPU_READY;
    return waiting;
}

/* Runs the threads of a block from barrier to barrier; returns 0, or -1 with a message. */
static int cuda_on_cpu_block(char *message, size_t room) {
    int threads = blockDim.x;
    memset(cuda_on_cpu_state, CUDA_ON_CPU_FRESH, threads);
    for (;;) {
        cuda_on_cpu_pass_on(&cuda_on_cpu_home, cuda_on_cpu_next(cuda_on_cpu_step > 0 ? -1 : threads));
        int warps_go_on = 0;
        for (int t = 0; t < threads; t++) {
            if (cuda_on_cpu_state[t] != CUDA_ON_CPU_AT_WARP) continue;
            int warp = t / 32 * 32;
            if (cuda_on_cpu_release(warp, warp + 32 < threads ? warp + 32 : threads, message, room) < 0) return -1;
            warps_go_on = 1;
        }
        if (warps_go_on) continue;
        int waiting = cuda_on_cpu_release(0, threads, message, room);
        if (waiting <= 0) return waiting;
    }
}

/* Returns the index of the first of CUDA_ON_CPU_GUARD bytes that is no longer poison, or -1. */
static long cuda_on_cpu_damage(const char *guard) {
    if ((unsigned char)guard[0] == CUDA_ON_CPU_POISON && !memcmp(guard, guard + 1, CUDA_ON_CPU_GUARD - 1)) return -1;
    long first = 0;
    while ((unsigned char)guard[first] == CUDA_ON_CPU_POISON) first++;
    return first;
}

static void cuda_on_cpu_prepare(const struct cuda_on_cpu_job *job) {
    cuda_on_cpu_spares = cuda_on_cpu_stacks = 0;
    memset(job->shared, CUDA_ON_CPU_POISON, job->shared_bytes + 2 * CUDA_ON_CPU_GUARD);
    cuda_on_cpu_job = job;
    cuda_on_cpu_step = job->reversed ? -1 : 1;
    cuda_on_cpu_shared = job->shared + CUDA_ON_CPU_GUARD;
    gridDim = (uint3){job->grid[0], job->grid[1], job->grid[2]};
    blockDim = (uint3){job->threads, 1, 1};
    threadIdx = (uint3){0, 0, 0};
}

/* Runs all blocks one after the other; returns 0, or -1 with a message. */
CUDA_ON_CPU_EXPORT int cuda_on_cpu_launch(const struct cuda_on_cpu_job *job, char *message, size_t room) {
    cuda_on_cpu_prepare(job);
    size_t x = job->grid[0], y = job->grid[1], blocks = x * y * job->grid[2];
    for (size_t i = 0; i < blocks; i++) {
        size_t b = job->reversed ? blocks - 1 - i : i;
        blockIdx = (uint3){b % x, b / x % y, b / x / y};
        memset(cuda_on_cpu_shared, CUDA_ON_CPU_POISON, job->shared_bytes);
        if (cuda_on_cpu_block(message, room) < 0) return -1;
        long before = cuda_on_cpu_damage(job->shared);
        long behind = cuda_on_cpu_damage(cuda_on_cpu_shared + job->shared_bytes);
        if (before >= 0 || behind >= 0) {
            snprintf(message, room,
                     "block %u %u %u wrote %ld bytes %s its %zu bytes of dynamic shared memory", blockIdx.x, blockIdx.y,
                     blockIdx.z, behind >= 0 ? behind : CUDA_ON_CPU_GUARD - before, behind >= 0 ? "behind" : "before",
                     job->shared_bytes);
            return -1;
        }
    }
    for (int k = 0; k < cuda_on_cpu_stacks; k++)
        if (*(unsigned long long *)(job->stacks + k * job->stack_bytes) != CUDA_ON_CPU_CANARY) {
            snprintf(message, room, "a thread left its stack of %zu bytes", job->stack_bytes);
            return -1;
        }
    return 0;
}
