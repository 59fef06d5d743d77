// What a gradient needs of a step: the products of a recorded step of the forward wavefield with the adjoint wavefield, added to
// sums at every point of every element (the table in adjoint/mod.rs, in the order of adjoint/correlate.rs). The threads of an element
// march along its last axis with both fields of their column in registers, as elements.cu has it.
//
// Beside the defines of elements.cuh (LINES, AT_ONCE and DAMPED are 0 here):
//   SOAKED 0|1 there is a sponge, CONSTANTS 0|1 derivatives are by the constants of solids
//
// Bytes of memory that an element of degree 4 in 3-D moves at least, where it reads the fields of 64.75 points that no other
// element has read before: 1554 of both displacements, 777 of accelerations, 500 of point numbers, 84 of corners (stored geometry: 5000),
// 1000 a product for its sum: 5915 with the three of an isotropic solid. With attenuation 9000 of memory variables more.

#define FIRST (1 + SOAKED)
#if LAW == 2
#define PRODUCTS (FIRST + 1)
#elif CONSTANTS
#define PAIRS (STRAINS * (STRAINS + 1) / 2)
#define PRODUCTS (FIRST + PAIRS + (LOSS ? 2 : 0))
#else
#define PRODUCTS (FIRST + (LOSS ? 4 : 2))
#endif
// Shared memory of an element: a sheet of each field.
#define PAIR ((2 + PREDICTED) * COMPONENTS * SHEET)

struct Products {
    struct Elements e;    // of the adjoint wavefield, at the end of a step
    const REAL *forward;  // displacement, in fluids second derivative of the potential, of the forward wavefield: [point][component]
    const REAL *before;   // acceleration of the adjoint wavefield a step earlier; PREDICTED only
    REAL *sums;           // [element][product][point of it]
};

INLINE void add_product(REAL *sums, int product, REAL x) { sums[product * POINTS] += x; }

#if LAW < 2 && CONSTANTS
INLINE void strains_of(REAL g[COMPONENTS][NDIM], REAL strain[STRAINS]) {
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++)
        strain[VOIGT(i, k)] = i == k ? g[i][i] : g[i][k] + g[k][i];
}

INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], REAL *sums) {
    REAL a[STRAINS], b[STRAINS];
    strains_of(one, a), strains_of(other, b);
    UNROLL for (int r = 0; r < STRAINS; r++) UNROLL for (int s = r; s < STRAINS; s++) {
        const REAL product = a[r] * b[s];
        add_product(sums, FIRST + r * STRAINS - r * (r + 1) / 2 + s, r == s ? product : FMA(a[s], b[r], product));
    }
}

#if LOSS
// With what memory variables take from the adjoint stress: the mean of it, and twice of its deviator.
INLINE void multiply_losses(REAL one[COMPONENTS][NDIM], REAL bulk, const REAL lost[STRAINS], REAL *sums) {
    REAL trace = 0, taken = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += one[i][i];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
        const REAL pair = one[i][k] + one[k][i];
        taken = FMA(i == k ? pair : pair + pair, lost[VOIGT(i, k)], taken);
    }
    add_product(sums, FIRST + PAIRS, trace * bulk);
    add_product(sums, FIRST + PAIRS + 1, taken);
}
#endif
#elif LAW < 2 && !LOSS
INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], REAL *sums) {
    REAL trace = 0, beside = 0, twice = 0;
    UNROLL for (int i = 0; i < NDIM; i++) {
        trace += one[i][i], beside += other[i][i];
        twice = FMA(2 * one[i][i], other[i][i], twice);
        UNROLL for (int k = i + 1; k < NDIM; k++) twice = FMA(one[i][k] + one[k][i], other[i][k] + other[k][i], twice);
    }
    add_product(sums, FIRST, trace * beside);
    add_product(sums, FIRST + 1, twice);
}
#elif LAW < 2
// With what memory variables take from the adjoint stress, over the unrelaxed moduli.
INLINE void multiply_slopes(REAL one[COMPONENTS][NDIM], REAL other[COMPONENTS][NDIM], REAL bulk, const REAL lost[STRAINS],
                            REAL lambda, REAL mu, REAL *sums) {
    const REAL of_shear = (REAL)1 / (2 * mu), gone = bulk / FMA((REAL)(2.0 / 3.0), mu, lambda);
    REAL trace = 0, beside = 0, twice = 0, taken = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += one[i][i], beside += other[i][i];
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
        const REAL strain = (REAL)0.5 * (other[i][k] + other[k][i]);
        const REAL deviator = i == k ? FMA((REAL)(-1.0 / 3.0), beside, strain) : strain;
        const REAL own = of_shear * lost[VOIGT(i, k)], pair = one[i][k] + one[k][i];
        // Off the diagonal there are two of each.
        const REAL weight = i == k ? pair : pair + pair;
        twice = FMA(weight, deviator - own, twice);
        taken = FMA(weight, own, taken);
    }
    add_product(sums, FIRST, trace * (beside - gone));
    add_product(sums, FIRST + 1, twice);
    add_product(sums, FIRST + 2, trace * gone);
    add_product(sums, FIRST + 3, taken);
}
#endif

// The forward field by the second derivative of the other and, in a sponge, by its first one.
INLINE void multiply_rates(const struct Products *a, int p, const REAL *forward, REAL *sums) {
    REAL mass = 0;
    UNROLL for (int i = 0; i < COMPONENTS; i++) mass = FMA(forward[i], a->e.acceleration[(WIDE)p * COMPONENTS + i], mass);
    add_product(sums, 0, mass);
#if SOAKED
    REAL damping = 0;
    UNROLL for (int i = 0; i < COMPONENTS; i++) damping = FMA(forward[i], a->e.velocity[(WIDE)p * COMPONENTS + i], damping);
    add_product(sums, 1, damping);
#endif
}

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
    REAL one[N][COMPONENTS], other[N][COMPONENTS];
#if PREDICTED
    REAL followed[N][COMPONENTS];
#endif
    UNROLL for (int k = 0; k < N; k++) {
        const int p = points[k * SHEET];
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            const WIDE at = (WIDE)p * COMPONENTS + i;
            one[k][i] = a.forward[at];
            other[k][i] = a.e.field[at];
#if PREDICTED
            followed[k][i] = FMA(-a.e.square, a.before[at], other[k][i]);
#endif
        }
        multiply_rates(&a, p, one[k], sums + k * SHEET);
    }
#if STORED
    const REAL *shape = a.e.shape + element * (METRIC_NUMBERS * POINTS) + t.at;
#else
    struct Column s;
    take_column(&s, &t, a.e.shape + element * SHAPE_NUMBERS);
#endif
    UNROLL for (int k = 0; k < N; k++) {
        REAL inverse[NDIM][NDIM], slope[COMPONENTS][NDIM], back[COMPONENTS][NDIM];
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            sheet[i * SHEET + t.at] = one[k][i];
            beside[i * SHEET + t.at] = other[k][i];
#if PREDICTED
            beside[(COMPONENTS + i) * SHEET + t.at] = followed[k][i];
#endif
        }
        __syncthreads();
#if STORED
        stored_metric(shape + k * SHEET, inverse);
#else
        metric(&s, &t, k, inverse);
#endif
        gradient_at(&t, sheet, one, k, inverse, slope);
        gradient_at(&t, beside, other, k, inverse, back);
#if LAW == 2
        REAL sum = 0;
        UNROLL for (int c = 0; c < NDIM; c++) sum = FMA(slope[0][c], back[0][c], sum);
        add_product(sums + k * SHEET, FIRST, sum);
#elif LOSS
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
        multiply_slopes(slope, back, sums + k * SHEET);
        multiply_losses(slope, bulk, lost, sums + k * SHEET);
#else
        const REAL lambda = LAW_AT(LAW_OF_LEVEL(k), 0), mu = LAW_AT(LAW_OF_LEVEL(k), 1);
        multiply_slopes(slope, back, bulk, lost, lambda, mu, sums + k * SHEET);
#endif
#else
        multiply_slopes(slope, back, sums + k * SHEET);
#endif
        __syncthreads();
    }
}
