// A step of the discretised equations and of their linearisation; born/forward.rs has the equations. `changed`: the
// fields are those scattered by a perturbation of the coefficients, with the background data of the same step. A thread
// reads all data of its cell before it writes, so that it waits for memory once, except in the layers, which contain
// few cells.

// Komatitsch & Martin 2007: psi <- b psi + a D, D <- D / kappa + psi; in stage 0 half a cell further on along the
// axis of the component itself, in stage 1 along the other axes.
INLINE void stretch(const struct Args *a, int stage, const struct Places *p, const struct Cell *c, REAL (*d)[NDIM][VEC]) {
    if (!p->any) return;
    EACH(j) {
        if (p->at[j] < 0) continue;
        const struct Layer *l = &a->g.layers[AXIS(j)];
        REAL *memory = SHOT(a, memory[stage][AXIS(j)]);
        const REAL *before = stage ? SHOT(a, psi[AXIS(j)]) : memory;
        if (j == 0) {
            EACH_VEC {
                int at = place_along(&a->g, p, c, v);
                if (at < 0) continue;
                REAL psi[NDIM];
                EACH(i) psi[i] = before[i * l->component + at];
                EACH(i) {
                    const REAL *f = factors_of(l, c->line[0] + v, (i == 0) != stage);
                    REAL next = FMA(READ(f + 2 * l->lines), psi[i], READ(f + l->lines) * d[i][0][v]);
                    d[i][0][v] = FMA(READ(f), d[i][0][v], next);
                    memory[i * l->component + at] = next;
                }
            }
            continue;
        }
        REAL psi[NDIM][VEC];
        EACH(i) load(before + i * l->component + p->at[j], psi[i]);
        EACH(i) {
            const REAL *f = factors_of(l, c->line[AXIS(j)], (i == j) != stage);
            REAL kappa = READ(f), take = READ(f + l->lines), keep = READ(f + 2 * l->lines);
            EACH_VEC {
                psi[i][v] = FMA(keep, psi[i][v], take * d[i][j][v]);
                d[i][j][v] = FMA(kappa, d[i][j][v], psi[i][v]);
            }
            put(c, memory + i * l->component + p->at[j], psi[i]);
        }
    }
}

INLINE void advance_velocities(const struct Args *a, int changed) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    prefetch_layers(a, (const REAL *const *)a->memory[0], &p, &c);
    REAL d[NDIM][NDIM][VEC], now[NDIM][VEC], b[NDIM][VEC], left[VEC];
    EACH(i) load(SHOT(a, before) + i * a->g.len + c.at, now[i]);
    buoyancy_at(&a->g, c.at, b);
    left_of(&a->g, &c, left);
    EACH(i) EACH(j) derivative(&a->g, SHOT(a, stress) + STRESS(i, j) * a->g.len, c.at, AXIS(j), i == j, d[i][j]);
    stretch(a, 0, &p, &c, d);
    EACH(i) {
        REAL sum[VEC];
        EACH_VEC sum[v] = 0;
        EACH(j) EACH_VEC sum[v] += d[i][j][v];
        EACH_VEC now[i][v] = FMA(b[i][v], sum[v], now[i][v]);
        if (changed) {
            REAL change[VEC], force[VEC];
            fetch(SHOT(a, buoyancy) + i * a->g.len + c.at, change);
            fetch(SHOT(a, force) + i * a->g.len + c.at, force);
            EACH_VEC now[i][v] = FMA(change[v], force[v], now[i][v]);
        }
        EACH_VEC now[i][v] *= left[v];
        put(&c, SHOT(a, velocity) + i * a->g.len + c.at, now[i]);
        if (!changed && a->force) put(&c, SHOT(a, force) + i * a->g.len + c.at, sum);
    }
}

// Eight blocks per multiprocessor leave 64 registers per thread, two fewer than it would use; order 8 needs more than
// that.
#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, HALF > 2 ? 6 : 8)
KERNEL(velocities)(const struct Args a) { advance_velocities(&a, 0); }
#undef BOUNDS
#define BOUNDS

KERNEL(velocities_changed)(const struct Args a) { advance_velocities(&a, 1); }

// Adds the perturbations of the stiffness, an array for each place, times the strains of the background.
INLINE void add_changes(const struct Args *a, const REAL *changes, const struct Cell *c, REAL (*sum)[VEC]) {
    REAL change[PLACES][VEC], e[STRESSES][VEC];
    UNROLL for (int k = 0; k < PLACES; k++) fetch(changes + k * a->g.len + c->at, change[k]);
    EACH_STRESS(k) fetch(SHOT(a, strain) + k * a->g.len + c->at, e[k]);
    add_products_by_place(change, e, sum);
}

#if LOSSY
// Advances the mechanisms of a stress, driven by the relaxing rate, and adds their contribution.
INLINE void relax(const struct Args *a, const REAL *weak, int k, const struct Cell *c, REAL *s) {
    for (int m = 0; m < a->g.mechanisms; m++) {
        const REAL *pattern = pattern_of(&a->g, m, c);
        REAL *r = SHOT(a, relaxing) + (m * STRESSES + k) * a->g.len + c->at, keep[VEC], take[VEC], before[VEC], next[VEC];
        load(r, before);
        fetch(pattern, keep);
        fetch(pattern + PERIOD, take);
        EACH_VEC {
            next[v] = keep[v] * before[v] - take[v] * weak[v];
            s[v] = FMA((REAL)0.5, before[v] + next[v], s[v]);
        }
        put(c, r, next);
    }
}
#endif

INLINE void advance_stresses(const struct Args *a, int changed) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    prefetch_layers(a, a->psi, &p, &c);
    REAL s[STRESSES][VEC], k[MODULI][VEC], d[NDIM][NDIM][VEC], e[STRESSES][VEC], rate[STRESSES][VEC], left[VEC];
    EACH_STRESS(n) load(SHOT(a, stress) + n * a->g.len + c.at, s[n]);
    stiffness_at(&a->g, a->g.stiffness, c.at, k);
    left_of(&a->g, &c, left);
    // Strain rates; a shear strain is the sum of both derivatives.
    EACH(i) EACH(j) derivative(&a->g, SHOT(a, velocity) + i * a->g.len, c.at, AXIS(j), i != j, d[i][j]);
    stretch(a, 1, &p, &c, d);
    EACH_STRESS(n) EACH_VEC e[n][v] = rate[n][v] = 0;
    EACH(i) EACH(j) EACH_VEC e[STRESS(i, j)][v] += d[i][j][v];
    add_products(k, e, rate);
    if (changed) add_changes(a, SHOT(a, stiffness), &c, rate);
#if LOSSY
    REAL weak[STRESSES][VEC];
    EACH_STRESS(n) EACH_VEC weak[n][v] = 0;
    stiffness_at(&a->g, a->g.relaxing, c.at, k);
    add_products(k, e, weak);
    if (changed) add_changes(a, SHOT(a, weaker), &c, weak);
#endif
    EACH_STRESS(n) {
        EACH_VEC s[n][v] += rate[n][v];
#if LOSSY
        relax(a, weak[n], n, &c, s[n]);
#endif
        EACH_VEC s[n][v] *= left[v];
        put(&c, SHOT(a, stress) + n * a->g.len + c.at, s[n]);
        if (!changed && a->strain) put(&c, SHOT(a, strain) + n * a->g.len + c.at, e[n]);
    }
}

KERNEL(stresses)(const struct Args a) { advance_stresses(&a, 0); }

KERNEL(stresses_changed)(const struct Args a) { advance_stresses(&a, 1); }
