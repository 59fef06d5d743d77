// Attenuation of elements: memory variables of the deviator and the trace of a gradient. A point has all mechanisms
// or, with COARSE, a single one whose strength is increased so that its mean over the element equals the mean of all
// mechanisms.

#define MECHANISMS 3
#define LOSS_NUMBERS (5 * MECHANISMS)
// Mechanisms of a point.
#define KEPT (COARSE ? 1 : MECHANISMS)
// The deviator (in 3-D without zz, which follows from the others) and the trace.
#define RELAXING (NDIM == 3 ? 6 : 4)
#define VARIABLES (RELAXING * KEPT)
// Floats of a cache line.
#define LINE 32

// The attenuation data of a thread's column.
struct Relaxing {
    REAL *memory;
    const REAL *loss, *strength;
#if SCATTERED
    const REAL *relative;
#endif
    int first;  // mechanism of its first point, if each point has one
};

INLINE void take_relaxing(struct Relaxing *r, const struct Elements *a, WIDE element, int at) {
    r->memory = a->memory + element * (VARIABLES * POINTS) + at * VEC;
    r->loss = a->loss + a->region[element] * LOSS_NUMBERS;
    r->strength = a->strength + (OWN_LOSS ? element * (2 * POINTS) + at : 0);
#if SCATTERED
    r->relative = a->inverse_mass + element * (2 * POINTS) + at;
#endif
    // Mechanisms alternate along every axis.
    r->first = NDIM == 3 ? at % N + at / N : at;
}

INLINE void take_kept(const struct Relaxing *r, int level, REAL kept[VARIABLES]) {
    UNROLL for (int v = 0; v < VARIABLES; v += VEC) load(r->memory + v * POINTS + level * SHEET * VEC, kept + v);
}

// The current sum of the mechanisms of a slot of a point; the kept values are advanced with the strain. With ADVANCED
// they have been advanced with this strain, and stay unchanged.
INLINE REAL relax(REAL kept[KEPT], const REAL *loss, int is_trace, REAL strain) {
    const REAL *now = loss + (is_trace ? 3 : 1) * MECHANISMS, *next = now + MECHANISMS;
    REAL sum = 0;
    UNROLL for (int j = 0; j < KEPT; j++) {
#if ADVANCED
        sum += FMA(now[j], strain, (kept[j] - next[j] * strain) * inverse(loss[j]));
#else
        sum += FMA(now[j], strain, kept[j]);
        kept[j] = FMA(next[j], strain, loss[j] * kept[j]);
#endif
    }
    return sum;
}

// Stores the pairs whose second variable is in [first, end).
INLINE void put_pairs(REAL *memory, const REAL kept[VARIABLES], int first, int end) {
#if !ADVANCED
    UNROLL for (int v = 0; v < VARIABLES; v += VEC)
        if (v + 1 >= first && v + 1 < end) store(memory + v * POINTS, kept + v);
#endif
}

// Advances the memory variables of a point, driven by a gradient: `lost` receives their contributions to the deviator
// of the stress, and the mean of those to its diagonal is returned.
INLINE REAL relax_all(const struct Relaxing *r, int level, REAL kept[VARIABLES], REAL g[COMPONENTS][NDIM],
                      REAL lost[STRAINS]) {
    REAL *memory = r->memory + level * SHEET * VEC;
#if COARSE
    const int own = (r->first + level) % MECHANISMS;
    const REAL share = SHARES[own];
#else
    const int own = 0;
    const REAL share = 1;
#endif
    const REAL *loss = r->loss + own;
    REAL trace = 0;
    UNROLL for (int i = 0; i < NDIM; i++) trace += g[i][i];
#if OWN_LOSS
    const REAL *strength = r->strength + level * SHEET;
    const REAL shear = share * strength[0], volume = share * strength[POINTS] * trace;
#else
    const REAL shear = share, volume = share * trace;
#endif
    const REAL bulk = relax(kept + (RELAXING - 1) * KEPT, loss, 1, volume);
    put_pairs(memory, kept, (RELAXING - 1) * KEPT + 1, VARIABLES);
    const REAL mean = trace * (REAL)(1.0 / 3.0);
    REAL last = 0;
    int slot = 0;
    UNROLL for (int v = 0; v < STRAINS; v++) {
        UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++) {
            if (VOIGT(i, k) != v) continue;
            if (NDIM == 3 && v == 2) {
                lost[v] = -last;
            } else {
                const REAL strain = (REAL)0.5 * (g[i][k] + g[k][i]) - (i == k ? mean : 0);
                lost[v] = relax(kept + slot * KEPT, loss, 0, shear * strain);
                // The first variable of the trace is stored next to the last one of the deviator.
                put_pairs(memory, kept, slot * KEPT, (slot + 1) * KEPT + (slot == RELAXING - 2));
                slot++;
                if (i == k) last += lost[v];
            }
        }
    }
    return bulk;
}

// Advances the memory variables of a point and subtracts their contributions from a stress; with SCATTERED it subtracts
// the perturbation of these contributions from the perturbation of the stress.
INLINE void take_losses(const struct Relaxing *r, int level, REAL kept[VARIABLES], REAL g[COMPONENTS][NDIM], REAL stress[STRAINS]) {
    REAL lost[STRAINS];
#if SCATTERED
    const REAL *relative = r->relative + level * SHEET;
    const REAL bulk = relative[0] * relax_all(r, level, kept, g, lost);
    UNROLL for (int v = 0; v < STRAINS; v++) lost[v] *= relative[POINTS];
#else
    const REAL bulk = relax_all(r, level, kept, g, lost);
#endif
    UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int k = i; k < NDIM; k++)
        stress[VOIGT(i, k)] -= i == k ? lost[VOIGT(i, k)] + bulk : lost[VOIGT(i, k)];
}

// Prefetches the memory variables of an element in lines of 128 bytes, distributed over its threads.
INLINE void prefetch_memory(const struct Elements *a, WIDE element, int at) {
    const REAL *memory = a->memory + element * (VARIABLES * POINTS);
    for (int i = at * LINE; i < VARIABLES * POINTS; i += SHEET * LINE) prefetch(memory + i);
}
