// The kernel of elements outside perfectly matched layers: a thread has a column of points (elements.cu).

KERNEL(forces)(const struct Elements a) {
    DYNAMIC_SHARED(REAL, room);
#if LOSS && !LINES
    REAL *slopes = room + ELEMENTS * SEAT;
    for (int i = threadIdx.x; i < N * N; i += THREADS) slopes[i] = SLOPES[i / N][i % N];
#endif
    const int seat = threadIdx.x / SHEET, number = a.first + (int)blockIdx.x * ELEMENTS + seat;
    // Threads that have ended count as waiting at every barrier.
    if (seat >= ELEMENTS || number >= a.end) return;
    const WIDE element = number;
    struct Place t;
    take_place(&t, threadIdx.x % SHEET);
    REAL *sheet = room + seat * SEAT;
#if LINES
    // The field comes first; fluxes replace slopes.
    REAL *field = sheet, *fluxes = sheet += COMPONENTS * POINTS;
#else
    REAL *fluxes = sheet + (1 + PREDICTED) * COMPONENTS * SHEET;
#endif
#if LOSS
    struct Relaxing relaxing;
    take_relaxing(&relaxing, &a, element, t.at);
    REAL kept[EARLY ? N : 1][VARIABLES];
#if EARLY
    UNROLL for (int k = 0; k < N; k++) take_kept(&relaxing, k, kept[k]);
#else
    t.slopes = slopes;
    prefetch_memory(&a, element, t.at);
#endif
#endif
    const int *points = a.points + element * POINTS + t.at;
    const REAL *law = law_of(&a, element, t.at);
#if LAW == 1 && VARIES
    struct Tables tables = begin_tables(law, t.at, room + TABLES_AT);
#endif
    REAL column[N][COMPONENTS], out[N][COMPONENTS];
    int own[N];
    UNROLL for (int k = 0; k < N; k++) own[k] = points[k * SHEET];
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        column[k][i] = a.field[(WIDE)own[k] * COMPONENTS + i];
        out[k][i] = 0;
    }
    REAL *later = 0;
#if LAW < 2
    REAL second[N][COMPONENTS];
    const int inside = goes_on(&a, element) && is_inner(&t);
#if PREDICTED
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        if (!inside || k == 0 || k == N - 1) second[k][i] = a.acceleration[(WIDE)own[k] * COMPONENTS + i];
#endif
    if (inside) advance_inside(&a, element, t.at, own, column, second);
    if (ends_at_once(&a, element) && is_inner(&t)) later = prefetch_inside(&a, own, column_inside(&t, room, seat), inside);
#if PREDICTED
    // The displacement that the previous step predicted for its end: it drives the memory variables.
    REAL predicted[N][COMPONENTS];
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        predicted[k][i] = FMA(-a.square, second[k][i], column[k][i]);
#endif
#endif
#if STORED
    const REAL *shape = a.shape + element * (METRIC_NUMBERS * POINTS) + t.at;
#else
    struct Column s;
    take_column(&s, &t, a.shape + element * SHAPE_NUMBERS);
#endif
#if LINES
    share_field(&t, column, field, sheet);
#endif
    UNROLL for (int k = 0; k < N; k++) {
        REAL inverse[NDIM][NDIM], gradient[COMPONENTS][NDIM], flux[COMPONENTS][NDIM], along[COMPONENTS];
#if LOSS && !EARLY && !LATE
        take_kept(&relaxing, k, kept[0]);
#endif
#if !LINES
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            sheet[i * SHEET + t.at] = column[k][i];
#if PREDICTED
            sheet[(COMPONENTS + i) * SHEET + t.at] = predicted[k][i];
#endif
        }
        __syncthreads();
#endif
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
#if LAW == 1 && VARIES
        REAL table[LAW_NUMBERS];
        take_table(&tables, k, table);
#endif
        hooke(LAW_OF_LEVEL(k), gradient, stress);
#if PREDICTED
        gradient_at(&t, sheet + COMPONENTS * SHEET, predicted, k, inverse, gradient);
#endif
#if LATE
        take_kept(&relaxing, k, kept[0]);
#endif
#if LOSS
        take_losses(&relaxing, k, kept[EARLY ? k : 0], gradient, stress);
#endif
        UNROLL for (int i = 0; i < NDIM; i++) UNROLL for (int c = 0; c < NDIM; c++) flux[i][c] = stress[VOIGT(i < c ? i : c, i < c ? c : i)];
#endif
        flux_at(&t, fluxes, k, weight, inverse, flux, along);
#if !LINES
        __syncthreads();
        UNROLL for (int i = 0; i < COMPONENTS; i++) out[k][i] += divergence(&t, fluxes, i);
#endif
        UNROLL for (int i = 0; i < COMPONENTS; i++) UNROLL for (int p = 0; p < N; p++) out[p][i] = FMA(SLOPES[k][p], along[i], out[p][i]);
    }
#if LINES
    share_fluxes(&t, fluxes, out);
#endif
    leave_forces(&a, element, t.at, out, column, later);
}
