// The same step as sweep.cu in 2-D for grids that do not fill the device: a block has a tile of TZ x TX cells (z, plane)
// all at once, so that the way through a step is short. VEC is 1.

#define U_Z (TZ + 16)
#define U_P (TX + 16)
#define S_Z (TZ + 8)
#define S_P (TX + 8)
#define CELLS (TZ * TX)

struct Sweep {
    struct Slab s;
    int now;         // which level is u(t); the other becomes u(t+dt)
    int begin, end;  // planes to step
    int chunk;       // TX
    const void *box[2];
};

// W . (f(m) - f(-m)) of one cell.
INLINE REAL slope(const REAL *f, int stride, const REAL *w) {
    REAL sum = w[3] * (f[4 * stride] - f[-4 * stride]);
    sum = FMA(w[2], f[3 * stride] - f[-3 * stride], sum);
    sum = FMA(w[1], f[2 * stride] - f[-2 * stride], sum);
    return FMA(w[0], f[stride] - f[-stride], sum);
}

#undef BOUNDS
#define BOUNDS __launch_bounds__(CELLS)

KERNEL(sweep)(const struct Sweep a) {
    DYNAMIC_SHARED(REAL, shared);
    REAL *u = shared, *stress = u + 2 * U_Z * U_P;
    const int thread = threadIdx.x, tile_z = blockIdx.x * TZ, first = a.begin + blockIdx.z * TX;
    const REAL *wz = a.s.weights[0], *wp = a.s.weights[2], *from = a.s.level[a.now];
    // What the time step will need is asked for first.
    const int zl = thread % TZ, pl = thread / TZ, z = tile_z + zl, p = first + pl;
    const int writes = z < a.s.pitch && p < a.end;
    const WIDE at = row_at(&a.s, MIN(p, a.end - 1), 0) + MIN(z, a.s.pitch - 1);
    REAL *next = a.s.level[1 - a.now] + at;
    REAL prev[2] = {0, 0}, b = 0;
    if (writes) {
        prev[0] = next[0], prev[1] = next[a.s.component];
        if (is_live(p, a.s.planes)) b = a.s.buoyancy[medium_at(&a.s, p, 0) + z];
    }
    for (int k = thread; k < 2 * U_Z * U_P; k += CELLS) {
        int i = k / (U_Z * U_P), q = first - 8 + k / U_Z % U_P, y = tile_z - 8 + k % U_Z;
        int there = y >= 0 && y < a.s.pitch && q < a.end + 8;
        u[k] = there ? from[i * a.s.component + row_at(&a.s, q, 0) + y] : 0;
    }
    __syncthreads();
    for (int k = thread; k < S_Z * S_P; k += CELLS) {
        int y = tile_z - RADIUS + k % S_Z, q = first - RADIUS + k / S_Z;
        REAL zz[1] = {0}, pp[1] = {0}, zp[1] = {0};
        if (y >= 0 && y < a.s.pitch && is_live(q, a.s.planes) && q < a.end + RADIUS) {
            struct Stiffness c;
            take_stiffness(a.s.stiffness, medium_at(&a.s, q, 0) + y, &c);
            const REAL *uz = u + (k / S_Z + RADIUS) * U_Z + k % S_Z + RADIUS, *up = uz + U_Z * U_P;
            REAL ezz = slope(uz, 1, wz), epp = slope(up, U_Z, wp), e = slope(uz, U_Z, wp) + slope(up, 1, wz);
            zz[0] = FMA(c.z_p[0], epp, c.zz[0] * ezz);
            pp[0] = FMA(c.z_p[0], ezz, c.pp[0] * epp);
            zp[0] = c.zp[0] * e;
#if SURFACE == 2
            if (y < a.s.nb) zz[0] = zp[0] = 0;
#endif
        }
        stress[k] = zz[0], stress[S_Z * S_P + k] = zp[0], stress[2 * S_Z * S_P + k] = pp[0];
    }
    __syncthreads();
    if (!writes) return;
    const REAL *zz = stress + (pl + RADIUS) * S_Z + zl + RADIUS, *zp = zz + S_Z * S_P, *pp = zp + S_Z * S_P;
    const REAL force[2] = {slope(zz, 1, wz) + slope(zp, S_Z, wp), slope(zp, 1, wz) + slope(pp, S_Z, wp)};
    const REAL *curr = u + (pl + 8) * U_Z + zl + 8;
#if DAMPED
    const REAL w = sponge_at(&a.s, p, 0, z), fresh = in_shell(&a.s, p, 0, z) ? 1 : w;
#else
    const REAL w = 1, fresh = 1;
#endif
    for (int i = 0; i < 2; i++) {
        next[i * a.s.component] = FMA(force[i], b, FMA(-w, prev[i], 2 * curr[i * U_Z * U_P])) * fresh;
    }
}
