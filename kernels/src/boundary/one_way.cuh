// The one-way condition at a cell, as in one_way.rs. ONE_WAY: 0 box form, 1 upwind form.

// b = (1-q)/(1+q), q = sqrt(c55/rho) dt/d, at a padded cell. The frame has the medium of the nearest model cell.
INLINE REAL face_factor(const struct Slab *s, int plane, int row, int z, REAL d) {
    WIDE at = medium_at(s, plane, row) + CLAMP(z, s->nb, s->nb + s->model_nz - 1);
    REAL q = SQRT(s->stiffness[C55][at] * s->buoyancy[at]) / d;
    return (1 - q) / (1 + q);
}

// The next value at a cell, from the current values at the cell (`u`) and at its inner neighbour (`u_in`), and the next
// value at the inner neighbour (`new_in`).
INLINE REAL one_way(REAL u, REAL u_in, REAL new_in, REAL b) {
#if ONE_WAY == 0
    return FMA(u - new_in, b, u_in);
#else
    return (REAL)0.5 * FMA(u - new_in, b, u + new_in);
#endif
}
