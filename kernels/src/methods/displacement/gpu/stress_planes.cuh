// Stress planes of a tile in shared memory: what the forms that walk along planes put there and read.

// The stresses that a thread of a tile makes; in 2-D all of them.
INLINE struct Wanted wanted_of(struct Mine m) {
    const struct Wanted wanted = {NDIM == 2 || m.core || m.z_side, NDIM == 2 || !m.z_side, NDIM == 2 || m.core};
    return wanted;
}

INLINE void put_stress(REAL *out, struct Mine m, struct Wanted wanted, const struct Tensor *s) {
    const int s_at = m.rl * S_PITCH + m.zl + RADIUS;
#if NDIM == 3
    const int t_at = (m.rl + RADIUS) * TZ + m.zl;
    if (wanted.z) store(out + S_ZZ + s_at, s->zz), store(out + S_ZP + s_at, s->zp);
    if (wanted.rows) store(out + S_RR + t_at, s->rr), store(out + S_RP + t_at, s->rp);
    store(out + S_ZR + RADIUS * S_PITCH + s_at, s->zr);
#else
    store(out + S_ZZ + s_at, s->zz), store(out + S_ZP + s_at, s->zp);
#endif
}

// The stresses around a cell of the tile.
INLINE struct Around stress_around(const REAL *plane, int zl, int rl) {
    struct Around s;
    const int s_at = rl * S_PITCH + zl + RADIUS;
    s.zz = plane + S_ZZ + s_at, s.zp = plane + S_ZP + s_at;
#if NDIM == 3
    const int t_at = (rl + RADIUS) * TZ + zl;
    s.zr = plane + S_ZR + RADIUS * S_PITCH + s_at, s.rr = plane + S_RR + t_at, s.rp = plane + S_RP + t_at;
#endif
    return s;
}
