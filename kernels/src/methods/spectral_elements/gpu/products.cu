// The products of the slopes of both wavefields for a gradient: recorded steps of the forward wavefield are
// multiplied with the adjoint wavefield and added to sums at every point of every element (the table in
// adjoint/mod.rs, in the order of adjoint/correlate.rs). Products of the fields themselves are summed where the
// adjoint wavefield completes its steps (nodes.cu). The threads of an element march along its last axis with both
// fields of their column in registers, as in elements.cu.
//
// A launch takes up to BATCH steps, so that sums, point numbers and geometry are moved once for all of them:
//   IN_TURN: one step after the other, with slopes from whole lines and the sums of all levels in registers; sums of
//   constants are divided into GROUPS, of which each block computes one;
//   otherwise one level after the other, with the columns of all steps in registers.
//
// Besides the defines of elements.cuh (LINES is IN_TURN, AT_ONCE and DAMPED are 0 here):
//   BATCH steps of a launch, 1 with memory variables, which exist for one step only;
//   CONSTANTS 1 if derivatives are with respect to the constants of solids, else 0
//
// Minimum memory traffic in bytes of an element of degree 4 in 3-D, which reads the fields of 64.75 points that no
// other element has read before: per step 1554 of both displacements; per launch 500 of point numbers, 84 of corners
// (stored geometry: 5000), and 1000 for the sum of each product: 2 products of an isotropic solid, 21 with CONSTANTS.
// With attenuation, another 777 of accelerations and 9000 of memory variables are read.

#define IN_TURN LINES
#define GROUPS (LAW < 2 && CONSTANTS && IN_TURN ? 2 : 1)
#define IN_GROUP(product, group) ((product) * GROUPS / PRODUCTS == (group))
#if LAW == 2
#define PRODUCTS 1
#elif CONSTANTS
#define PAIRS (STRAINS * (STRAINS + 1) / 2)
#define PRODUCTS (PAIRS + (LOSS ? 2 : 0))
#else
#define PRODUCTS (LOSS ? 4 : 2)
#endif
#if IN_TURN
// Shared memory of an element: a field, and the slopes of both.
#define FIELDS ((1 + 2 * ACROSS) * COMPONENTS * POINTS)
#define PAIR (FIELDS + (64 + SHEET % 32 - FIELDS % 32) % 32)
#else
// Shared memory of an element: a sheet of each field.
#define PAIR ((2 + PREDICTED) * COMPONENTS * SHEET)
#endif
// The largest BATCH of all variants.
#define STEPS 8

struct Products {
    struct Elements e;           // of the adjoint wavefield; PREDICTED uses its acceleration of the previous step
    // Displacement (in fluids second derivative of the potential) of the forward wavefield, and displacement or
    // potential of the adjoint wavefield in the same steps: [point][component].
    const REAL *forward[STEPS], *adjoint[STEPS];
    REAL *sums;                  // [element][product][point]
    int count;                   // steps, at most BATCH
};

#if LAW < 2 && CONSTANTS
INLINE void strains_of(REAL g[COMPONENTS][NDIM], REAL strain[STRAINS]) {
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++)
        strain[VOIGT(i, k)] = i == k ? g[i][i] : g[i][k] + g[k][i];
}

INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], int group, REAL sum[PRODUCTS]) {
    REAL a[STRAINS], b[STRAINS];
    strains_of(one, a), strains_of(other, b);
    UNROLL for (int r = 0; r < STRAINS; r++) UNROLL for (int s = r; s < STRAINS; s++) {
        const int number = r * STRAINS - r * (r + 1) / 2 + s;
        const REAL product = a[r] * b[s];
        if (IN_GROUP(number, group)) sum[number] += r == s ? product : FMA(a[s], b[r], product);
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
INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], int group, REAL sum[PRODUCTS]) {
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
INLINE void multiply_slopes(REAL one[1][NDIM], REAL other[1][NDIM], int group, REAL sum[PRODUCTS]) {
    UNROLL for (int c = 0; c < NDIM; c++) sum[0] = FMA(one[0][c], other[0][c], sum[0]);
}
#endif

// Loads the columns of both fields of a step.
INLINE void take_columns(const struct Products *a, int step, const int *points, REAL one[N][COMPONENTS], REAL other[N][COMPONENTS]) {
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const WIDE at = (WIDE)points[k * SHEET] * COMPONENTS + i;
        one[k][i] = a->forward[step][at];
        other[k][i] = a->adjoint[step][at];
    }
}

// Loads the sums of a point of level k so far, to which products are added in the order of steps, so that launches of
// more or fewer steps give the same bits.
INLINE void take_sums(const REAL *sums, int k, int group, REAL sum[PRODUCTS]) {
    UNROLL for (int q = 0; q < PRODUCTS; q++) if (IN_GROUP(q, group)) sum[q] = sums[q * POINTS + k * SHEET];
}

INLINE void leave_sums(REAL *sums, int k, int group, const REAL sum[PRODUCTS]) {
    UNROLL for (int q = 0; q < PRODUCTS; q++) if (IN_GROUP(q, group)) sums[q * POINTS + k * SHEET] = sum[q];
}

#if IN_TURN
// Adds the products of a group.
INLINE void pair_in_turn(const struct Products *a, REAL *room, int group) {
    const int seat = threadIdx.x / SHEET, number = a->e.first + (int)blockIdx.x * ELEMENTS + seat;
    // Threads that have ended count as waiting at every barrier.
    if (seat >= ELEMENTS || number >= a->e.end) return;
    const WIDE element = number;
    struct Place t;
    take_place(&t, threadIdx.x % SHEET);
    REAL *field = room + seat * PAIR, *slopes = field + COMPONENTS * POINTS, *beside = slopes + ACROSS * COMPONENTS * POINTS;
    const int *points = a->e.points + element * POINTS + t.at;
    struct Column s;
    take_column(&s, &t, a->e.shape + element * SHAPE_NUMBERS);
    REAL *sums = a->sums + element * (PRODUCTS * POINTS) + t.at, sum[N][PRODUCTS];
    UNROLL for (int k = 0; k < N; k++) take_sums(sums, k, group, sum[k]);
    for (int step = 0; step < a->count; step++) {
        REAL one[N][COMPONENTS], other[N][COMPONENTS];
        take_columns(a, step, points, one, other);
        share_field(&t, one, field, slopes);
        share_field(&t, other, field, beside);
        UNROLL for (int k = 0; k < N; k++) {
            REAL inverse[NDIM][NDIM], slope[COMPONENTS][NDIM], back[COMPONENTS][NDIM];
            metric(&s, &t, k, inverse);
            gradient_at(&t, slopes, one, k, inverse, slope);
            gradient_at(&t, beside, other, k, inverse, back);
            multiply_slopes(slope, back, group, sum[k]);
        }
    }
    UNROLL for (int k = 0; k < N; k++) leave_sums(sums, k, group, sum[k]);
}

KERNEL(products)(const struct Products a) {
    DYNAMIC_SHARED(REAL, room);
#if GROUPS == 2
    if (blockIdx.y == 1) {
        pair_in_turn(&a, room, 1);
        return;
    }
#endif
    pair_in_turn(&a, room, 0);
}
#else
KERNEL(products)(const struct Products a) {
    DYNAMIC_SHARED(REAL, room);
#if LOSS
    REAL *slopes = room + ELEMENTS * PAIR;
    for (int i = threadIdx.x; i < N * N; i += THREADS) slopes[i] = SLOPES[i / N][i % N];
#endif
    const int seat = threadIdx.x / SHEET, number = a.e.first + (int)blockIdx.x * ELEMENTS + seat;
    // Threads that have ended count as waiting at every barrier.
    if (seat >= ELEMENTS || number >= a.e.end) return;
    const WIDE element = number;
    struct Place t;
    take_place(&t, threadIdx.x % SHEET);
    REAL *sheet = room + seat * PAIR, *beside = sheet + COMPONENTS * SHEET;
#if LOSS
    t.slopes = slopes;
    struct Relaxing relaxing;
    take_relaxing(&relaxing, &a.e, element, t.at);
#if !CONSTANTS
    const REAL *law = law_of(&a.e, element, t.at);
#endif
#endif
    const int *points = a.e.points + element * POINTS + t.at;
    REAL *sums = a.sums + element * (PRODUCTS * POINTS) + t.at;
    REAL one[BATCH][N][COMPONENTS], other[BATCH][N][COMPONENTS];
    UNROLL for (int step = 0; step < BATCH; step++) if (step < a.count) take_columns(&a, step, points, one[step], other[step]);
#if PREDICTED
    REAL followed[N][COMPONENTS];
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        followed[k][i] = FMA(-a.e.square, a.e.acceleration[(WIDE)points[k * SHEET] * COMPONENTS + i], other[0][k][i]);
#endif
#if STORED
    const REAL *shape = a.e.shape + element * (METRIC_NUMBERS * POINTS) + t.at;
#else
    struct Column s;
    take_column(&s, &t, a.e.shape + element * SHAPE_NUMBERS);
#endif
    UNROLL for (int k = 0; k < N; k++) {
        REAL inverse[NDIM][NDIM], sum[PRODUCTS];
        take_sums(sums, k, 0, sum);
#if STORED
        stored_metric(shape + k * SHEET, inverse);
#else
        metric(&s, &t, k, inverse);
#endif
        UNROLL for (int step = 0; step < BATCH; step++) if (step < a.count) {
            REAL slope[COMPONENTS][NDIM], back[COMPONENTS][NDIM];
            UNROLL for (int i = 0; i < COMPONENTS; i++) {
                sheet[i * SHEET + t.at] = one[step][k][i];
                beside[i * SHEET + t.at] = other[step][k][i];
#if PREDICTED
                beside[(COMPONENTS + i) * SHEET + t.at] = followed[k][i];
#endif
            }
            __syncthreads();
            gradient_at(&t, sheet, one[step], k, inverse, slope);
            gradient_at(&t, beside, other[step], k, inverse, back);
#if LOSS
            REAL kept[VARIABLES], lost[STRAINS];
            take_kept(&relaxing, k, kept);
#if PREDICTED
            REAL strained[COMPONENTS][NDIM];
            gradient_at(&t, beside + COMPONENTS * SHEET, followed, k, inverse, strained);
            const REAL bulk = relax_all(&relaxing, k, kept, strained, lost);
#else
            const REAL bulk = relax_all(&relaxing, k, kept, back, lost);
#endif
#if CONSTANTS
            multiply_slopes(slope, back, 0, sum);
            multiply_losses(slope, bulk, lost, sum);
#else
            const REAL lambda = LAW_AT(LAW_OF_LEVEL(k), 0), mu = LAW_AT(LAW_OF_LEVEL(k), 1);
            multiply_slopes(slope, back, bulk, lost, lambda, mu, sum);
#endif
#else
            multiply_slopes(slope, back, 0, sum);
#endif
            __syncthreads();
        }
        leave_sums(sums, k, 0, sum);
    }
}
#endif
