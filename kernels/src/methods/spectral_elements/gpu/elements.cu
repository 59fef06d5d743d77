// Internal forces of elements, or what fluid elements add to the right side of their potential.
//
// The threads of an element are the points of a sheet across its last axis; they march along that axis with the field of
// their column in registers and share a sheet of it after the other. Slopes across the sheet are read from that sheet,
// slopes along the march are products with constants.
//
// The points inside of an element belong to nobody else: a step ends and begins for them here, while the kernel of the other
// points (nodes.cu) is the one that waits for memory.
//
// Bytes of memory that an element of degree 4 in 3-D moves at least, where it reads the fields of 64.75 points that no other
// element has read before: 777 of fields, 500 of point numbers, 84 of corners (stored geometry: 5000), 1500 of forces; for the
// 27 points inside 324 of forces, 108 of masses and 972 of displacements and velocities: 4265. With attenuation 453 of
// accelerations and 18000 of memory variables more. Constants of every point are 1000 (21 of them 10500), with attenuation 1000
// more.
//
// With memory variables the threads need many registers, and what they wait for is memory: slopes of the polynomials come from
// shared memory in place of registers, memory variables are asked for when a block begins, and those of a level are read
// together before any of them is written.
//
// The defines before this line choose the variant:
//   N points along an axis, COMPONENTS of the field, LAW 0 isotropic 1 table of constants 2 fluid, STORED geometry 0|1,
//   LOSS memory variables 0|1, VARIES constants of every point 0|1, ELEMENTS of a block, THREADS

#define SHEET (NDIM == 3 ? N * N : N)
#define POINTS (SHEET * N)
#define ACROSS (NDIM - 1)
#define MARCH (NDIM - 1)
#define STRAINS (NDIM * (NDIM + 1) / 2)
#define LAW_NUMBERS (LAW == 0 ? 2 : LAW == 1 ? STRAINS * (STRAINS + 1) / 2 : 1)
#define MECHANISMS 3
#define LOSS_NUMBERS (5 * MECHANISMS)
// The deviator (of 3-D without zz, which the others give) and the trace.
#define RELAXING (NDIM == 3 ? 6 : 4)
#define SHAPE_NUMBERS (NDIM == 3 ? 21 : 6)
#define METRIC_NUMBERS (NDIM * NDIM + 1)
// Numbers of a line of the cache.
#define LINE 32
#define SEAT ((1 + LOSS + ACROSS) * COMPONENTS * SHEET)
// Slopes along axis a across: of all polynomials at the thread's point, of its polynomial at all points.
#if LOSS
#define ROW(t, a, p) (t)->slopes[(t)->axis[a] * N + (p)]
#define COLUMN(t, a, p) (t)->slopes[(p) * N + (t)->axis[a]]
#else
#define ROW(t, a, p) (t)->row[a][p]
#define COLUMN(t, a, p) (t)->column[a][p]
#endif
// Voigt's index of two axes: xx, yy, zz, yz, zx, xy; in 2-D xx, zz, zx.
#define VOIGT(i, k) ((i) == (k) ? (i) : NDIM == 3 ? 6 - (i) - (k) : 2)

struct Elements {
    REAL *field;           // displacement or potential, [point][component]
    REAL *velocity;        // of solids
    const REAL *acceleration;  // of the step before; with memory variables only
    const REAL *inverse_mass;
    REAL *forces;          // [element][point of it][component]
    const int *points;     // [element][point of it]
    const int *region;
    const REAL *law;       // [region][LAW_NUMBERS], or VARIES [element of the launch][LAW_NUMBERS][point of it]
    const REAL *loss;      // [region][LOSS_NUMBERS]: decay; of shear, of bulk: of a strain now, of a strain in what is kept
    const REAL *shape;     // [element][SHAPE_NUMBERS], or STORED [element][METRIC_NUMBERS][point of it]
    const REAL *strength;  // VARIES: what `loss` is times at every point, [element][shear, bulk][point of it]
    REAL *memory;          // [element][RELAXING][mechanism][point of it]: what is kept from step to step
    REAL dt, half, square; // the time step, half of it, its square
    int first, end;        // elements of this launch
    int goes_on;           // the last step of the points inside ends and this one begins
};

// A thread's place in the sheet and its rows and columns of the derivative.
struct Place {
    int at, axis[ACROSS];
#if LOSS
    const REAL *slopes;  // SLOPES in shared memory
#else
    REAL row[ACROSS][N], column[ACROSS][N];
#endif
    REAL weight, u[ACROSS];
};

INLINE void take_place(struct Place *t, int at) {
    t->at = at;
    t->weight = 1;
    UNROLL for (int a = 0; a < ACROSS; a++) {
        t->axis[a] = a == 0 ? at % N : at / N;
        t->weight *= WEIGHTS[t->axis[a]];
        t->u[a] = NODES[t->axis[a]];
#if !LOSS
        UNROLL for (int p = 0; p < N; p++) {
            t->row[a][p] = SLOPES[t->axis[a]][p];
            t->column[a][p] = SLOPES[p][t->axis[a]];
        }
#endif
    }
}

// The Jacobian of a column: dx_c/du_a of the axes across are `base + slope * w`, that of the march is constant.
struct Column {
    REAL base[ACROSS][NDIM], slope[ACROSS][NDIM], march[NDIM];
};

#if !STORED
INLINE void take_column(struct Column *s, const struct Place *t, const REAL *x) {
    UNROLL for (int c = 0; c < NDIM; c++) {
#if NDIM == 3
        // u, v, w, uv, uw, vw, uvw
        const REAL u = t->u[0], v = t->u[1];
        s->base[0][c] = FMA(x[9 + c], v, x[c]);
        s->slope[0][c] = FMA(x[18 + c], v, x[12 + c]);
        s->base[1][c] = FMA(x[9 + c], u, x[3 + c]);
        s->slope[1][c] = FMA(x[18 + c], u, x[15 + c]);
        s->march[c] = FMA(x[18 + c], u * v, FMA(x[15 + c], v, FMA(x[12 + c], u, x[6 + c])));
#else
        // u, v, uv
        s->base[0][c] = x[c];
        s->slope[0][c] = x[4 + c];
        s->march[c] = FMA(x[4 + c], t->u[0], x[2 + c]);
#endif
    }
}

// inverse[a][c] = du_a/dx_c at level k; returns weight times Jacobian.
INLINE REAL metric(const struct Column *s, const struct Place *t, int k, REAL inverse[NDIM][NDIM]) {
    REAL j[NDIM][NDIM];
    UNROLL for (int c = 0; c < NDIM; c++) {
        UNROLL for (int a = 0; a < ACROSS; a++) j[a][c] = FMA(s->slope[a][c], NODES[k], s->base[a][c]);
        j[MARCH][c] = s->march[c];
    }
#if NDIM == 3
    UNROLL for (int c = 0; c < 3; c++) {
        const int d = (c + 1) % 3, e = (c + 2) % 3;
        UNROLL for (int a = 0; a < 3; a++) {
            const int b = (a + 1) % 3, f = (a + 2) % 3;
            inverse[a][c] = j[b][d] * j[f][e] - j[b][e] * j[f][d];
        }
    }
    const REAL whole = FMA(j[0][0], inverse[0][0], FMA(j[0][1], inverse[0][1], j[0][2] * inverse[0][2]));
#else
    inverse[0][0] = j[1][1], inverse[0][1] = -j[1][0];
    inverse[1][0] = -j[0][1], inverse[1][1] = j[0][0];
    const REAL whole = j[0][0] * j[1][1] - j[0][1] * j[1][0];
#endif
    const REAL over = (REAL)1 / whole;
    UNROLL for (int a = 0; a < NDIM; a++) UNROLL for (int c = 0; c < NDIM; c++) inverse[a][c] *= over;
    return t->weight * WEIGHTS[k] * whole;
}
#endif

INLINE REAL stored_metric(const REAL *x, REAL inverse[NDIM][NDIM]) {
    UNROLL for (int a = 0; a < NDIM; a++) UNROLL for (int c = 0; c < NDIM; c++) inverse[a][c] = x[(a * NDIM + c) * POINTS];
    return x[NDIM * NDIM * POINTS];
}

// gradient[i][c] = d field_i / dx_c at level k, from the sheet of that level and the column.
INLINE void gradient_at(const struct Place *t, const REAL *sheet, REAL column[N][COMPONENTS], int k,
                        REAL inverse[NDIM][NDIM], REAL gradient[COMPONENTS][NDIM]) {
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        REAL slope[NDIM];
        UNROLL for (int a = 0; a < ACROSS; a++) {
            const int stride = a == 0 ? 1 : N;
            const REAL *line = sheet + i * SHEET + t->at - t->axis[a] * stride;
            slope[a] = 0;
            UNROLL for (int p = 0; p < N; p++) slope[a] = FMA(ROW(t, a, p), line[p * stride], slope[a]);
        }
        slope[MARCH] = 0;
        UNROLL for (int p = 0; p < N; p++) slope[MARCH] = FMA(SLOPES[k][p], column[p][i], slope[MARCH]);
        UNROLL for (int c = 0; c < NDIM; c++) {
            gradient[i][c] = 0;
            UNROLL for (int a = 0; a < NDIM; a++) gradient[i][c] = FMA(inverse[a][c], slope[a], gradient[i][c]);
        }
    }
}

// Number i of a law.
#if VARIES
#define LAW_AT(law, i) (law)[(i) * POINTS]
#else
#define LAW_AT(law, i) (law)[i]
#endif

#if LAW < 2
INLINE void hooke(const REAL *law, REAL g[COMPONENTS][NDIM], REAL stress[STRAINS]) {
#if LAW == 0
    const REAL lambda = LAW_AT(law, 0), mu = LAW_AT(law, 1);
    REAL trace = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += g[i][i];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
        const REAL shear = mu * (g[i][k] + g[k][i]);
        stress[VOIGT(i, k)] = i == k ? FMA(lambda, trace, shear) : shear;
    }
#else
    REAL strain[STRAINS];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++)
        strain[VOIGT(i, k)] = i == k ? g[i][i] : g[i][k] + g[k][i];
    UNROLL for (int r = 0; r < STRAINS; r++) {
        stress[r] = 0;
        UNROLL for (int s = 0; s < STRAINS; s++) {
            const int low = MIN(r, s), high = MAX(r, s);
            stress[r] = FMA(LAW_AT(law, low * STRAINS - low * (low + 1) / 2 + high), strain[s], stress[r]);
        }
    }
#endif
}
#endif

#if LOSS
// The sum of the mechanisms of a slot of a point now; what the slot keeps goes on with their strain from what it kept.
INLINE REAL relax(REAL *slot, const REAL old[MECHANISMS], const REAL *loss, int is_trace, REAL strain) {
    const REAL *now = loss + (is_trace ? 3 : 1) * MECHANISMS, *next = now + MECHANISMS;
    REAL sum = 0;
    UNROLL for (int j = 0; j < MECHANISMS; j++) {
        sum += FMA(now[j], strain, old[j]);
        slot[j * POINTS] = FMA(next[j], strain, loss[j] * old[j]);
    }
    return sum;
}

// Advances the memory variables of a point with the gradient of what they follow, and takes them from its stress.
INLINE void relax_all(REAL *memory, REAL kept[RELAXING][MECHANISMS], const REAL *loss, const REAL *strength,
                      REAL g[COMPONENTS][NDIM], REAL stress[STRAINS]) {
    REAL trace = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += g[i][i];
#if VARIES
    const REAL shear = strength[0], volume = strength[POINTS] * trace;
#else
    const REAL shear = 1, volume = trace;
#endif
    const REAL bulk = relax(memory + (RELAXING - 1) * MECHANISMS * POINTS, kept[RELAXING - 1], loss, 1, volume);
    const REAL mean = trace * (REAL)(1.0 / 3.0);
    REAL last = 0;
    int slot = 0;
    UNROLL for (int r = 0; r < STRAINS; r++) {
        UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
            if (VOIGT(i, k) != r) continue;
            REAL sum;
            if (NDIM == 3 && r == 2) {
                sum = -last;
            } else {
                const REAL strain = (REAL)0.5 * (g[i][k] + g[k][i]) - (i == k ? mean : 0);
                sum = relax(memory + slot * MECHANISMS * POINTS, kept[slot], loss, 0, shear * strain);
                slot++;
                if (i == k) last += sum;
            }
            stress[r] -= i == k ? sum + bulk : sum;
        }
    }
}

// Asks for the memory variables of an element, a line of 128 bytes each time, shared out among its threads.
INLINE void prefetch_memory(const struct Elements *a, WIDE element, int at) {
    const REAL *memory = a->memory + element * (RELAXING * MECHANISMS * POINTS);
    for (int i = at * LINE; i < RELAXING * MECHANISMS * POINTS; i += SHEET * LINE) prefetch(memory + i);
}
#endif

// The fluxes of a point, weighted and turned to the axes of the cell: those across go to the sheet, `along` is that of the
// march.
INLINE void flux_at(const struct Place *t, REAL *sheet, REAL weight, REAL inverse[NDIM][NDIM],
                    REAL flux[COMPONENTS][NDIM], REAL along[COMPONENTS]) {
    UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int a = 0; a < NDIM; a++) {
        REAL sum = 0;
        UNROLL for (int c = 0; c < NDIM; c++) sum = FMA(inverse[a][c], flux[i][c], sum);
        sum *= -weight;
        if (a == MARCH) along[i] = sum;
        else sheet[(a * COMPONENTS + i) * SHEET + t->at] = sum;
    }
}

// Sums of the fluxes of a sheet with the slopes of a point's polynomial.
INLINE REAL divergence(const struct Place *t, const REAL *sheet, int i) {
    REAL sum = 0;
    UNROLL for (int a = 0; a < ACROSS; a++) {
        const int stride = a == 0 ? 1 : N;
        const REAL *line = sheet + (a * COMPONENTS + i) * SHEET + t->at - t->axis[a] * stride;
        UNROLL for (int q = 0; q < N; q++) sum = FMA(COLUMN(t, a, q), line[q * stride], sum);
    }
    return sum;
}

#if LAW < 2
// The second half of a step and the first one of the next, for the points inside of an element on a thread's column. Everything
// is read before anything is written, so that reads need not wait for each other. `second` takes the acceleration of the step
// that ends.
INLINE void advance_inside(const struct Elements *a, WIDE element, int at, const int number[N],
                           REAL value[N][COMPONENTS], REAL second[N][COMPONENTS]) {
    REAL force[N][COMPONENTS], rate[N][COMPONENTS], mass[N];
    UNROLL for (int k = 1; k < N - 1; k++) {
        mass[k] = a->inverse_mass[number[k]];
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            force[k][i] = a->forces[(element * POINTS + k * SHEET + at) * COMPONENTS + i];
            rate[k][i] = a->velocity[(WIDE)number[k] * COMPONENTS + i];
        }
    }
    UNROLL for (int k = 1; k < N - 1; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const REAL acceleration = force[k][i] * mass[k];
        const REAL velocity = FMA(a->half, acceleration, rate[k][i]);
        second[k][i] = acceleration;
        rate[k][i] = FMA(a->half, acceleration, velocity);
        value[k][i] = FMA(a->dt, rate[k][i], value[k][i]);
        a->velocity[(WIDE)number[k] * COMPONENTS + i] = rate[k][i];
        a->field[(WIDE)number[k] * COMPONENTS + i] = value[k][i];
    }
}
#endif

KERNEL(forces)(const struct Elements a) {
    DYNAMIC_SHARED(REAL, room);
#if LOSS
    REAL *slopes = room + ELEMENTS * SEAT;
    for (int i = threadIdx.x; i < N * N; i += THREADS) slopes[i] = SLOPES[i / N][i % N];
#endif
    const int seat = threadIdx.x / SHEET, number = a.first + (int)blockIdx.x * ELEMENTS + seat;
    // Threads that have ended count as waiting at every barrier.
    if (seat >= ELEMENTS || number >= a.end) return;
    const WIDE element = number;
    struct Place t;
    take_place(&t, threadIdx.x % SHEET);
#if LOSS
    t.slopes = slopes;
    prefetch_memory(&a, element, t.at);
#endif
    REAL *sheet = room + seat * SEAT, *fluxes = sheet + (1 + LOSS) * COMPONENTS * SHEET;
    const int *points = a.points + element * POINTS + t.at;
#if VARIES
    const REAL *law = a.law + (element - a.first) * (LAW_NUMBERS * POINTS) + t.at;
#define LAW_OF_LEVEL(k) (law + (k) * SHEET)
#else
    const REAL *law = a.law + a.region[element] * LAW_NUMBERS;
#define LAW_OF_LEVEL(k) law
#endif
    REAL column[N][COMPONENTS], out[N][COMPONENTS];
    int own[N];
    UNROLL for (int k = 0; k < N; k++) own[k] = points[k * SHEET];
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        column[k][i] = a.field[(WIDE)own[k] * COMPONENTS + i];
        out[k][i] = 0;
    }
#if LAW < 2
    REAL second[N][COMPONENTS];
    int inside = a.goes_on;
    UNROLL for (int b = 0; b < ACROSS; b++) inside = inside && t.axis[b] > 0 && t.axis[b] < N - 1;
#if LOSS
    // The end of the step before as its velocity in the middle foretold it: memory variables follow its strain.
    REAL foretold[N][COMPONENTS];
    REAL *memory = a.memory + element * (RELAXING * MECHANISMS * POINTS) + t.at;
    const REAL *loss = a.loss + a.region[element] * LOSS_NUMBERS;
    const REAL *strength = a.strength + (VARIES ? element * (2 * POINTS) + t.at : 0);
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        if (!inside || k == 0 || k == N - 1) second[k][i] = a.acceleration[(WIDE)own[k] * COMPONENTS + i];
#endif
    if (inside) advance_inside(&a, element, t.at, own, column, second);
#if LOSS
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        foretold[k][i] = FMA(-a.square, second[k][i], column[k][i]);
#endif
#endif
#if STORED
    const REAL *shape = a.shape + element * (METRIC_NUMBERS * POINTS) + t.at;
#else
    struct Column s;
    take_column(&s, &t, a.shape + element * SHAPE_NUMBERS);
#endif
    UNROLL for (int k = 0; k < N; k++) {
        REAL inverse[NDIM][NDIM], gradient[COMPONENTS][NDIM], flux[COMPONENTS][NDIM], along[COMPONENTS];
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            sheet[i * SHEET + t.at] = column[k][i];
#if LOSS
            sheet[(COMPONENTS + i) * SHEET + t.at] = foretold[k][i];
#endif
        }
#if LOSS
        REAL kept[RELAXING][MECHANISMS];
        UNROLL for (int r = 0; r < RELAXING; r++) UNROLL for (int j = 0; j < MECHANISMS; j++)
            kept[r][j] = memory[(r * MECHANISMS + j) * POINTS + k * SHEET];
#endif
        __syncthreads();
#if STORED
        const REAL weight = stored_metric(shape + k * SHEET, inverse);
#else
        const REAL weight = metric(&s, &t, k, inverse);
#endif
        gradient_at(&t, sheet, column, k, inverse, gradient);
#if LAW == 2
        UNROLL for (int c = 0; c < NDIM; c++) flux[0][c] = LAW_AT(LAW_OF_LEVEL(k), 0) * gradient[0][c];
#else
        REAL stress[STRAINS];
        hooke(LAW_OF_LEVEL(k), gradient, stress);
#if LOSS
        gradient_at(&t, sheet + COMPONENTS * SHEET, foretold, k, inverse, gradient);
        relax_all(memory + k * SHEET, kept, loss, strength + k * SHEET, gradient, stress);
#endif
        UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int c = 0; c < NDIM; c++) flux[i][c] = stress[VOIGT(i < c ? i : c, i < c ? c : i)];
#endif
        flux_at(&t, fluxes, weight, inverse, flux, along);
        __syncthreads();
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            out[k][i] += divergence(&t, fluxes, i);
            UNROLL for (int p = 0; p < N; p++) out[p][i] = FMA(SLOPES[k][p], along[i], out[p][i]);
        }
    }
    REAL *forces = a.forces + (element * POINTS + t.at) * COMPONENTS;
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) forces[k * SHEET * COMPONENTS + i] = out[k][i];
}
