// Steps 1-3, 5 and 7 of displacement/mod.rs in one pass, together with the sponge. Stress is kept in shared memory and
// registers; points.cuh contains the formulas of a cell.
//
// A block owns a tile of TZ x TX cells (z, row) and advances along the planes. At plane j it
//   1. computes strain from a ring buffer of RING planes of displacement in shared memory (planes j-4 .. j+4, while the
//      next ones are copied from device memory), and also stores the stresses there that are differentiated inside
//      the plane;
//   2. adds the derivatives inside the plane to the force on plane j, and the contributions of the stress of plane j to
//      derivatives along planes to the forces on planes j-4 .. j+4, which are in registers. The force on plane j-4 is
//      then complete, and its cells are updated in place.
// Additional threads recompute stress on four cells around the tile, but only the components that are differentiated in
// that direction. Sums have a fixed order for any range of planes, so that any decomposition gives the same bits.
//
// Macros that the host defines: TZ, TX (1 in 2-D); AHEAD, the planes in flight; BLOCKS per multiprocessor; DAMPED 0|1;
// SURFACE, which is 0 for none, 1 for vacuum and 2 for traction.

#if !BULK
// Starts copying a plane of displacement around the tile into a slot of the ring, with zeros outside the grid; called
// by all threads.
INLINE void fetch_plane(const struct Sweep *a, REAL *slot, int plane, int tile_z, int tile_row, int thread) {
    const int wide = 16 / sizeof(REAL), across = (TZ + 16) / wide, pieces = NDIM * U_ROWS * across;
    const REAL *from = a->s.level[a->now];
    for (int k = thread; k < pieces; k += THREADS) {
        int q = k % across, line = k / across, row = line % U_ROWS, component = line / U_ROWS;
        int z = tile_z - 8 + q * wide, r = tile_row - ROW_HALO + row;
        int there = z >= 0 && z < a->s.pitch && r >= 0 && r < a->s.rows;
        WIDE at = component * a->s.component + row_at(&a->s, plane, there ? r : 0) + (there ? z : 0);
        copy_async(slot + line * U_PITCH + q * wide, from + at, there);
    }
    copies_commit();
}
#endif

#define ASKER (NDIM == 3 ? CORE_THREADS + Z_THREADS : 0)  // thread that starts copies; in 3-D it computes no force

// The part of the sponge's damping of a thread's cells that is the same for all planes.
struct Sponge {
    REAL damp[VEC];
    int near_face;  // one bit per cell: whether it is next to a face
};

INLINE struct Sponge sponge_of(const struct Sweep *a, int writes, int row, int z) {
    struct Sponge sponge;
    sponge.near_face = 0;
    EACH_VEC {
        sponge.damp[v] = 0;
#if DAMPED
        sponge.damp[v] = writes ? a->s.sponge[0][z + v] * a->s.sponge[1][NDIM == 3 ? row : 0] : 0;
        sponge.near_face |= is_near_face(&a->s, FACE, row, z + v) << v;
#endif
    }
    return sponge;
}

// Starts copying the first planes of the ring, and waits for the planes that the first stress needs.
INLINE void start_ring(const struct Sweep *a, REAL *ring, void *arrivals, int begin, int tile_z, int tile_row) {
    const int thread = threadIdx.x;
#if BULK
    ARRIVAL *arrival = (ARRIVAL *)arrivals;
    if (thread == 0) UNROLL for (int k = 0; k < RING; k++) arrival_init(arrival + k, 1);
#if NDIM == 2
    // Cells outside the grid are zero and never written again.
    const REAL zeros[VEC] = {0};
    for (int k = thread * VEC; k < RING * U_PLANE; k += THREADS * VEC) store(ring + k, zeros);
#endif
    arrivals_ready();
    before_copies();
    __syncthreads();
    for (int k = 0; thread == ASKER && k < RING; k++) {
        ask_plane(a, ring + k * U_PLANE, arrival + k, begin - 2 * RADIUS + k, tile_z, tile_row);
    }
    for (int k = 0; k < 2 * RADIUS + 1; k++) arrival_wait(arrival + k, 0);
#ifdef CUDA_ON_CPU
    __syncthreads();
#endif
#else
    for (int k = 0; k < RING; k++) {
        fetch_plane(a, ring + k * U_PLANE, begin - 2 * RADIUS + k, tile_z, tile_row, thread);
    }
    COPIES_WAIT(AHEAD);
    __syncthreads();
#endif
}

// Time step (eq. 6) of a thread's cells. The second application of the sponge to the previous level is done here.
INLINE void step_cells(const struct Sweep *a, REAL *next, REAL (*prev)[VEC], REAL (*old)[VEC], REAL (*force)[VEC],
                       const REAL *factor, int acts, const REAL *damp, int near_face) {
    UNROLL for (int i = 0; i < NDIM; i++) {
        REAL u[VEC];
        EACH_VEC {
#if DAMPED
            u[v] = FMA(-damp[v], prev[i][v], 2 * old[i][v]);
#else
            u[v] = 2 * old[i][v] - prev[i][v];
#endif
            if (acts) u[v] = FMA(force[i][v], factor[v], u[v]);
#if DAMPED
            if (!(near_face >> v & 1)) u[v] *= damp[v];
#endif
        }
        store(next + i * a->s.component, u);
    }
}

#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, BLOCKS)

KERNEL(sweep)(const struct Sweep a) {
    DYNAMIC_SHARED(REAL, shared);
    REAL *ring = shared, *stress = shared + RING * U_PLANE;
    const int thread = threadIdx.x, tile_z = blockIdx.x * TZ, tile_row = blockIdx.y * TX;
    const int begin = a.begin + blockIdx.z * a.chunk, end = MIN(begin + a.chunk, a.end);
    const struct Mine mine = my_cells(thread, 0);
    const struct StressAxes axes = stress_axes_of(mine);
    const int z = tile_z + mine.zl, row = tile_row + mine.rl;
    const int inside = z >= 0 && z < a.s.pitch && row >= 0 && row < a.s.rows;
    const int live_row = inside && (NDIM == 2 || is_live(row, a.s.rows));
    const int writes = mine.core && inside;
    const int u_at = (mine.rl + ROW_HALO) * U_PITCH + mine.zl + 8;
    REAL force[NDIM][2 * RADIUS][VEC];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = 0; k < 2 * RADIUS; k++) EACH_VEC force[i][k][v] = 0;
    const struct Sponge sponge = sponge_of(&a, writes, row, z);
    int slot = RADIUS;  // slot of plane j
#if BULK
    __shared__ ARRIVAL arrivals[RING];
    // The next plane to wait for, by its slot and phase.
    int coming = 2 * RADIUS + 1, turn = 0;
    start_ring(&a, ring, arrivals, begin, tile_z, tile_row);
#else
    start_ring(&a, ring, 0, begin, tile_z, tile_row);
#endif

    for (int j = begin - RADIUS; j < end + RADIUS; j++) {
#if BULK
        if (j > begin - RADIUS) {
            arrival_wait(arrivals + coming, turn);
            coming = coming + 1 == RING ? 0 : coming + 1;
            turn += coming == 0;
        }
#endif
        int slots[2 * RADIUS + 1];
        find_slots(slot, slots);
        REAL *out = stress + (j & 1) * S_PLANE;
        // There is no stress in rows and planes of the rim or outside the grid.
        struct Tensor s;
        set_zero(&s);
        if (live_row && is_live(j, a.s.planes)) {
            const struct Cells u = {ring, slots, u_at, a.s.weights};
            struct Stiffness c;
            take_stiffness(a.s.stiffness, medium_at(&a.s, j, row) + z, &c);
            make_stress_planes(out, mine, axes, &u, &c, z, a.s.nb, &s);
        } else {
            put_stress(out, mine, axes, &s);
        }

        const int p = j - RADIUS, steps = writes && p >= begin;
        REAL *next = a.s.level[1 - a.now] + row_at(&a.s, MAX(p, begin), row) + z;
        REAL prev[NDIM][VEC], old[NDIM][VEC], b[VEC];
#if DAMPED
        REAL damp_plane = 1;
        if (steps) damp_plane = a.s.sponge[2][p];
#endif
        // The slot of plane j-4 is reused after the barrier.
        UNROLL for (int i = 0; i < NDIM; i++) load(ring + slots[0] + u_at + i * U_COMPONENT, old[i]);
#if BULK
        BLOCK_BARRIER;
        if (thread == ASKER && j + AHEAD + 1 < end + RADIUS) {
            int k = slot < RADIUS ? slot - RADIUS + RING : slot - RADIUS;
            ask_plane(&a, ring + k * U_PLANE, arrivals + k, j + RADIUS + AHEAD + 1, tile_z, tile_row);
        }
#else
        COPIES_WAIT(AHEAD - 1);
        BLOCK_BARRIER;
        if (j + AHEAD + 1 < end + RADIUS) {
            fetch_plane(&a, ring + slots[0], j + RADIUS + AHEAD + 1, tile_z, tile_row, thread);
        } else {
            copies_commit();
        }
#endif
        slot = slot + 1 == RING ? 0 : slot + 1;
        if (!writes) continue;

        // Force (eq. 3).
        if (steps) {
            UNROLL for (int i = 0; i < NDIM; i++) fetch_once(next + i * a.s.component, prev[i]);
            fetch_once(a.s.buoyancy + medium_at(&a.s, p, row) + z, b);
        }
        REAL plane[NDIM][VEC], full[NDIM][VEC];
        const struct Around around = stress_around(out, mine.zl, mine.rl);
        divergence(&around, a.s.weights[0], a.s.weights[1], plane);
        spread(force[C_Z], plane[C_Z], s.zp, a.s.weights[2], full[C_Z]);
#if NDIM == 3
        spread(force[C_R], plane[C_R], s.rp, a.s.weights[2], full[C_R]);
#endif
        spread(force[C_P], plane[C_P], s.pp, a.s.weights[2], full[C_P]);
        if (!steps) continue;
        const int acts = live_row && is_live(p, a.s.planes);
        int near_face = sponge.near_face;
        REAL damp[VEC];
        EACH_VEC damp[v] = sponge.damp[v];
#if DAMPED
        if (p < FACE || p >= a.s.planes - FACE) near_face = (1 << VEC) - 1;
        EACH_VEC damp[v] *= damp_plane;
#endif
        step_cells(&a, next, prev, old, full, b, acts, damp, near_face);
    }
}
