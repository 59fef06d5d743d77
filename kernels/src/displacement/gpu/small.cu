// The same step as sweep.cu in 2-D for grids that do not fill the device: a block has a tile of TZ x TX cells (z, plane)
// all at once, so that the way through a step is short. VEC is 1.

#define U_Z (TZ + 16)
#define U_P (TX + 16)
#define S_Z (TZ + 8)
#define S_P (TX + 8)

#undef BOUNDS
#define BOUNDS __launch_bounds__(S_Z * S_P)

// A thread for every cell of stress; all that comes from device memory is asked for before the first of it is needed.
KERNEL(sweep)(const struct Sweep a) {
    DYNAMIC_SHARED(REAL, shared);
    REAL *u = shared, *stress = u + 2 * U_Z * U_P;
    const int thread = threadIdx.x, tile_z = blockIdx.x * TZ, first = a.begin + blockIdx.z * TX;
    const REAL *wz = a.s.weights[0], *wp = a.s.weights[2], *from = a.s.level[a.now];
    UNROLL for (int k0 = 0; k0 < 2 * U_Z * U_P; k0 += S_Z * S_P) {
        int k = k0 + thread;
        if (k < 2 * U_Z * U_P) {
            int i = k / (U_Z * U_P), q = first - 8 + k / U_Z % U_P, y = tile_z - 8 + k % U_Z;
            int there = y >= 0 && y < a.s.pitch && q < a.end + 8;
            u[k] = there ? from[i * a.s.component + row_at(&a.s, q, 0) + y] : 0;
        }
    }
    const int sz = thread % S_Z, sp = thread / S_Z, y = tile_z - RADIUS + sz, q = first - RADIUS + sp;
    const int live = y >= 0 && y < a.s.pitch && is_live(q, a.s.planes) && q < a.end + RADIUS;
    struct Stiffness c;
    if (live) take_stiffness(a.s.stiffness, medium_at(&a.s, q, 0) + y, &c);
    const int zl = thread % TZ, pl = thread / TZ, z = tile_z + zl, p = first + pl;
    const int writes = pl < TX && z < a.s.pitch && p < a.end;
    REAL *next = a.s.level[1 - a.now];
    REAL prev[2] = {0, 0}, b = 0, w = 1, fresh = 1;
    if (writes) {
        next += row_at(&a.s, p, 0) + z;
        prev[0] = next[0], prev[1] = next[a.s.component];
        if (is_live(p, a.s.planes)) b = a.s.buoyancy[medium_at(&a.s, p, 0) + z];
#if DAMPED
        w = sponge_at(&a.s, p, 0, z), fresh = in_shell(&a.s, p, 0, z) ? 1 : w;
#endif
    }
    BLOCK_BARRIER;
    REAL zz = 0, pp = 0, zp = 0;
    if (live) {
        const REAL *uz = u + (sp + RADIUS) * U_Z + sz + RADIUS, *up = uz + U_Z * U_P;
        REAL ezz = slope(uz, 1, wz), epp = slope(up, U_Z, wp), e = slope(uz, U_Z, wp) + slope(up, 1, wz);
        zz = FMA(c.z_p[0], epp, c.zz[0] * ezz);
        pp = FMA(c.z_p[0], ezz, c.pp[0] * epp);
        zp = c.zp[0] * e;
#if SURFACE == 2
        if (y < a.s.nb) zz = zp = 0;
#endif
    }
    stress[thread] = zz, stress[S_Z * S_P + thread] = zp, stress[2 * S_Z * S_P + thread] = pp;
    BLOCK_BARRIER;
    if (!writes) return;
    const REAL *at_zz = stress + (pl + RADIUS) * S_Z + zl + RADIUS, *at_zp = at_zz + S_Z * S_P, *at_pp = at_zp + S_Z * S_P;
    const REAL force[2] = {slope(at_zz, 1, wz) + slope(at_zp, S_Z, wp), slope(at_zp, 1, wz) + slope(at_pp, S_Z, wp)};
    const REAL *curr = u + (pl + 8) * U_Z + zl + 8;
    for (int i = 0; i < 2; i++) {
        next[i * a.s.component] = FMA(force[i], b, FMA(-w, prev[i], 2 * curr[i * U_Z * U_P])) * fresh;
    }
}
