// Forces of elements in perfectly matched layers (pml/mod.rs); used instead of columns.cu. Derivatives across a layer
// are filtered, and so are the forces of the stresses across it. In solids the modal filter damps the highest-degree
// polynomial of the velocity on the lines of points along the layer.
//
// TRANSPOSED 1 compiles the transpose, by which the adjoint wavefield is advanced: the field is filtered at its points
// before it is differentiated across a layer, and the stresses before they become forces, with the memory variables
// of forces and of derivatives, respectively.
//
// AXES are the axes across which the layers of a launch lie: bit a for axis a.
//
// A thread has one point of an element. Shared memory holds first the field, then the fluxes of the stresses across
// one axis of the layers at a time and those of all other stresses together, then the velocities. In a layer across
// one axis a solid element of degree 4 in 3-D moves more memory than in columns.cu: 6000 bytes of memory variables,
// 1500 of filter coefficients, 500 of masses, and about 780 of velocities, if every shared point is counted once.

struct Damped {
    struct Elements e;
    const int *pair;        // index of each element's first pair; a pair is an element and an axis of its layers
    const REAL *filters;    // coefficients a, b, c of Filters::at, [pair][coefficient][point]
    REAL *variables;        // memory variables, [pair][derivative, force][component][point]
    const REAL *smoothing;  // of solids, [first pair of an element][point]: mass times the rate of the modal filter, kg/s
    int lines;              // axes of the cell along which the modal filter acts: bit a for axis a
};

#define IN_LAYER(axis) (AXES >> (axis) & 1)

INLINE REAL filter(const struct Damped *d, WIDE pair, int force, int component, int p, REAL x) {
    const REAL *f = d->filters + pair * (3 * POINTS) + p;
    REAL *variable = d->variables + ((pair * 2 + force) * COMPONENTS + component) * POINTS + p, old = *variable;
    *variable = FMA(f[2 * POINTS], x, f[POINTS] * old);
    return FMA(f[0], x, -old);
}

// The index of the pair of an element and an axis across which it has a layer; `first` is the element's first pair.
#define PAIR_OF(first, axis) ((first) + ((axis) > 0 ? IN_LAYER(0) : 0) + ((axis) > 1 ? IN_LAYER(1) : 0))

// A point of an element: its local index, its index along each axis of the cell, and the line of points along that
// axis.
struct Spot {
    int p, index[NDIM], begin[NDIM], stride[NDIM];
};

INLINE void take_spot(struct Spot *s, const struct Place *t, int p, int level) {
    s->p = p;
    UNROLL for (int b = 0; b < NDIM; b++) {
        s->index[b] = b == MARCH ? level : t->axis[b];
        s->stride[b] = b == 0 ? 1 : b == 1 ? N : N * N;
        s->begin[b] = p - s->index[b] * s->stride[b];
    }
}

// The derivative of a component along axis b of the cell.
INLINE REAL slope_along(const struct Spot *s, const REAL *component, int b) {
    const REAL *line = component + s->begin[b];
    REAL slope = 0;
    UNROLL for (int q = 0; q < N; q++) slope = FMA(SLOPES[s->index[b]][q], line[q * s->stride[b]], slope);
    return slope;
}

// The transpose: adds the contribution of fluxes along axis b to the force on the point.
INLINE REAL gather_along(const struct Spot *s, const REAL *fluxes, int b, REAL force) {
    const REAL *line = fluxes + s->begin[b];
    UNROLL for (int q = 0; q < N; q++) force = FMA(SLOPES[q][s->index[b]], line[q * s->stride[b]], force);
    return force;
}

// The filtered derivatives of the field along the axes of space, for the stresses.
INLINE void filtered_slopes(const struct Damped *a, const struct Spot *s, WIDE first, const REAL *field, const REAL *fluxes,
                            REAL inverse[NDIM][NDIM], REAL gradient[COMPONENTS][NDIM]) {
    UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int c = 0; c < NDIM; c++) {
        REAL sum = 0;
        UNROLL for (int b = 0; b < NDIM; b++) {
#if TRANSPOSED
            sum = FMA(inverse[b][c], slope_along(s, fluxes + (c * COMPONENTS + i) * POINTS, b), sum);
#else
            sum = FMA(inverse[b][c], slope_along(s, field + i * POINTS, b), sum);
#endif
        }
#if !TRANSPOSED
        if (IN_LAYER(c)) sum = filter(a, PAIR_OF(first, c), 0, i, s->p, sum);
#endif
        gradient[i][c] = sum;
    }
}

// The forces of stresses; overwrites the memory of fluxes, which has been read.
INLINE void forces_of(const struct Damped *a, const struct Spot *s, WIDE first, REAL *fluxes, REAL weight,
                      REAL inverse[NDIM][NDIM], REAL stress[COMPONENTS][NDIM], REAL out[COMPONENTS]) {
#if TRANSPOSED
    UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int c = 0; c < NDIM; c++)
        if (IN_LAYER(c)) stress[i][c] = filter(a, PAIR_OF(first, c), 0, i, s->p, stress[i][c]);
#endif
    UNROLL for (int i = 0; i < COMPONENTS; i++) out[i] = 0;
    // The stresses across each axis of the layers come first, then all others; for the adjoint wavefield all are taken
    // together.
    UNROLL for (int group = TRANSPOSED ? NDIM : 0; group <= NDIM; group++) {
        if (group < NDIM ? !IN_LAYER(group) : !TRANSPOSED && AXES == (1 << NDIM) - 1) continue;
        UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int b = 0; b < NDIM; b++) {
            REAL flux = 0;
            UNROLL for (int c = 0; c < NDIM; c++) {
                if (group < NDIM ? c != group : !TRANSPOSED && IN_LAYER(c)) continue;
                flux = FMA(inverse[b][c], stress[i][c], flux);
            }
            fluxes[(b * COMPONENTS + i) * POINTS + s->p] = -weight * flux;
        }
        __syncthreads();
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            REAL force = 0;
            UNROLL for (int b = 0; b < NDIM; b++) force = gather_along(s, fluxes + (b * COMPONENTS + i) * POINTS, b, force);
            out[i] += group < NDIM ? filter(a, PAIR_OF(first, group), 1, i, s->p, force) : force;
        }
        __syncthreads();
    }
}

#if LAW < 2
// Adds the forces of the modal filter, which damps the highest-degree polynomial of the velocity on the lines along
// the layers.
INLINE void smooth(const struct Damped *a, const struct Spot *s, const REAL *masses, const REAL *rates, REAL out[COMPONENTS]) {
    UNROLL for (int b = 0; b < NDIM; b++) {
        if (!(a->lines >> b & 1)) continue;
        REAL mass = 0;
        UNROLL for (int q = 0; q < N; q++) mass = FMA(HIGHEST[q] * HIGHEST[q], masses[s->begin[b] + q * s->stride[b]], mass);
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            const REAL *line = rates + i * POINTS + s->begin[b];
            REAL coefficient = 0;
            UNROLL for (int q = 0; q < N; q++) coefficient = FMA(TAKES[q], line[q * s->stride[b]], coefficient);
            out[i] = FMA(-TAKES[s->index[b]], mass * coefficient, out[i]);
        }
    }
}

// Completes the previous step and begins this one at an interior point of an element, as in inside.cuh.
INLINE void go_on_inside(const struct Elements *e, WIDE place, int own, REAL value[COMPONENTS], REAL rate[COMPONENTS]) {
    const REAL mass = e->inverse_mass[own];
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const REAL acceleration = e->forces[place * COMPONENTS + i] * mass;
        const REAL velocity = FMA(e->half, acceleration, rate[i]);
        rate[i] = FMA(e->half, acceleration, velocity);
        value[i] = FMA(e->dt, rate[i], value[i]);
        e->velocity[(WIDE)own * COMPONENTS + i] = rate[i];
        e->field[(WIDE)own * COMPONENTS + i] = value[i];
    }
}
#endif

KERNEL(forces)(const struct Damped a) {
    DYNAMIC_SHARED(REAL, room);
    const int seat = threadIdx.x / POINTS, number = a.e.first + (int)blockIdx.x * ELEMENTS + seat;
    const int p = threadIdx.x % POINTS, at = p % SHEET, k = p / SHEET;
    // Threads that have ended count as waiting at every barrier.
    if (seat >= ELEMENTS || number >= a.e.end) return;
    const WIDE element = number, first = a.pair[element];
    REAL *field = room + seat * ((1 + NDIM) * COMPONENTS * POINTS), *fluxes = field + COMPONENTS * POINTS;
    struct Place t;
    take_place(&t, at);
    struct Spot s;
    take_spot(&s, &t, p, k);
    const int own = a.e.points[element * POINTS + p];
    REAL value[COMPONENTS];
    UNROLL for (int i = 0; i < COMPONENTS; i++) value[i] = a.e.field[(WIDE)own * COMPONENTS + i];
#if LAW < 2
    REAL rate[COMPONENTS];
    UNROLL for (int i = 0; i < COMPONENTS; i++) rate[i] = a.e.velocity[(WIDE)own * COMPONENTS + i];
    if (goes_on(&a.e, element) && is_inner(&t) && k > 0 && k < N - 1) go_on_inside(&a.e, element * POINTS + p, own, value, rate);
#endif
#if TRANSPOSED
    // The field, filtered for the derivatives along each axis of space.
    UNROLL for (int c = 0; c < NDIM; c++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        fluxes[(c * COMPONENTS + i) * POINTS + p] = IN_LAYER(c) ? filter(&a, PAIR_OF(first, c), 1, i, p, value[i]) : value[i];
#else
    UNROLL for (int i = 0; i < COMPONENTS; i++) field[i * POINTS + p] = value[i];
#endif
    __syncthreads();
    REAL inverse[NDIM][NDIM], gradient[COMPONENTS][NDIM], stress[COMPONENTS][NDIM], out[COMPONENTS];
#if STORED
    const REAL weight = stored_metric(a.e.shape + element * (METRIC_NUMBERS * POINTS) + p, inverse);
#else
    struct Column column;
    take_column(&column, &t, a.e.shape + element * SHAPE_NUMBERS);
    const REAL weight = metric(&column, &t, k, inverse);
#endif
    filtered_slopes(&a, &s, first, field, fluxes, inverse, gradient);
    const REAL *law = law_of(&a.e, element, at);
#if LAW == 2
    UNROLL for (int c = 0; c < NDIM; c++) stress[0][c] = LAW_AT(LAW_OF_LEVEL(k), 0) * gradient[0][c];
#else
    REAL voigt[STRAINS];
#if LAW == 1 && VARIES
    struct Tables tables = begin_tables(law, at, room);
    REAL table[LAW_NUMBERS];
    take_table(&tables, k, table);
#endif
    hooke(LAW_OF_LEVEL(k), gradient, voigt);
#if LOSS
    struct Relaxing relaxing;
    take_relaxing(&relaxing, &a.e, element, at);
    REAL kept[VARIABLES];
    take_kept(&relaxing, k, kept);
    take_losses(&relaxing, k, kept, gradient, voigt);
#endif
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int c = 0; c < NDIM; c++) stress[i][c] = voigt[VOIGT(i < c ? i : c, i < c ? c : i)];
#endif
#if TRANSPOSED
    __syncthreads();
#endif
    forces_of(&a, &s, first, fluxes, weight, inverse, stress, out);
#if LAW < 2
    fluxes[p] = a.smoothing[first * POINTS + p];
    UNROLL for (int i = 0; i < COMPONENTS; i++) field[i * POINTS + p] = rate[i];
    __syncthreads();
    smooth(&a, &s, fluxes, field, out);
#endif
    UNROLL for (int i = 0; i < COMPONENTS; i++) a.e.forces[(element * POINTS + p) * COMPONENTS + i] = out[i];
}
