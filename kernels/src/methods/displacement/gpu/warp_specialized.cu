// The same step as sweep.cu in 3-D for compute capability 9.0 and later, with specialised warps in a block: some
// compute stress, others read it from shared memory and compute force and time step. Stress warps store no force, and
// force warps no medium, so that more warps fit, and one kind can compute while the other waits for memory.
//
// There are two barriers in shared memory for each buffer b: FULL(b) means that the stress of a plane is in the
// buffer, and EMPTY(b) that it has been read. Every thread of the block arrives separately: compute-sanitizer supports
// that, but neither one arrival per warp nor named barriers, and all three are equally fast. One more warp starts the
// copies of planes of displacement; FULL also signals to it that the stress warps no longer need a slot of the ring.
//
// Stress threads have VEC cells, force threads one. Memory indices are incremented from plane to plane, which takes
// fewer instructions than recomputing them. Two blocks may share halos (cluster.cuh).
//
// Macros that the host defines: TZ, TX, AHEAD, BLOCKS, DAMPED, SURFACE as in sweep.cu; CLUSTER, blocks that share halos
// (1 or 2); START_REGISTERS per thread, which the three kinds of warps change to STRESS_REGISTERS, FORCE_REGISTERS and
// COPY_REGISTERS.

#define FORCE_THREADS (TZ * TX)
// Registers can be reallocated between groups of four warps only.
#define STRESS_THREADS ((CORE_THREADS + Z_THREADS + ROW_THREADS + 127) / 128 * 128)
#define FIRST_COPIER (STRESS_THREADS + (FORCE_THREADS + 127) / 128 * 128)
#define ALL_THREADS (FIRST_COPIER + 128)
#define S_PP S_PLANE
#define S_BUFFER (S_PLANE + TX * TZ)

#ifdef CUDA_ON_CPU
#define TAKE_REGISTERS(n)
#else
#define TAKE_REGISTERS(n)                                                                             \
    if (n > START_REGISTERS) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n)); \
    else asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#endif

// On a processor, two common barriers per plane are used instead.
INLINE void barrier_all(void) { __syncthreads(); }

#ifdef CUDA_ON_CPU
#define FULL_ARRIVE(b)
#define FULL_WAIT(b, k)
#define EMPTY_ARRIVE(b)
#define EMPTY_WAIT(b, k)
#define COMMON_BARRIER barrier_all()
#else
#define FULL_ARRIVE(b) full_arrive(arrivals + RING + (b))
#define FULL_WAIT(b, k) arrival_wait(arrivals + RING + (b), k)
#define EMPTY_ARRIVE(b) empty_arrive(arrivals + RING + 2 + (b))
#define EMPTY_WAIT(b, k) arrival_wait(arrivals + RING + 2 + (b), k)
#define COMMON_BARRIER
#endif

// Number of arrivals at EMPTY: the force threads and, in a cluster, each force warp of the other block.
#define EMPTY_ARRIVALS ((FIRST_COPIER - STRESS_THREADS) + (CLUSTER - 1) * (FIRST_COPIER - STRESS_THREADS) / 32)

INLINE void full_arrive(ARRIVAL *full) {
#if SHARES
    if (threadIdx.x == 0) {
        arrival_expect(full, PUSHED);
        return;
    }
#endif
    arrival_arrive(full);
}

INLINE void empty_arrive(ARRIVAL *empty) {
    arrival_arrive(empty);
#if SHARES
    // All threads of the warp have read the buffer.
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive_there(empty);
#endif
}

// Whether the next plane has its own medium in memory: planes outside the model repeat the outermost plane.
INLINE int is_followed(const struct Slab *s, int plane) {
    return plane >= s->nb && plane - s->nb < s->model_planes - 1;
}

// Copies planes of displacement around the tile into the ring; executed by one warp.
INLINE void fetch_planes(const struct Sweep *a, REAL *ring, ARRIVAL *arrivals, int begin, int end) {
    const int tile_z = blockIdx.x * TZ, tile_row = blockIdx.y * TX;
    int slot = 0;
    for (int plane = begin - 2 * RADIUS; plane < end + 2 * RADIUS; plane++) {
        // Once the stress of plane j is computed, the slot of plane j-4 is free.
        const int j = plane - RING + RADIUS;
        if (j == begin - RADIUS) COMMON_BARRIER;
        if (j >= begin - RADIUS) {
            FULL_WAIT(j & 1, (j - begin + RADIUS) >> 1);
            COMMON_BARRIER;
        }
        if (threadIdx.x == FIRST_COPIER) ask_plane(a, ring + slot * U_PLANE, arrivals + slot, plane, tile_z, tile_row);
        slot = slot + 1 == RING ? 0 : slot + 1;
        if (j >= begin - RADIUS) COMMON_BARRIER;
    }
    // No more slots are needed, but the common barriers count this warp.
    for (int j = end + 2 * RADIUS - RING + RADIUS; j < end + RADIUS; j++) {
        if (j < begin - RADIUS) continue;
        if (j == begin - RADIUS) COMMON_BARRIER;
        FULL_WAIT(j & 1, (j - begin + RADIUS) >> 1);
        COMMON_BARRIER;
        COMMON_BARRIER;
    }
}

// Steps 1 to 3 of planes begin-4 .. end+3; executed by the stress warps.
INLINE void make_stress(const struct Sweep *a, const REAL *ring, REAL *stress, ARRIVAL *arrivals, int begin, int end) {
    const int tile_z = blockIdx.x * TZ, tile_row = blockIdx.y * TX;
    const struct Mine mine = my_cells(threadIdx.x, 1);
    const int idle = threadIdx.x >= CORE_THREADS + Z_THREADS + ROW_THREADS;
    const struct StressAxes axes = stress_axes_of(mine);
    const int z = tile_z + mine.zl, row = tile_row + mine.rl;
    const int live_row = !idle && z >= 0 && z < a->s.pitch && is_live(row, a->s.rows);
#if SHARES
    const struct Push push = push_of(mine, stress, arrivals + RING);
#endif
    int oldest = (mine.rl + ROWS_BEFORE) * U_PITCH + mine.zl + 8;  // index in the ring of the first cell, in plane j-4
    int coming = 2 * RADIUS, turn = 0;
    // Index of the medium of plane j; planes outside the model repeat its edges.
    const WIDE medium_plane = (WIDE)a->s.model_rows * a->s.pitch;
    WIDE medium = medium_at(&a->s, begin - RADIUS, row) + z;
    for (int k = 0; k < 2 * RADIUS; k++) arrival_wait(arrivals + k, 0);
    for (int j = begin - RADIUS; j < end + RADIUS; j++) {
        const int live = live_row && is_live(j, a->s.planes), b = j & 1;
        struct Stiffness c;
        if (live) take_stiffness(a->s.stiffness, medium, &c);
        if (is_followed(&a->s, j)) medium += medium_plane;
        arrival_wait(arrivals + coming, turn);
        coming = coming + 1 == RING ? 0 : coming + 1;
        turn += coming == 0;
        int slots[2 * RADIUS + 1];
        follow_slots(oldest, slots);
        oldest += oldest + U_PLANE < RING * U_PLANE ? U_PLANE : U_PLANE - RING * U_PLANE;
        if (j >= begin - RADIUS + 2) EMPTY_WAIT(b, ((j - begin + RADIUS) >> 1) - 1);
        REAL *out = stress + b * S_BUFFER;
        struct Tensor s;
        set_zero(&s);
        if (live) {
            const struct Cells u = {ring, slots, 0, a->s.weights};
            stress_of(&u, &c, axes, z, a->s.nb, &s);
        }
        if (!idle) put_stress(out, mine, axes, &s);
#if SHARES
        push_stress(&push, b, S_BUFFER, &s);
#endif
        if (axes.planes) store(out + S_PP + mine.rl * TZ + mine.zl, s.pp);
        FULL_ARRIVE(b);
        COMMON_BARRIER;
        COMMON_BARRIER;
    }
}

// Steps 5, 7 and the sponge of planes begin .. end-1; executed by the force warps.
INLINE void make_step(const struct Sweep *a, const REAL *stress, ARRIVAL *arrivals, int begin, int end) {
    const int thread = threadIdx.x - STRESS_THREADS, tile_z = blockIdx.x * TZ, tile_row = blockIdx.y * TX;
    const int mine = MIN(thread, FORCE_THREADS - 1), zl = mine % TZ, rl = mine / TZ;
    const int z = tile_z + zl, row = tile_row + rl;
    const int writes = thread < FORCE_THREADS && z < a->s.pitch && row < a->s.rows, live_row = is_live(row, a->s.rows);
    const WIDE plane_size = (WIDE)a->s.rows * a->s.pitch, medium_plane = (WIDE)a->s.model_rows * a->s.pitch;
    const WIDE at = row_at(&a->s, begin, row) + z;
    const REAL *now = a->s.level[a->now] + at, *buoyancy = a->s.buoyancy + medium_at(&a->s, begin, row) + z;
    REAL *next = a->s.level[1 - a->now] + at;
    REAL force[NDIM][2 * RADIUS][1];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = 0; k < 2 * RADIUS; k++) force[i][k][0] = 0;
#if DAMPED
    const REAL damp = writes ? a->s.sponge[0][z] * a->s.sponge[1][row] : 0;
    const int near_face = is_near_face(&a->s, FACE, row, z);
    REAL damp_plane = 1;
#endif
    for (int j = begin - RADIUS; j < end + RADIUS; j++) {
        const int p = j - RADIUS, steps = writes && p >= begin, q = j & 1;
        REAL curr[NDIM], prev[NDIM], b = 0;
#if DAMPED
        // The weight is loaded one plane ahead to hide the latency.
        const REAL w = damp * damp_plane;
        if (writes && p + 1 >= begin && p + 1 < end) damp_plane = a->s.sponge[2][p + 1];
#endif
        if (steps) {
            UNROLL for (int i = 0; i < NDIM; i++) prev[i] = next[i * a->s.component];
            UNROLL for (int i = 0; i < NDIM; i++) curr[i] = now[i * a->s.component];
            if (live_row && is_live(p, a->s.planes)) b = *buoyancy;
            if (is_followed(&a->s, p)) buoyancy += medium_plane;
        }
        FULL_WAIT(q, (j - begin + RADIUS) >> 1);
        COMMON_BARRIER;
        const REAL *in = stress + q * S_BUFFER;
        const struct Around around = stress_around(in, zl, rl);
        const REAL own[NDIM] = {*around.zp, *around.rp, in[S_PP + rl * TZ + zl]};
        REAL plane[NDIM][1];
        divergence(&around, a->s.weights[0], a->s.weights[1], plane);
        if (j + 2 < end + RADIUS) EMPTY_ARRIVE(q);
#if DAMPED
        const REAL fresh = near_face || p < FACE || p >= a->s.planes - FACE ? 1 : w;
#endif
        UNROLL for (int i = 0; i < NDIM; i++) {
            REAL full[1];
            spread(force[i], plane[i], own + i, a->s.weights[2], full);
            if (!steps) continue;
#if DAMPED
            next[i * a->s.component] = FMA(full[0], b, FMA(-w, prev[i], 2 * curr[i])) * fresh;
#else
            next[i * a->s.component] = FMA(full[0], b, 2 * curr[i] - prev[i]);
#endif
        }
        if (steps) next += plane_size, now += plane_size;
        COMMON_BARRIER;
    }
}

#undef BOUNDS
#if SHARES
#define BOUNDS __cluster_dims__(1, CLUSTER, 1) __launch_bounds__(ALL_THREADS, BLOCKS)
#else
#define BOUNDS __launch_bounds__(ALL_THREADS, BLOCKS)
#endif

KERNEL(sweep)(const struct Sweep a) {
    DYNAMIC_SHARED(REAL, shared);
    __shared__ ARRIVAL arrivals[RING + 4];
    REAL *ring = shared, *stress = shared + RING * U_PLANE;
    const int thread = threadIdx.x;
    const int begin = a.begin + blockIdx.z * a.chunk, end = MIN(begin + a.chunk, a.end);
    if (thread == 0) {
        UNROLL for (int k = 0; k < RING; k++) arrival_init(arrivals + k, 1);
        UNROLL for (int k = 0; k < 2; k++) {
            arrival_init(arrivals + RING + k, STRESS_THREADS);
            arrival_init(arrivals + RING + 2 + k, EMPTY_ARRIVALS);
        }
    }
    arrivals_ready();
    before_copies();
#if SHARES
    cluster_barrier();  // no block may push before the other's barriers are initialised
#else
    barrier_all();
#endif
    if (thread < STRESS_THREADS) {
        TAKE_REGISTERS(STRESS_REGISTERS);
        COMMON_BARRIER;
        make_stress(&a, ring, stress, arrivals, begin, end);
    } else if (thread < FIRST_COPIER) {
        TAKE_REGISTERS(FORCE_REGISTERS);
        COMMON_BARRIER;
        make_step(&a, stress, arrivals, begin, end);
    } else {
        TAKE_REGISTERS(COPY_REGISTERS);
        fetch_planes(&a, ring, arrivals, begin, end);
    }
#if SHARES
    // The shared memory of a block must stay allocated until the other block has sent everything. Each block already
    // waits for all data that are sent to it, so this barrier, once a launch, is only a precaution.
    cluster_barrier();
#endif
}
