// The layout of a tile in shared memory and derivatives there, for sweep.cu and warp_specialized.cu.

#define RING (2 * RADIUS + AHEAD + 1)
#define RANK ((int)blockIdx.y % CLUSTER)  // index of a block among the blocks that share halos along rows (cluster.cuh)
#define QUADS (TZ / VEC)
#define SIDE (RADIUS / VEC)  // threads along z of the halo on one side
#if NDIM == 3
#define ROW_HALO (2 * RADIUS)
#define U_PITCH (TZ + 16 + PAD)
#define S_PITCH (TZ + 8 + 4)
#define CORE_THREADS (QUADS * TX)
#define Z_THREADS (2 * SIDE * TX)
#define ROW_THREADS (QUADS * 2 * RADIUS / CLUSTER)
#else
#define ROW_HALO 0
#define U_PITCH (TZ + 16)
#define S_PITCH (TZ + 8)
#define CORE_THREADS (QUADS + 2 * SIDE)
#define Z_THREADS 0
#define ROW_THREADS 0
#endif
#define THREADS ((CORE_THREADS + Z_THREADS + ROW_THREADS + 31) / 32 * 32)
// Displacement extends eight rows beyond the tile on sides where the block computes the halo of stress, otherwise four.
#define ROWS_BEFORE (RANK == 0 ? ROW_HALO : RADIUS)
#define U_ROWS (TX + ROW_HALO + (CLUSTER == 1 ? ROW_HALO : RADIUS))
#define U_COMPONENT (U_ROWS * U_PITCH)
#define U_PLANE ((NDIM * U_COMPONENT + 31) / 32 * 32)  // copies require slots aligned to 128 bytes

// Stress planes: zz and zp with a halo along z, rr and rp with a halo along rows, zr with both.
#define S_ZZ 0
#define S_ZP (TX * S_PITCH)
#if NDIM == 3
#define S_ZR (2 * TX * S_PITCH)
#define S_RR (S_ZR + (TX + 2 * RADIUS) * S_PITCH)
#define S_RP (S_RR + (TX + 2 * RADIUS) * TZ)
#define S_PLANE (S_RP + (TX + 2 * RADIUS) * TZ)
#else
#define S_PLANE (2 * TX * S_PITCH)
#endif
#define S_ROW S_PITCH
#define T_ROW TZ

// W . (f(m) - f(-m)) of VEC cells along z, from values four cells to either side.
INLINE void slopes_z(const REAL *p, const REAL *w, REAL *out) {
    REAL f[VEC + 2 * RADIUS];
    UNROLL for (int k = 0; k < VEC + 2 * RADIUS; k += VEC) load(p - RADIUS + k, f + k);
    EACH_VEC {
        REAL sum = w[3] * (f[v + 8] - f[v]);
        sum = FMA(w[2], f[v + 7] - f[v + 1], sum);
        sum = FMA(w[1], f[v + 6] - f[v + 2], sum);
        out[v] = FMA(w[0], f[v + 5] - f[v + 3], sum);
    }
}

INLINE void slopes(const REAL *p, int stride, const REAL *w, REAL *out) {
    EACH_VEC out[v] = 0;
    UNROLL for (int m = RADIUS; m > 0; m--) {
        REAL high[VEC], low[VEC];
        load(p + m * stride, high);
        load(p - m * stride, low);
        EACH_VEC out[v] = FMA(w[m - 1], high[v] - low[v], out[v]);
    }
}

// Adds the contribution of the stress of plane j to one component of the forces on planes j-4 .. j+4; before it, f
// holds the forces from j-4 to j+3. `own` is the stress that is differentiated along planes, `plane` the other terms of
// the force on plane j. `full` is the complete force on plane j-4.
INLINE void spread(REAL (*f)[FORCE_CELLS], const REAL *plane, const REAL *own, const REAL *w, REAL *full) {
    UNROLL for (int v = 0; v < FORCE_CELLS; v++) {
        full[v] = FMA(w[3], own[v], f[0][v]);
        f[0][v] = FMA(w[2], own[v], f[1][v]);
        f[1][v] = FMA(w[1], own[v], f[2][v]);
        f[2][v] = FMA(w[0], own[v], f[3][v]);
        f[3][v] = f[4][v] + plane[v];
        f[4][v] = FMA(-w[0], own[v], f[5][v]);
        f[5][v] = FMA(-w[1], own[v], f[6][v]);
        f[6][v] = FMA(-w[2], own[v], f[7][v]);
        f[7][v] = -w[3] * own[v];
    }
}

// Position of the displacement of VEC cells in the ring: the slots of the surrounding planes, and the index in a plane.
struct Cells {
    const REAL *ring;
    const int *slots;
    int at;
    const REAL (*weights)[RADIUS];
};

INLINE void along_z(const struct Cells *u, int component, REAL *out) {
    slopes_z(u->ring + u->slots[RADIUS] + u->at + component * U_COMPONENT, u->weights[0], out);
}

#if NDIM == 3
INLINE void along_rows(const struct Cells *u, int component, REAL *out) {
    slopes(u->ring + u->slots[RADIUS] + u->at + component * U_COMPONENT, U_PITCH, u->weights[1], out);
}
#endif

INLINE void along_planes(const struct Cells *u, int component, REAL *out) {
    const REAL *w = u->weights[2];
    const int at = u->at + component * U_COMPONENT;
    EACH_VEC out[v] = 0;
    UNROLL for (int m = RADIUS; m > 0; m--) {
        REAL high[VEC], low[VEC];
        load(u->ring + u->slots[RADIUS + m] + at, high);
        load(u->ring + u->slots[RADIUS - m] + at, low);
        EACH_VEC out[v] = FMA(w[m - 1], high[v] - low[v], out[v]);
    }
}

// The cells of a stress thread, relative to the tile: in the tile itself (core), next to it along z, or (3-D) next to
// it along rows, in a cluster only on the outer side. Threads that fill the last warp repeat the last cells. With
// `mixed`, threads for both sides of a row are adjacent in a warp; otherwise all threads of one side come after all
// threads of the other side.
struct Mine {
    int zl, rl, core, z_side;
};

INLINE struct Mine my_cells(int thread, int mixed) {
    struct Mine m = {0, 0, 0, 0};
#if NDIM == 3
    if (thread < CORE_THREADS) {
        m.core = 1, m.zl = thread % QUADS * VEC, m.rl = thread / QUADS;
    } else if (thread < CORE_THREADS + Z_THREADS) {
        int k = thread - CORE_THREADS, side = mixed ? k / SIDE % 2 : k / (SIDE * TX);
        m.z_side = 1, m.rl = mixed ? k / (2 * SIDE) : k / SIDE % TX;
        m.zl = (side ? TZ : -RADIUS) + k % SIDE * VEC;
    } else {
        int k = thread - CORE_THREADS - Z_THREADS;
        m.zl = k % QUADS * VEC, m.rl = k / QUADS - (RANK == 0 ? RADIUS : 0);
        m.rl = m.rl < 0 ? m.rl : m.rl + TX;
        m.rl = MIN(m.rl, TX + RADIUS - 1);
    }
#else
    m.zl = thread * VEC - RADIUS;
    m.zl = MIN(m.zl, TZ + RADIUS - VEC);
    m.core = thread < CORE_THREADS && m.zl >= 0 && m.zl < TZ;
#endif
    return m;
}

// Offsets in the ring of a plane and of those around it.
INLINE void find_slots(int slot, int *slots) {
    UNROLL for (int m = 0; m <= 2 * RADIUS; m++) {
        int k = slot + m - RADIUS;
        slots[m] = (k < 0 ? k + RING : k >= RING ? k - RING : k) * U_PLANE;
    }
}

// Indices in the ring of a cell in a plane and in those around it, computed from its index four planes before, for
// kernels that increment that index from plane to plane. An index beyond the ring's end is reduced by the length of
// the ring; for others the difference wraps around and is larger.
INLINE void follow_slots(unsigned at, int *slots) {
    UNROLL for (int m = 0; m <= 2 * RADIUS; m++) {
        const unsigned far = at + m * U_PLANE, near = far - RING * U_PLANE;
        slots[m] = MIN(far, near);
    }
}

#if BULK
// Starts copying a plane of displacement around the tile into a slot of the ring, with zeros outside the grid; called
// by one thread.
INLINE void ask_plane(const struct Sweep *a, REAL *slot, ARRIVAL *arrival, int plane, int tile_z, int tile_row) {
    const int local = plane + GHOST - a->s.first;
    before_copies();
#if NDIM == 3
    arrival_expect(arrival, NDIM * U_COMPONENT * (int)sizeof(REAL));
#ifdef CUDA_ON_CPU
    for (int k = 0; k < NDIM * U_COMPONENT; k++) {
        int z = tile_z - 8 + k % U_PITCH, row = tile_row - ROWS_BEFORE + k / U_PITCH % U_ROWS;
        int there = z >= 0 && z < a->s.pitch && row >= 0 && row < a->s.rows;
        slot[k] = there ? a->s.level[a->now][k / U_COMPONENT * a->s.component + row_at(&a->s, plane, row) + z] : 0;
    }
#else
    copy_box(slot, a->box[a->now], tile_z - 8, tile_row - ROWS_BEFORE, local, 0, arrival);
#endif
#else
    const int z = MAX(tile_z - 8, 0), count = MIN(tile_z + TZ + 8, a->s.pitch) - z;
    arrival_expect(arrival, NDIM * count * (int)sizeof(REAL));
    for (int i = 0; i < NDIM; i++) {
        const REAL *from = a->s.level[a->now] + i * a->s.component + (WIDE)local * a->s.pitch + z;
        copy_row(slot + i * U_COMPONENT + z - (tile_z - 8), from, count, arrival);
    }
#endif
}
#endif
