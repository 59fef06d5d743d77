// Internal forces of elements, or the contributions of fluid elements to the right-hand side of their potential.
//
// The threads of an element are the points of a sheet across its last axis; they march along that axis with the field
// of their column in registers (in layers.cu and products.cu a thread has one point). Slopes along the march are products
// with constants. There are two ways to compute those across the sheet:
//
// LINES: the whole field is in shared memory. A thread processes whole lines of it, reads each number of a line once,
// and writes the slopes of all its points; fluxes are gathered in the same way. This saves four reads of shared memory
// per point, component and direction compared with points that read their lines themselves, and it is these reads that
// saturate the first-level cache (RESULTS-ELEMENTS.md).
//
// Otherwise the threads share one sheet of the field after the other and read the lines through their points from it.
// This is used for attenuation, which is bound by device memory, and for elements of many points, whose field is too
// large for shared memory.
//
// The interior points of an element belong to no other element: their step is completed and the next one begun here
// (inside.cuh), because the kernel of the other points (nodes.cu) is the one bound by memory.
//
// Minimum memory traffic in bytes of an element of degree 4 in 3-D, which reads the fields of 64.75 points that no
// other element has read before: 777 of fields, 500 of point numbers, 84 of corners (stored geometry: 5000), 1500 of
// forces; for the 27 interior points 324 of forces, 108 of masses and 972 of displacements and velocities: 4265
// (AT_ONCE: 648 of forces less). Attenuation adds 453 of accelerations and 18000 of memory variables. Constants of
// every point add 1000 (21 of them: 10500), and with attenuation another 1000.
//
// With memory variables the threads need many registers and are bound by memory: slopes of the polynomials come from
// shared memory instead of registers, memory variables are prefetched when a block begins, and the memory variables of
// a level are read together before any of them is written, two of a point at a time.

// A thread's position in the sheet, and its rows and columns of the derivative matrix.
struct Place {
    int at, axis[ACROSS];
#if LOSS && !LINES
    const REAL *slopes;  // SLOPES in shared memory
#elif !LINES
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
#if !LOSS && !LINES
        UNROLL for (int p = 0; p < N; p++) {
            t->row[a][p] = SLOPES[t->axis[a]][p];
            t->column[a][p] = SLOPES[p][t->axis[a]];
        }
#endif
    }
}

// Whether a thread's column runs through the interior points of its element.
INLINE int is_inner(const struct Place *t) {
    int inner = 1;
    UNROLL for (int a = 0; a < ACROSS; a++) inner = inner && t->axis[a] > 0 && t->axis[a] < N - 1;
    return inner;
}

// The part of shared memory that belongs to this column.
INLINE REAL *column_inside(const struct Place *t, REAL *room, int seat) {
    int number = seat * INNER, stride = 1;
    UNROLL for (int a = 0; a < ACROSS; a++) number += (t->axis[a] - 1) * stride, stride *= N - 2;
    return room + INSIDE_AT + number;
}

// The Jacobian of a column: dx_c/du_a of the axes across is `base + slope * w`, the derivative along the march is
// constant.
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

#if LINES
// Address of component i of axis a across for a thread's point of level k.
INLINE REAL *across_at(const struct Place *t, REAL *slopes, int k, int a, int i) {
    return slopes + (a * COMPONENTS + i) * POINTS + k * SHEET + t->at;
}

// The first point of a thread's line along an axis across: lines are numbered within each sheet, one sheet after the
// other.
INLINE int line_of(const struct Place *t, int a) { return t->at / ABREAST * SHEET + t->at % ABREAST * (a == 0 ? N : 1); }

// Computes the derivatives of the field along all lines.
INLINE void differentiate_lines(const struct Place *t, const REAL *field, REAL *slopes) {
    UNROLL for (int a = 0; a < ACROSS; a++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const int line = line_of(t, a), stride = a == 0 ? 1 : N;
        const REAL *from = field + i * POINTS + line;
        REAL *to = slopes + (a * COMPONENTS + i) * POINTS + line, value[N];
        UNROLL for (int p = 0; p < N; p++) value[p] = from[p * stride];
        UNROLL for (int q = 0; q < N; q++) {
            REAL sum = 0;
            UNROLL for (int p = 0; p < N; p++) sum = FMA(SLOPES[q][p], value[p], sum);
            to[q * stride] = sum;
        }
    }
}

// The transpose: replaces the fluxes along the lines by their contributions to the forces of the points.
INLINE void gather_lines(const struct Place *t, REAL *fluxes) {
    UNROLL for (int a = 0; a < ACROSS; a++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const int stride = a == 0 ? 1 : N;
        REAL *line = fluxes + (a * COMPONENTS + i) * POINTS + line_of(t, a), value[N];
        UNROLL for (int q = 0; q < N; q++) value[q] = line[q * stride];
        UNROLL for (int p = 0; p < N; p++) {
            REAL sum = 0;
            UNROLL for (int q = 0; q < N; q++) sum = FMA(SLOPES[q][p], value[q], sum);
            line[p * stride] = sum;
        }
    }
}
#endif

// gradient[i][c] = d field_i / dx_c at level k, from the sheet of that level (with LINES the derivatives along all
// lines) and the column.
INLINE void gradient_at(const struct Place *t, REAL *sheet, REAL column[N][COMPONENTS], int k,
                        REAL inverse[NDIM][NDIM], REAL gradient[COMPONENTS][NDIM]) {
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        REAL slope[NDIM];
        UNROLL for (int a = 0; a < ACROSS; a++) {
#if LINES
            slope[a] = *across_at(t, sheet, k, a, i);
#else
            const int stride = a == 0 ? 1 : N;
            const REAL *line = sheet + i * SHEET + t->at - t->axis[a] * stride;
            slope[a] = 0;
            UNROLL for (int p = 0; p < N; p++) slope[a] = FMA(ROW(t, a, p), line[p * stride], slope[a]);
#endif
        }
        slope[MARCH] = 0;
        UNROLL for (int p = 0; p < N; p++) slope[MARCH] = FMA(SLOPES[k][p], column[p][i], slope[MARCH]);
        UNROLL for (int c = 0; c < NDIM; c++) {
            gradient[i][c] = 0;
            UNROLL for (int a = 0; a < NDIM; a++) gradient[i][c] = FMA(inverse[a][c], slope[a], gradient[i][c]);
        }
    }
}

#if LAW == 1 && VARIES
// Constants of a point, in groups of four.
#define QUADS (LAW_NUMBERS / 4)
#define LAW_STRIDE ((LAW_NUMBERS * POINTS + 3) / 4 * 4)

// The constants of a thread's column.
struct Tables {
    const REAL *law;
    int at;
#if STAGED
    REAL *stage, rest[N][LAW_NUMBERS - 4 * QUADS];
#endif
};

INLINE void four_of(const float4 four, REAL *to) { to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w; }

#if STAGED
// Address of a group of four constants of a point of level k in shared memory.
INLINE REAL *staged_at(const struct Tables *s, int k, int q) {
    return s->stage + ((k % LEVELS_AHEAD * QUADS + q) * THREADS + threadIdx.x) * 4;
}

// Prefetches the constants of a point of level k, if that level exists.
INLINE void stage_table(const struct Tables *s, int k) {
    if (k < N) UNROLL for (int q = 0; q < QUADS; q++) copy_async(staged_at(s, k, q), s->law + (q * POINTS + k * SHEET + s->at) * 4, 1);
    copies_commit();
}
#endif

// `room` is the shared memory after the fields of all elements.
INLINE struct Tables begin_tables(const REAL *law, int at, REAL *room) {
    struct Tables s;
    s.law = law, s.at = at;
#if STAGED
    s.stage = room;
    UNROLL for (int k = 0; k < LEVELS_AHEAD; k++) stage_table(&s, k);
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 4 * QUADS; i < LAW_NUMBERS; i++)
        s.rest[k][i - 4 * QUADS] = __ldg(law + i * POINTS + k * SHEET + at);
#endif
    return s;
}

// Loads the constants of a point of level k.
INLINE void take_table(const struct Tables *s, int k, REAL table[LAW_NUMBERS]) {
#if STAGED
    COPIES_WAIT(LEVELS_AHEAD - 1);
    UNROLL for (int q = 0; q < QUADS; q++) four_of(*(const float4 *)staged_at(s, k, q), table + 4 * q);
    UNROLL for (int i = 4 * QUADS; i < LAW_NUMBERS; i++) table[i] = s->rest[k][i - 4 * QUADS];
    stage_table(s, k + LEVELS_AHEAD);
#else
    const int point = k * SHEET + s->at;
    UNROLL for (int q = 0; q < QUADS; q++) four_of(__ldg((const float4 *)(s->law + (q * POINTS + point) * 4)), table + 4 * q);
    UNROLL for (int i = 4 * QUADS; i < LAW_NUMBERS; i++) table[i] = s->law[i * POINTS + point];
#endif
}
#endif

// Constant i of a law.
#if LAW != 1 && VARIES
#define LAW_AT(law, i) (law)[(i) * POINTS]
#else
#define LAW_AT(law, i) (law)[i]
#endif

// The law of a thread's column, and of one of its levels.
INLINE const REAL *law_of(const struct Elements *a, WIDE element, int at) {
#if LAW == 1 && VARIES
#define LAW_OF_LEVEL(k) table
    return a->law + (element - a->first) * LAW_STRIDE;
#elif VARIES
#define LAW_OF_LEVEL(k) (law + (k) * SHEET)
    return a->law + (element - a->first) * (LAW_NUMBERS * POINTS) + at;
#else
#define LAW_OF_LEVEL(k) law
    return a->law + a->region[element] * LAW_NUMBERS;
#endif
}

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

// The fluxes of a point of level k, weighted and transformed to the axes of the cell: the fluxes across the march are
// written to the sheet (with LINES they replace its slopes), the flux along it to `along`.
INLINE void flux_at(const struct Place *t, REAL *sheet, int k, REAL weight, REAL inverse[NDIM][NDIM],
                    REAL flux[COMPONENTS][NDIM], REAL along[COMPONENTS]) {
    UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int a = 0; a < NDIM; a++) {
        REAL sum = 0;
        UNROLL for (int c = 0; c < NDIM; c++) sum = FMA(inverse[a][c], flux[i][c], sum);
        sum *= -weight;
        if (a == MARCH) along[i] = sum;
#if LINES
        else *across_at(t, sheet, k, a, i) = sum;
#else
        else sheet[(a * COMPONENTS + i) * SHEET + t->at] = sum;
#endif
    }
}

#if !LINES
// Sums the fluxes of a sheet, weighted by the derivatives of a point's basis polynomial.
INLINE REAL divergence(const struct Place *t, const REAL *sheet, int i) {
    REAL sum = 0;
    UNROLL for (int a = 0; a < ACROSS; a++) {
        const int stride = a == 0 ? 1 : N;
        const REAL *line = sheet + (a * COMPONENTS + i) * SHEET + t->at - t->axis[a] * stride;
        UNROLL for (int q = 0; q < N; q++) sum = FMA(COLUMN(t, a, q), line[q * stride], sum);
    }
    return sum;
}
#endif

#if LINES
// Computes the derivatives of the whole field from the columns of all threads.
INLINE void share_field(const struct Place *t, REAL column[N][COMPONENTS], REAL *field, REAL *slopes) {
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) field[i * POINTS + k * SHEET + t->at] = column[k][i];
    __syncthreads();
    differentiate_lines(t, field, slopes);
    __syncthreads();
}

// Adds the contributions of the fluxes across to the forces of a thread's column.
INLINE void share_fluxes(const struct Place *t, REAL *fluxes, REAL out[N][COMPONENTS]) {
    __syncthreads();
    gather_lines(t, fluxes);
    __syncthreads();
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int a = 0; a < ACROSS; a++)
        out[k][i] += *across_at(t, fluxes, k, a, i);
}
#endif
