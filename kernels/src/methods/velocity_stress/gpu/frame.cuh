// The absorbing frame: stretched derivatives of the layers (boundary/cpml.rs, eqs 6 and 7), with FRAMED 1 in rows and
// planes of the frame, with FRAMED 0 and LAYERS 1 at the ends of all other rows; or with SPONGE 1 the sponge
// (boundary/sponge.rs), which has no memory variables and needs no separate boxes.

struct Layer {
    REAL *psi;                 // memory variables [component][plane][row][z] of the axis' frame; null without a layer
    WIDE component;            // distance from one component to the next, in numbers
    const REAL *factor[2][3];  // 1/kappa, a, b at the nodes and half a cell further on, along the whole axis
};

struct Frame {
    struct Layer layer[3];
    const int *line[3];        // for rows and planes: their number within the frame, or -1
    const REAL *sponge[3];
    int low, high;             // along z the frame ends before `low` and begins again with `high`
    int width;                 // cells along z of its memory
    int framed_rows, first_plane, padding;
};

// Indices of a thread's memory variables for each axis, or -1.
struct Place {
    WIDE at[3];
    int z, row, plane;
};

INLINE struct Place place_of(const struct Slab *s, const struct Frame *f, int plane, int row, int z) {
    struct Place p;
    p.z = z, p.row = row, p.plane = plane;
    p.at[0] = p.at[1] = p.at[2] = -1;
#if LAYERS
    WIDE own = plane - s->first;
    if (f->layer[0].psi && (z < f->low || z >= f->high)) {
        p.at[0] = (own * s->rows + row) * f->width + (z < f->low ? z : z - f->high + f->low) + OF_SHOT(NDIM * f->layer[0].component);
    }
#if FRAMED
    if (NDIM == 3 && f->layer[1].psi && f->line[1][row] >= 0) {
        p.at[1] = (own * f->framed_rows + f->line[1][row]) * s->pitch + z + OF_SHOT(NDIM * f->layer[1].component);
    }
    if (f->layer[2].psi && f->line[2][plane] >= 0) {
        p.at[2] = ((WIDE)(f->line[2][plane] - f->first_plane) * s->rows + row) * s->pitch + z + OF_SHOT(NDIM * f->layer[2].component);
    }
#endif
#endif
    return p;
}

// Prefetches values that are needed later.
INLINE void prefetch_ahead(const REAL *p) {
#if AHEAD
    prefetch(p);
#endif
}

// Prefetches the memory variables of all axes.
INLINE void prefetch_layers(const struct Frame *f, const struct Place *p) {
#if LAYERS
    EACH_AXIS(axis) {
        if (p->at[axis] < 0) continue;
        EACH_AXIS(of) prefetch_ahead(f->layer[axis].psi + VELOCITY(of) * f->layer[axis].component + p->at[axis]);
    }
#endif
}

// Stretches the derivative `d` along an axis, taken at the nodes (`half` 0) or half a cell beyond them. Component
// `of` is the velocity that the derivative is taken of or contributes to.
INLINE void stretch(const struct Frame *f, const struct Place *p, int axis, int half, int of, REAL *d) {
    if (p->at[axis] < 0) return;
    const struct Layer *l = &f->layer[axis];
    REAL *psi = l->psi + VELOCITY(of) * l->component + p->at[axis], old[VEC], k[VEC], a[VEC], b[VEC];
    load(psi, old);
    if (axis == 0) {
        fetch(l->factor[half][0] + p->z, k);
        fetch(l->factor[half][1] + p->z, a);
        fetch(l->factor[half][2] + p->z, b);
    } else {
        int i = axis == 1 ? p->row : p->plane;
        EACH_VEC k[v] = l->factor[half][0][i], a[v] = l->factor[half][1][i], b[v] = l->factor[half][2][i];
    }
    EACH_VEC {
        old[v] = FMA(b[v], old[v], a[v] * d[v]);
        d[v] = FMA(k[v], d[v], old[v]);
    }
    store(psi, old);
}

// Weight of the sponge for a row.
INLINE REAL row_weight(const struct Frame *f, int plane, int row) {
#if SPONGE
    return f->sponge[2][plane] * (NDIM == 3 ? f->sponge[1][row] : 1);
#else
    return 1;
#endif
}

// Damps cells of a row with the sponge, whose weight for the row is `outer`. Most cells lie outside the sponge, and
// no weights are read for them.
INLINE void damp(const struct Frame *f, REAL outer, int z, REAL *x) {
    REAL w[VEC];
    if (outer == 1 && z >= f->low && z < f->high) return;
    fetch(f->sponge[0] + z, w);
    EACH_VEC x[v] *= w[v] * outer;
}
