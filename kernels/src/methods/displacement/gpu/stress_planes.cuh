// Stress planes of a tile in shared memory, for the forms that advance along planes.

// The stresses that a thread of a tile computes; in 2-D all of them.
INLINE struct StressAxes stress_axes_of(struct Mine m) {
    const struct StressAxes axes = {NDIM == 2 || m.core || m.z_side, NDIM == 2 || !m.z_side, NDIM == 2 || m.core};
    return axes;
}

INLINE void put_stress(REAL *out, struct Mine m, struct StressAxes axes, const struct Tensor *s) {
    const int s_at = m.rl * S_PITCH + m.zl + RADIUS;
#if NDIM == 3
    const int t_at = (m.rl + RADIUS) * TZ + m.zl;
    if (axes.z) store(out + S_ZZ + s_at, s->zz), store(out + S_ZP + s_at, s->zp);
    if (axes.rows) store(out + S_RR + t_at, s->rr), store(out + S_RP + t_at, s->rp);
    store(out + S_ZR + RADIUS * S_PITCH + s_at, s->zr);
#else
    store(out + S_ZZ + s_at, s->zz), store(out + S_ZP + s_at, s->zp);
#endif
}

// Computes the stresses of a thread's cells and stores them in shared memory, each as soon as it is complete where
// possible, so that few values are live at once.
INLINE void make_stress_planes(REAL *out, struct Mine m, struct StressAxes axes, const struct Cells *u,
                               const struct Stiffness *c, int z, int nb, struct Tensor *s) {
#if SYM == 4 || NDIM == 2
    stress_of(u, c, axes, z, nb, s);
    put_stress(out, m, axes, s);
#else
    const int s_at = m.rl * S_PITCH + m.zl + RADIUS, t_at = (m.rl + RADIUS) * TZ + m.zl;
    normal_stress(u, c, axes, z, nb, s);
    if (axes.z) store(out + S_ZZ + s_at, s->zz);
    if (axes.rows) store(out + S_RR + t_at, s->rr);
    stress_zr(u, c, z, nb, s->zr);
    store(out + S_ZR + RADIUS * S_PITCH + s_at, s->zr);
    if (axes.z) {
        stress_zp(u, c, z, nb, s->zp);
        store(out + S_ZP + s_at, s->zp);
    }
    if (axes.rows) {
        stress_rp(u, c, s->rp);
        store(out + S_RP + t_at, s->rp);
    }
#endif
}

// Pointers to the stresses around a cell of the tile.
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
