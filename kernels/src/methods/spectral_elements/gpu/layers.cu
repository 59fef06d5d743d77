// Forces of elements in perfectly matched layers (pml/mod.rs), in place of those of columns.cu. Derivatives across a layer are filtered, and
// so are the forces of the stresses across it. In solids the modal filter damps the highest-degree polynomial of the velocity on the lines
// of points along the layer.
//
// TRANSPOSED 1 is the transpose of that, by which the adjoint wavefield advances: the field is filtered at its points before it is
// differentiated across a layer, and the stresses before they become forces, with the memory variables of forces and of derivatives.
//
// AXES are the axes across which the layers of a launch lie: bit a for axis a.
//
// A thread has one point of an element. The field, then the fluxes of the stresses across one axis of the layers at a time and those of
// all other stresses together, then the velocities are in shared memory.
// In a layer across one axis a solid element of degree 4 in 3-D moves more memory than in columns.cu: 6000 bytes of memory variables,
// 1500 of filter coefficients, 500 of masses, and about 780 of velocities, if every shared point is counted once.

struct Damped {
    struct Elements e;
    const int *pair;        // for every element the number of its first pair; a pair is an element and an axis of its layers
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

// The number of the pair of an element and an axis across which it has a layer; `first` is the element's first pair.
#define PAIR_OF(first, axis) ((first) + ((axis) > 0 ? IN_LAYER(0) : 0) + ((axis) > 1 ? IN_LAYER(1) : 0))

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
    int index[NDIM], begin[NDIM], stride[NDIM];
    UNROLL for (int b = 0; b < NDIM; b++) {
        index[b] = b == MARCH ? k : t.axis[b];
        stride[b] = b == 0 ? 1 : b == 1 ? N : N * N;
        begin[b] = p - index[b] * stride[b];
    }
    const int own = a.e.points[element * POINTS + p];
    REAL value[COMPONENTS];
    UNROLL for (int i = 0; i < COMPONENTS; i++) value[i] = a.e.field[(WIDE)own * COMPONENTS + i];
#if LAW < 2
    REAL rate[COMPONENTS];
    UNROLL for (int i = 0; i < COMPONENTS; i++) rate[i] = a.e.velocity[(WIDE)own * COMPONENTS + i];
    if (goes_on(&a.e, element) && is_inner(&t) && k > 0 && k < N - 1) {
        // The last step ends and this one begins, as in inside.cuh.
        const REAL mass = a.e.inverse_mass[own];
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            const REAL acceleration = a.e.forces[(element * POINTS + p) * COMPONENTS + i] * mass;
            const REAL velocity = FMA(a.e.half, acceleration, rate[i]);
            rate[i] = FMA(a.e.half, acceleration, velocity);
            value[i] = FMA(a.e.dt, rate[i], value[i]);
            a.e.velocity[(WIDE)own * COMPONENTS + i] = rate[i];
            a.e.field[(WIDE)own * COMPONENTS + i] = value[i];
        }
    }
#endif
#if TRANSPOSED
    // The field as derivatives along each axis of space see it.
    UNROLL for (int c = 0; c < NDIM; c++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        fluxes[(c * COMPONENTS + i) * POINTS + p] = IN_LAYER(c) ? filter(&a, PAIR_OF(first, c), 1, i, p, value[i]) : value[i];
#else
    UNROLL for (int i = 0; i < COMPONENTS; i++) field[i * POINTS + p] = value[i];
#endif
    __syncthreads();
    REAL inverse[NDIM][NDIM], gradient[COMPONENTS][NDIM], out[COMPONENTS];
#if STORED
    const REAL weight = stored_metric(a.e.shape + element * (METRIC_NUMBERS * POINTS) + p, inverse);
#else
    struct Column s;
    take_column(&s, &t, a.e.shape + element * SHAPE_NUMBERS);
    const REAL weight = metric(&s, &t, k, inverse);
#endif
#if TRANSPOSED
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        UNROLL for (int c = 0; c < NDIM; c++) {
            gradient[i][c] = 0;
            UNROLL for (int b = 0; b < NDIM; b++) {
                const REAL *line = fluxes + (c * COMPONENTS + i) * POINTS + begin[b];
                REAL slope = 0;
                UNROLL for (int q = 0; q < N; q++) slope = FMA(SLOPES[index[b]][q], line[q * stride[b]], slope);
                gradient[i][c] = FMA(inverse[b][c], slope, gradient[i][c]);
            }
        }
        out[i] = 0;
    }
#else
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        REAL slope[NDIM];
        UNROLL for (int b = 0; b < NDIM; b++) {
            const REAL *line = field + i * POINTS + begin[b];
            slope[b] = 0;
            UNROLL for (int q = 0; q < N; q++) slope[b] = FMA(SLOPES[index[b]][q], line[q * stride[b]], slope[b]);
        }
        UNROLL for (int c = 0; c < NDIM; c++) {
            gradient[i][c] = 0;
            UNROLL for (int b = 0; b < NDIM; b++) gradient[i][c] = FMA(inverse[b][c], slope[b], gradient[i][c]);
            if (IN_LAYER(c)) gradient[i][c] = filter(&a, PAIR_OF(first, c), 0, i, p, gradient[i][c]);
        }
        out[i] = 0;
    }
#endif
    const REAL *law = law_of(&a.e, element, at);
#if LAW < 2
    REAL stress[STRAINS];
#if LAW == 1 && VARIES
    struct Tables tables = begin_tables(law, at, room);
    REAL table[LAW_NUMBERS];
    take_table(&tables, k, table);
#endif
    hooke(LAW_OF_LEVEL(k), gradient, stress);
#if LOSS
    struct Relaxing relaxing;
    take_relaxing(&relaxing, &a.e, element, at);
    REAL kept[VARIABLES];
    take_kept(&relaxing, k, kept);
    take_losses(&relaxing, k, kept, gradient, stress);
#endif
#endif
#if TRANSPOSED
    __syncthreads();
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        REAL flux[NDIM];
        UNROLL for (int c = 0; c < NDIM; c++) {
#if LAW == 2
            flux[c] = LAW_AT(LAW_OF_LEVEL(k), 0) * gradient[0][c];
#else
            flux[c] = stress[VOIGT(i < c ? i : c, i < c ? c : i)];
#endif
            if (IN_LAYER(c)) flux[c] = filter(&a, PAIR_OF(first, c), 0, i, p, flux[c]);
        }
        UNROLL for (int b = 0; b < NDIM; b++) {
            REAL sum = 0;
            UNROLL for (int c = 0; c < NDIM; c++) sum = FMA(inverse[b][c], flux[c], sum);
            fluxes[(b * COMPONENTS + i) * POINTS + p] = -weight * sum;
        }
    }
    __syncthreads();
    UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int b = 0; b < NDIM; b++) {
        const REAL *line = fluxes + (b * COMPONENTS + i) * POINTS + begin[b];
        UNROLL for (int q = 0; q < N; q++) out[i] = FMA(SLOPES[q][index[b]], line[q * stride[b]], out[i]);
    }
    __syncthreads();
#else
    // The stresses across each axis of the layers, then all others.
    UNROLL for (int group = 0; group <= NDIM; group++) {
        if (group < NDIM ? !IN_LAYER(group) : AXES == (1 << NDIM) - 1) continue;
        UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int b = 0; b < NDIM; b++) {
            REAL flux = 0;
            UNROLL for (int c = 0; c < NDIM; c++) {
                if (group < NDIM ? c != group : IN_LAYER(c)) continue;
#if LAW == 2
                flux = FMA(inverse[b][c], LAW_AT(LAW_OF_LEVEL(k), 0) * gradient[0][c], flux);
#else
                flux = FMA(inverse[b][c], stress[VOIGT(i < c ? i : c, i < c ? c : i)], flux);
#endif
            }
            fluxes[(b * COMPONENTS + i) * POINTS + p] = -weight * flux;
        }
        __syncthreads();
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            REAL force = 0;
            UNROLL for (int b = 0; b < NDIM; b++) {
                const REAL *line = fluxes + (b * COMPONENTS + i) * POINTS + begin[b];
                UNROLL for (int q = 0; q < N; q++) force = FMA(SLOPES[q][index[b]], line[q * stride[b]], force);
            }
            out[i] += group < NDIM ? filter(&a, PAIR_OF(first, group), 1, i, p, force) : force;
        }
        __syncthreads();
    }
#endif
#if LAW < 2
    REAL *masses = fluxes;
    masses[p] = a.smoothing[first * POINTS + p];
    UNROLL for (int i = 0; i < COMPONENTS; i++) field[i * POINTS + p] = rate[i];
    __syncthreads();
    UNROLL for (int b = 0; b < NDIM; b++) {
        if (!(a.lines >> b & 1)) continue;
        REAL mass = 0;
        UNROLL for (int q = 0; q < N; q++) mass = FMA(HIGHEST[q] * HIGHEST[q], masses[begin[b] + q * stride[b]], mass);
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            const REAL *line = field + i * POINTS + begin[b];
            REAL coefficient = 0;
            UNROLL for (int q = 0; q < N; q++) coefficient = FMA(TAKES[q], line[q * stride[b]], coefficient);
            out[i] = FMA(-TAKES[index[b]], mass * coefficient, out[i]);
        }
    }
#endif
    UNROLL for (int i = 0; i < COMPONENTS; i++) a.e.forces[(element * POINTS + p) * COMPONENTS + i] = out[i];
}
