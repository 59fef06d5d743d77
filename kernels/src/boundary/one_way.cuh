// The one-way condition at a cell (one_way.rs is the twin). ONE_WAY 0 box, 1 upwind.

// b = (1-q)/(1+q), q = sqrt(c55/rho) dt/d, of the model cell that the frame repeats at a padded cell.
INLINE REAL face_factor(const struct Slab *s, int plane, int row, int z, REAL d) {
    WIDE at = medium_at(s, plane, row) + CLAMP(z, s->nb, s->nb + s->model_nz - 1);
    REAL q = SQRT(s->stiffness[C55][at] * s->buoyancy[at]) / d;
    return (1 - q) / (1 + q);
}

// The new level at a cell from the old one there and at the cell inwards (`u`, `u_in`) and the new one inwards.
INLINE REAL one_way(REAL u, REAL u_in, REAL new_in, REAL b) {
#if ONE_WAY == 0
    return FMA(u - new_in, b, u_in);
#else
    return (REAL)0.5 * FMA(u - new_in, b, u + new_in);
#endif
}
