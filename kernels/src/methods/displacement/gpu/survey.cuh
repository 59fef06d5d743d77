// Sources and receivers at a cell (survey.rs computes their tables).

// ---- sources ----

// A row of cells that sources touch, with a list of these sources.
struct Line {
    int plane, row, z_begin, z_end;
    int first, count;  // range of entries in the list of sources
};

struct Inject {
    struct Slab s;
    int now, steps;
    const int *clock;         // step of the run, counted on the device, to which `step` is added; or null
    int step;
    int lines;                // first line of this part
    const struct Line *line;
    const int *source;        // the list of sources
    const int *place;         // the first cell of each source, [source][z, row, plane]
    const REAL *weight;       // the bell and its derivative, [source][z, row, plane][plain, derivative][length]
    const REAL *wavelet;      // [time][component][source]
    int length, sources;
    int stress;               // 1 if the wavelet is a stress, 0 if it is a force
};

// Weight of a source along one axis at distance i from its first cell, or with `derived` the derivative of the weight.
INLINE REAL bell(const struct Inject *a, int source, int axis, int derived, int i) {
    return i < 0 || i >= a->length ? 0 : a->weight[((WIDE)(source * 3 + axis) * 2 + derived) * a->length + i];
}

// Steps 4 and 6 on a cell of a line, after the time step. A stress source acts as the equivalent force, the
// derivative D_i of its bell; both kinds are then divided by density.
INLINE void inject_cell(const struct Inject *a, const struct Line *of, int z, REAL *next) {
    const struct Slab *s = &a->s;
    const struct Line line = *of;
    const int it = a->step + (a->clock ? *a->clock : 0);
    const int live = is_live(line.plane, s->planes) && (NDIM == 2 || is_live(line.row, s->rows)) && is_live(z, s->nz);
    if (it >= a->steps || (a->stress && !live) || z < line.z_begin || z >= line.z_end) return;
    REAL sum[NDIM];
    UNROLL for (int c = 0; c < NDIM; c++) sum[c] = 0;
    for (int k = 0; k < line.count; k++) {
        int n = a->source[line.first + k];
        const int *place = a->place + n * 3;
        UNROLL for (int c = 0; c < NDIM; c++) {
            REAL w = bell(a, n, 0, a->stress && c == C_Z, z - place[0]) *
                     bell(a, n, 2, a->stress && c == C_P, line.plane - place[2]);
#if NDIM == 3
            w *= bell(a, n, 1, a->stress && c == C_R, line.row - place[1]);
#endif
            REAL amplitude = a->wavelet[((WIDE)it * NDIM + c) * a->sources + n];
            sum[c] = FMA(-amplitude, w, sum[c]);
        }
    }
    REAL b = s->buoyancy[medium_at(s, line.plane, line.row) + CLAMP(z, RADIUS, s->nz - 1 - RADIUS)];
#if DAMPED
    if (!is_near_face(s, line.plane, line.row, z)) b *= sponge_at(s, line.plane, line.row, z);
#endif
    UNROLL for (int c = 0; c < NDIM; c++) next[c] = FMA(sum[c], b, next[c]);
}

// ---- records ----

// The derivative of a component along an axis at a cell.
INLINE REAL derive(const struct Slab *s, const REAL *level, int component, int axis, WIDE at) {
    WIDE stride = axis == 0 ? 1 : axis == 1 ? s->pitch : (WIDE)s->rows * s->pitch;
    const REAL *u = level + component * s->component + at;
    REAL sum = 0;
    for (int m = RADIUS; m > 0; m--) sum = FMA(s->weights[axis][m - 1], u[m * stride] - u[-m * stride], sum);
    return sum;
}

// Displacement, or divergence and curl in the order of the traces (`potential` in receivers.rs).
INLINE REAL sample(const struct Slab *s, const REAL *level, int potentials, int component, int plane, int row, int z) {
    WIDE at = row_at(s, plane, row) + z;
    if (!potentials) return level[component * s->component + at];
    if (!is_live(z, s->nz) || !is_live(plane, s->planes) || (NDIM == 3 && !is_live(row, s->rows))) return 0;
#define D(axis, of) derive(s, level, of, axis, at)
#if NDIM == 3
    switch (component) {
    case 0: return D(0, C_Z) + D(1, C_R) + D(2, C_P);
    case 1: return D(2, C_Z) - D(0, C_P);
    case 2: return D(0, C_R) - D(1, C_Z);
    default: return D(1, C_P) - D(2, C_R);
    }
#else
    return component == 0 ? D(0, C_Z) + D(2, C_P) : D(0, C_P) - D(2, C_Z);
#endif
}

struct Extract {
    struct Slab s;
    int now;
    const int *clock;
    int step, every, slots;   // records are taken after every `every`-th step, into slot (step / every) % slots
    int receivers, components, potentials;
    const int *cell;          // [receiver][z, row, plane]
    const REAL *beyond;       // [receiver][z, row, plane]
    REAL *records;            // [slot][component][receiver]
};

INLINE void do_extract(const struct Extract *f, int block) {
    const struct Extract a = *f;
    const struct Slab *s = &a.s;
    const int it = a.step + (a.clock ? *a.clock : 0), k = block * blockDim.x + threadIdx.x;
    if (it < 0 || it % a.every != 0 || k >= a.receivers * a.components) return;
    const int receiver = k % a.receivers, component = k / a.receivers;
    const int *cell = a.cell + receiver * 3;
    const REAL *beyond = a.beyond + receiver * 3;
    REAL sum = 0;
    for (int corner = 0; corner < (1 << NDIM); corner++) {
        int e[3] = {corner & 1, NDIM == 3 ? corner >> 1 & 1 : 0, corner >> (NDIM - 1) & 1};
        REAL w = 1;
        for (int i = 0; i < 3; i++) {
            if (NDIM == 3 || i != 1) w *= e[i] ? beyond[i] : 1 - beyond[i];
        }
        // Neighbours with zero weight are skipped, because their values may not be finite, and 0 * NaN is NaN.
        if (w != 0) sum = FMA(w, sample(s, s->level[a.now], a.potentials, component, cell[2] + e[2], cell[1] + e[1], cell[0] + e[0]), sum);
    }
    a.records[(WIDE)(it / a.every % a.slots * a.components + component) * a.receivers + receiver] = sum;
}
