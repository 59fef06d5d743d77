// Steps 1-3, 5 and 7 of displacement/mod.rs in one pass, and the sponge: stress lives in shared memory and registers.
//
// A block owns a tile of TZ x TX cells (z, row) and walks along the planes. At plane j it
//   1. takes strain from a ring of RING planes of displacement in shared memory (planes j-4 .. j+4, the next ones on
//      their way from device memory), and puts the stresses that are differentiated inside the plane there too;
//   2. adds the derivatives inside the plane to the force on plane j, and what the stress of plane j means to the
//      derivatives along planes to the forces on planes j-4 .. j+4, which are registers: the force on plane j-4 is
//      complete then, and its cells are stepped in place.
// Around the tile, stress is computed once more on four cells to each side, only the components differentiated that way,
// by threads of their own. Sums have one order, whatever the range of planes: any cut gives the same bits.
//
// Defines: TZ, TX (1 in 2-D), AHEAD planes on their way, BLOCKS a multiprocessor, DAMPED 0|1, SURFACE 0 none, 1 vacuum, 2 traction.

#if !BULK
// A plane of displacement around the tile into a slot of the ring, zeros beyond the grid; by all threads.
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

#define ASKER (NDIM == 3 ? CORE_THREADS + Z_THREADS : 0)  // in 3-D one that has no part in the force

#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, BLOCKS)

KERNEL(sweep)(const struct Sweep a) {
    DYNAMIC_SHARED(REAL, shared);
    REAL *ring = shared, *stress = shared + RING * U_PLANE;
    const int thread = threadIdx.x, tile_z = blockIdx.x * TZ, tile_row = blockIdx.y * TX;
    const int begin = a.begin + blockIdx.z * a.chunk, end = MIN(begin + a.chunk, a.end);
    const REAL *wz = a.s.weights[0], *wr = a.s.weights[1], *wp = a.s.weights[2];

    // Where this thread's cells are, relative to the tile.
    int zl, rl = 0, core = 1, z_side = 0;
#if NDIM == 3
    if (thread < CORE_THREADS) {
        zl = thread % QUADS * VEC, rl = thread / QUADS;
    } else if (thread < CORE_THREADS + Z_THREADS) {
        int k = thread - CORE_THREADS, side = k / (SIDE * TX);
        core = 0, z_side = 1, rl = k / SIDE % TX;
        zl = (side ? TZ : -RADIUS) + k % SIDE * VEC;
    } else {
        int k = thread - CORE_THREADS - Z_THREADS;
        core = 0, zl = k % QUADS * VEC, rl = k / QUADS - RADIUS;
        rl = rl < 0 ? rl : rl + TX;
        // Threads that fill up the last warp repeat its last cells.
        rl = MIN(rl, TX + RADIUS - 1);
    }
#else
    zl = thread * VEC - RADIUS;
    zl = MIN(zl, TZ + RADIUS - VEC);
    core = thread < CORE_THREADS && zl >= 0 && zl < TZ;
#endif
    const int z = tile_z + zl, row = tile_row + rl;
    const int inside = z >= 0 && z < a.s.pitch && row >= 0 && row < a.s.rows;
    const int live_row = inside && (NDIM == 2 || is_live(row, a.s.rows));
    const int writes = core && inside;
    const int u_at = (rl + ROW_HALO) * U_PITCH + zl + 8;
    const int s_at = rl * S_PITCH + zl + RADIUS;  // zz, zp, and zr four rows further
#if NDIM == 3
    const int t_at = (rl + RADIUS) * TZ + zl;     // rr, rp
#endif

    REAL force[NDIM][2 * RADIUS][VEC];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = 0; k < 2 * RADIUS; k++) EACH_VEC force[i][k][v] = 0;
#if DAMPED
    REAL damp[VEC];
    int shell = 0;  // a bit a cell
    EACH_VEC {
        damp[v] = writes ? a.s.sponge[0][z + v] * a.s.sponge[1][NDIM == 3 ? row : 0] : 0;
        shell |= in_shell(&a.s, FACE, row, z + v) << v;
    }
#endif
#if SURFACE == 2
    REAL below[VEC];
    EACH_VEC below[v] = z + v >= a.s.nb;
#endif

    int slot = RADIUS;  // of plane j
#if BULK
    __shared__ ARRIVAL arrivals[RING];
    if (thread == 0) UNROLL for (int k = 0; k < RING; k++) arrival_init(arrivals + k, 1);
#if NDIM == 2
    // Cells beyond the grid are never written again.
    const REAL zeros[VEC] = {0};
    for (int k = thread * VEC; k < RING * U_PLANE; k += THREADS * VEC) store(ring + k, zeros);
#endif
    arrivals_ready();
    before_copies();
    __syncthreads();
    for (int k = 0; thread == ASKER && k < RING; k++) {
        ask_plane(&a, ring + k * U_PLANE, arrivals + k, begin - 2 * RADIUS + k, tile_z, tile_row);
    }
    // The plane that must have arrived next, by its slot and turn.
    int coming = 2 * RADIUS + 1, turn = 0;
    for (int k = 0; k < coming; k++) arrival_wait(arrivals + k, 0);
#ifdef CUDA_ON_CPU
    __syncthreads();
#endif
#else
    for (int k = 0; k < RING; k++) {
        fetch_plane(&a, ring + k * U_PLANE, begin - 2 * RADIUS + k, tile_z, tile_row, thread);
    }
    COPIES_WAIT(AHEAD);
    __syncthreads();
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
        UNROLL for (int m = 0; m <= 2 * RADIUS; m++) {
            int k = slot + m - RADIUS;
            k = k < 0 ? k + RING : k >= RING ? k - RING : k;
            slots[m] = k * U_PLANE;
        }
        const int live = live_row && is_live(j, a.s.planes);
        REAL *out = stress + (j & 1) * S_PLANE;
        REAL pp[VEC], zp[VEC], old[NDIM][VEC];
        EACH_VEC pp[v] = zp[v] = 0;
#if NDIM == 3
        REAL rp[VEC];
        EACH_VEC rp[v] = 0;
#endif
        // 1. Strain (eq. 1) and stress (eq. 2), rows and planes of the rim and all beyond it carry none.
        if (live) {
            struct Stiffness c;
            take_stiffness(a.s.stiffness, medium_at(&a.s, j, row) + z, &c);
            const REAL *uz = ring + slots[RADIUS] + u_at, *up = uz + C_P * U_COMPONENT;
            REAL ezz[VEC], epp[VEC], d[VEC], e[VEC];
#if NDIM == 3
            const REAL *ur = uz + C_R * U_COMPONENT;
            REAL err[VEC], s[VEC];
            along_z(uz, wz, ezz);
            along(ur, U_PITCH, wr, err);
            along_planes(ring, slots, u_at + C_P * U_COMPONENT, wp, epp);
            if (core || z_side) {
                EACH_VEC s[v] = FMA(c.z_r[v], err[v], FMA(c.z_p[v], epp[v], c.zz[v] * ezz[v]));
#if SURFACE == 2
                EACH_VEC s[v] *= below[v];
#endif
                store(out + S_ZZ + s_at, s);
            }
            if (!z_side) {
                EACH_VEC s[v] = FMA(c.rr[v], err[v], FMA(c.z_r[v], ezz[v], c.r_p[v] * epp[v]));
                store(out + S_RR + t_at, s);
            }
            if (core) EACH_VEC pp[v] = FMA(c.r_p[v], err[v], FMA(c.z_p[v], ezz[v], c.pp[v] * epp[v]));
            along(uz, U_PITCH, wr, d);
            along_z(ur, wz, e);
            EACH_VEC s[v] = c.zr[v] * (d[v] + e[v]);
#if SURFACE == 2
            EACH_VEC s[v] *= below[v];
#endif
            store(out + S_ZR + RADIUS * S_PITCH + s_at, s);
            if (core || z_side) {
                along_planes(ring, slots, u_at, wp, d);
                along_z(up, wz, e);
                EACH_VEC zp[v] = c.zp[v] * (d[v] + e[v]);
#if SURFACE == 2
                EACH_VEC zp[v] *= below[v];
#endif
                store(out + S_ZP + s_at, zp);
            }
            if (!z_side) {
                along_planes(ring, slots, u_at + C_R * U_COMPONENT, wp, d);
                along(up, U_PITCH, wr, e);
                EACH_VEC rp[v] = c.rp[v] * (d[v] + e[v]);
                store(out + S_RP + t_at, rp);
            }
#else
            along_z(uz, wz, ezz);
            along_planes(ring, slots, u_at + C_P * U_COMPONENT, wp, epp);
            along_planes(ring, slots, u_at, wp, d);
            along_z(up, wz, e);
            REAL s[VEC];
            EACH_VEC {
                s[v] = FMA(c.z_p[v], epp[v], c.zz[v] * ezz[v]);
                pp[v] = FMA(c.z_p[v], ezz[v], c.pp[v] * epp[v]);
                zp[v] = c.zp[v] * (d[v] + e[v]);
#if SURFACE == 2
                s[v] *= below[v], zp[v] *= below[v];
#endif
            }
            store(out + S_ZZ + s_at, s);
            store(out + S_ZP + s_at, zp);
#endif
        } else {
#if NDIM == 3
            if (core || z_side) store(out + S_ZZ + s_at, pp), store(out + S_ZP + s_at, pp);
            if (!z_side) store(out + S_RR + t_at, pp), store(out + S_RP + t_at, pp);
            store(out + S_ZR + RADIUS * S_PITCH + s_at, pp);
#else
            store(out + S_ZZ + s_at, pp), store(out + S_ZP + s_at, pp);
#endif
        }
        const int p = j - RADIUS, steps = writes && p >= begin;
        REAL *next = a.s.level[1 - a.now] + row_at(&a.s, MAX(p, begin), row) + z;
        REAL prev[NDIM][VEC], b[VEC];
#if DAMPED
        REAL damp_plane = 1;
        if (steps) damp_plane = a.s.sponge[2][p];
#endif
        // Plane j-4 of the ring makes room after the barrier.
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

        // 2. Force (eq. 3).
        if (steps) {
            UNROLL for (int i = 0; i < NDIM; i++) fetch_once(next + i * a.s.component, prev[i]);
            fetch_once(a.s.buoyancy + medium_at(&a.s, p, row) + z, b);
        }
        REAL plane[NDIM][VEC], d[VEC];
        along_z(out + S_ZZ + s_at, wz, plane[C_Z]);
        along_z(out + S_ZP + s_at, wz, plane[C_P]);
#if NDIM == 3
        along_z(out + S_ZR + RADIUS * S_PITCH + s_at, wz, plane[C_R]);
        along(out + S_ZR + RADIUS * S_PITCH + s_at, S_PITCH, wr, d);
        EACH_VEC plane[C_Z][v] += d[v];
        along(out + S_RR + t_at, TZ, wr, d);
        EACH_VEC plane[C_R][v] += d[v];
        along(out + S_RP + t_at, TZ, wr, d);
        EACH_VEC plane[C_P][v] += d[v];
#endif
        REAL full[NDIM][VEC];
#if NDIM == 3
        spread(force[C_Z], plane[C_Z], zp, wp, full[C_Z]);
        spread(force[C_R], plane[C_R], rp, wp, full[C_R]);
        spread(force[C_P], plane[C_P], pp, wp, full[C_P]);
#else
        spread(force[C_Z], plane[C_Z], zp, wp, full[C_Z]);
        spread(force[C_P], plane[C_P], pp, wp, full[C_P]);
#endif
        if (!steps) continue;

        // Time step (eq. 6). The old level still lacks its second damping.
        const int acts = live_row && is_live(p, a.s.planes);
#if DAMPED
        const int shell_plane = p < FACE || p >= a.s.planes - FACE;
#endif
        UNROLL for (int i = 0; i < NDIM; i++) {
            REAL u[VEC];
            EACH_VEC {
#if DAMPED
                REAL w = damp[v] * damp_plane;
                u[v] = FMA(-w, prev[i][v], 2 * old[i][v]);
                if (acts) u[v] = FMA(full[i][v], b[v], u[v]);
                if (!(shell_plane || shell >> v & 1)) u[v] *= w;
#else
                u[v] = 2 * old[i][v] - prev[i][v];
                if (acts) u[v] = FMA(full[i][v], b[v], u[v]);
#endif
            }
            store(next + i * a.s.component, u);
        }
    }
}
