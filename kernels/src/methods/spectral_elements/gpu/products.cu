// The products of the slopes of both wavefields for a gradient: recorded steps of the forward wavefield are
// multiplied with the adjoint wavefield and added to sums at every point of every element (the table in
// adjoint/mod.rs, in the order of adjoint/correlate.rs). Products of the fields themselves are summed where the
// adjoint wavefield completes its steps (nodes.cu).
//
// A launch takes several steps (one with memory variables, which exist for one step only), so that sums, point numbers
// and geometry are moved once for all of them. A thread has one point of an element, whose sums and geometry stay in
// registers. The threads of an element share its fields, take whole lines of them along every axis, and write the
// slopes of all points of a line. They read fields in the order of memory, components first, so that a warp reads few
// cache lines at a time (RESULTS-ELEMENTS.md).
//
// Besides the defines of elements.cuh (LINES, AT_ONCE and DAMPED are 0 here):
//   CONSTANTS 1 if derivatives are with respect to the constants of solids, else 0;
//   TOGETHER fields that are shared at the same time: as many as fit into shared memory
//
// Minimum memory traffic in bytes of an element of degree 4 in 3-D, which reads the fields of 64.75 points that no
// other element has read before: per step 1554 of both displacements; per launch 500 of point numbers, 84 of corners
// (stored geometry: 5000), and 1000 for the sum of each product: 2 products of an isotropic solid, 21 with CONSTANTS.
// With attenuation, another 777 of accelerations and 9000 of memory variables are read; with one mechanism per point no
// accelerations, and 3000 of memory variables.

#if LAW == 2
#define PRODUCTS 1
#elif CONSTANTS
#define PAIRS (STRAINS * (STRAINS + 1) / 2)
#define PRODUCTS (PAIRS + (LOSS ? 2 : 0))
#else
#define PRODUCTS (LOSS ? 4 : 2)
#endif
// The forward field, the adjoint field, and with PREDICTED the adjoint field at the end of the previous step.
#define FIELDS (2 + PREDICTED)
// Values of the fields that an element shares at the same time, and lines of them along one axis.
#define SHARED (TOGETHER * COMPONENTS * POINTS)
#define ALL_LINES (TOGETHER * COMPONENTS * SHEET)
// Shared memory of an element: these fields and their derivatives along every axis.
#define ROOM ((1 + NDIM) * SHARED)
// The distance of neighbouring points along an axis in values of a field.
#define STRIDE(axis) (COMPONENTS * ((axis) == 0 ? 1 : (axis) == 1 ? N : N * N))
// The largest number of steps of a launch.
#define STEPS 8

struct Products {
    struct Elements e;           // of the adjoint wavefield; PREDICTED uses its acceleration of the previous step
    // Displacement (in fluids second derivative of the potential) of the forward wavefield, and displacement or
    // potential of the adjoint wavefield in the same steps: [point][component].
    const REAL *forward[STEPS], *adjoint[STEPS];
    REAL *sums;                  // [element][product][point]
    int count;                   // steps, at most STEPS
};

#if LAW < 2 && CONSTANTS
INLINE void strains_of(REAL g[COMPONENTS][NDIM], REAL strain[STRAINS]) {
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++)
        strain[VOIGT(i, k)] = i == k ? g[i][i] : g[i][k] + g[k][i];
}

INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], REAL sum[PRODUCTS]) {
    REAL a[STRAINS], b[STRAINS];
    strains_of(one, a), strains_of(other, b);
    UNROLL for (int r = 0; r < STRAINS; r++) UNROLL for (int s = r; s < STRAINS; s++) {
        const int number = r * STRAINS - r * (r + 1) / 2 + s;
        sum[number] = FMA(a[r], b[s], sum[number]);
        if (r != s) sum[number] = FMA(a[s], b[r], sum[number]);
    }
}

#if LOSS
// Products with the contributions of memory variables to the adjoint stress: with their mean, and twice with their
// deviator.
INLINE void multiply_losses(REAL one[COMPONENTS][NDIM], REAL bulk, const REAL lost[STRAINS], REAL sum[PRODUCTS]) {
    REAL trace = 0, taken = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += one[i][i];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
        const REAL pair = one[i][k] + one[k][i];
        taken = FMA(i == k ? pair : pair + pair, lost[VOIGT(i, k)], taken);
    }
    sum[PAIRS] += trace * bulk;
    sum[PAIRS + 1] += taken;
}
#endif
#elif LAW < 2 && !LOSS
INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], REAL sum[PRODUCTS]) {
    REAL trace = 0, beside = 0, twice = 0;
    UNROLL for (int i = 0; i < NDIM; i++) {
        trace += one[i][i], beside += other[i][i];
        twice = FMA(2 * one[i][i], other[i][i], twice);
        UNROLL for (int k = i + 1; k < NDIM; k++) twice = FMA(one[i][k] + one[k][i], other[i][k] + other[k][i], twice);
    }
    sum[0] = FMA(trace, beside, sum[0]);
    sum[1] += twice;
}
#elif LAW < 2
// Subtracts the contributions of memory variables to the adjoint stress, divided by the unrelaxed moduli, and sums them
// separately.
INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], REAL bulk, const REAL lost[STRAINS],
                            REAL lambda, REAL mu, REAL sum[PRODUCTS]) {
    const REAL of_shear = (REAL)1 / (2 * mu), gone = bulk / FMA((REAL)(2.0 / 3.0), mu, lambda);
    REAL trace = 0, beside = 0, twice = 0, taken = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += one[i][i], beside += other[i][i];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
        const REAL strain = (REAL)0.5 * (other[i][k] + other[k][i]);
        const REAL deviator = i == k ? FMA((REAL)(-1.0 / 3.0), beside, strain) : strain;
        const REAL own = of_shear * lost[VOIGT(i, k)], pair = one[i][k] + one[k][i];
        // Off-diagonal components occur twice.
        const REAL weight = i == k ? pair : pair + pair;
        twice = FMA(weight, deviator - own, twice);
        taken = FMA(weight, own, taken);
    }
    sum[0] += trace * (beside - gone);
    sum[1] += twice;
    sum[2] += trace * gone;
    sum[3] += taken;
}
#else
INLINE void multiply_slopes(REAL one[1][NDIM], REAL other[1][NDIM], REAL sum[PRODUCTS]) {
    UNROLL for (int c = 0; c < NDIM; c++) sum[0] = FMA(one[0][c], other[0][c], sum[0]);
}
#endif

// Computes the slopes along an axis of the lines that fall to thread p of an element.
INLINE void slopes_along(int axis, int p, const REAL *fields, REAL *slopes) {
    UNROLL for (int turn = 0; turn < (ALL_LINES + POINTS - 1) / POINTS; turn++) {
        const int line = p + turn * POINTS, stride = STRIDE(axis);
        if (line >= ALL_LINES) break;
        const int first = line / stride * (stride * N) + line % stride;
        const REAL *from = fields + first;
        REAL *to = slopes + axis * SHARED + first, value[N];
        UNROLL for (int k = 0; k < N; k++) value[k] = from[k * stride];
        UNROLL for (int q = 0; q < N; q++) {
            REAL sum = 0;
            UNROLL for (int k = 0; k < N; k++) sum = FMA(SLOPES[q][k], value[k], sum);
            to[q * stride] = sum;
        }
    }
}

// gradient[i][c] = d field_i / dx_c at a point, from its slopes along the axes of the cell.
INLINE void gradient_of(const REAL *slopes, REAL inverse[NDIM][NDIM], REAL gradient[COMPONENTS][NDIM]) {
    UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int c = 0; c < NDIM; c++) {
        gradient[i][c] = 0;
        UNROLL for (int b = 0; b < NDIM; b++) gradient[i][c] = FMA(inverse[b][c], slopes[b * SHARED + i], gradient[i][c]);
    }
}

KERNEL(products)(const struct Products a) {
    DYNAMIC_SHARED(REAL, room);
    const int seat = threadIdx.x / POINTS, number = a.e.first + (int)blockIdx.x * ELEMENTS + seat;
    const int p = threadIdx.x % POINTS, level = p / SHEET;
    // Threads that have ended count as waiting at every barrier.
    if (seat >= ELEMENTS || number >= a.e.end) return;
    const WIDE element = number;
    struct Place t;
    take_place(&t, p % SHEET);
    REAL *fields = room + seat * ROOM, *slopes = fields + SHARED, inverse[NDIM][NDIM];
#if STORED
    stored_metric(a.e.shape + element * (METRIC_NUMBERS * POINTS) + p, inverse);
#else
    struct Column s;
    take_column(&s, &t, a.e.shape + element * SHAPE_NUMBERS);
    metric(&s, &t, level, inverse);
#endif
#if LOSS
    struct Relaxing relaxing;
    take_relaxing(&relaxing, &a.e, element, t.at);
    REAL kept[VARIABLES], lost[STRAINS];
    take_kept(&relaxing, level, kept);
#endif
    // Indices of the values that the thread reads. With both wavefields and a recorded step in its memory, no GPU holds
    // fields of more than 2^32 values.
    unsigned own[COMPONENTS];
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const int value = p + i * POINTS;
        own[i] = (unsigned)a.e.points[element * POINTS + value / COMPONENTS] * COMPONENTS + value % COMPONENTS;
    }
    // Products are added to the sums in the order of steps, so that launches of more or fewer steps give the same bits.
    REAL *sums = a.sums + element * (PRODUCTS * POINTS) + p, sum[PRODUCTS], value[FIELDS][COMPONENTS], gradient[FIELDS][COMPONENTS][NDIM];
#if !LOSS
    UNROLL for (int q = 0; q < PRODUCTS; q++) sum[q] = sums[q * POINTS];
#endif
    UNROLL for (int i = 0; i < COMPONENTS; i++) {
        value[0][i] = a.forward[0][own[i]];
        value[1][i] = a.adjoint[0][own[i]];
#if PREDICTED
        value[2][i] = FMA(-a.e.square, a.e.acceleration[own[i]], value[1][i]);
#endif
    }
    for (int step = 0; step < a.count; step++) {
        UNROLL for (int f = 0; f < FIELDS; f += TOGETHER) {
            UNROLL for (int k = 0; k < TOGETHER; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
                fields[(k * COMPONENTS + i) * POINTS + p] = value[f + k][i];
            __syncthreads();
            // The values of the next step are read while the slopes of this one are computed.
            if (f + TOGETHER == FIELDS && step + 1 < a.count) UNROLL for (int i = 0; i < COMPONENTS; i++) {
                value[0][i] = a.forward[step + 1][own[i]];
                value[1][i] = a.adjoint[step + 1][own[i]];
            }
            UNROLL for (int b = 0; b < NDIM; b++) slopes_along(b, p, fields, slopes);
            __syncthreads();
            UNROLL for (int k = 0; k < TOGETHER; k++) gradient_of(slopes + (k * POINTS + p) * COMPONENTS, inverse, gradient[f + k]);
        }
#if LOSS
        // There is one step only; reading the sums this late saves registers.
        UNROLL for (int q = 0; q < PRODUCTS; q++) sum[q] = sums[q * POINTS];
        const REAL bulk = relax_all(&relaxing, level, kept, gradient[FIELDS - 1], lost);
#if CONSTANTS
        multiply_slopes(gradient[0], gradient[1], sum);
        multiply_losses(gradient[0], bulk, lost, sum);
#else
        const REAL *law = law_of(&a.e, element, t.at);
        const REAL lambda = LAW_AT(LAW_OF_LEVEL(level), 0), mu = LAW_AT(LAW_OF_LEVEL(level), 1);
        multiply_slopes(gradient[0], gradient[1], bulk, lost, lambda, mu, sum);
#endif
#else
        multiply_slopes(gradient[0], gradient[1], sum);
#endif
    }
    UNROLL for (int q = 0; q < PRODUCTS; q++) sums[q * POINTS] = sum[q];
}
