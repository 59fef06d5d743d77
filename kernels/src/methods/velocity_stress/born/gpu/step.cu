// A step of the discrete program and of its linearisation; born/forward.rs has the equations. `changed`: the fields are what a
// change of the coefficients makes of the waves, beside the background in the same step. A thread reads all that its cell needs
// before it writes, so that it waits for memory once; the layers, in which few cells lie, come between.

// Komatitsch & Martin 2007: psi <- b psi + a D, D <- D / kappa + psi; of stage 0 half a cell further on along the own axis of a
// component, of stage 1 along the others.
INLINE void stretch(const struct Args *a, int stage, const struct Places *p, const struct Cell *c, REAL (*d)[NDIM]) {
    if (!p->any) return;
    EACH(j) {
        if (p->at[j] < 0) continue;
        const struct Layer *l = &a->g.layers[AXIS(j)];
        REAL *memory = a->memory[stage][AXIS(j)] + p->at[j], psi[NDIM];
        const REAL *before = stage ? a->psi[AXIS(j)] + p->at[j] : memory;
        EACH(i) psi[i] = before[i * l->component];
        EACH(i) {
            const REAL *f = factors_of(l, c->line[AXIS(j)], (i == j) != stage);
            REAL next = FMA(READ(f + 2 * l->lines), psi[i], READ(f + l->lines) * d[i][j]);
            d[i][j] = FMA(READ(f), d[i][j], next);
            memory[i * l->component] = next;
        }
    }
}

INLINE void advance_velocities(const struct Args *a, int changed) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    foresee(&a->g, (const REAL *const *)a->memory[0], &p);
    REAL d[NDIM][NDIM], v[NDIM], b[NDIM], change[NDIM], force[NDIM], left = left_of(&a->g, &c);
    EACH(i) {
        v[i] = a->before[i * a->g.len + c.at];
        b[i] = READ(a->g.buoyancy[i] + c.at);
        if (changed) {
            change[i] = READ(a->buoyancy + i * a->g.len + c.at);
            force[i] = READ(a->force + i * a->g.len + c.at);
        }
    }
    EACH(i) EACH(j) d[i][j] = derivative(&a->g, a->stress + STRESS(i, j) * a->g.len, c.at, AXIS(j), i == j);
    stretch(a, 0, &p, &c, d);
    EACH(i) {
        REAL sum = 0;
        EACH(j) sum += d[i][j];
        v[i] = FMA(b[i], sum, v[i]);
        if (changed) v[i] = FMA(change[i], force[i], v[i]);
        a->velocity[i * a->g.len + c.at] = v[i] * left;
        if (!changed && a->force) a->force[i * a->g.len + c.at] = sum;
    }
}

KERNEL(velocities)(const struct Args a) { advance_velocities(&a, 0); }

KERNEL(velocities_changed)(const struct Args a) { advance_velocities(&a, 1); }

// The stiffness's change times the strains of the background.
INLINE void add_changes(const struct Args *a, const REAL *changes, const struct Cell *c, REAL *sum) {
    REAL change[PLACES], e[STRESSES];
    UNROLL for (int k = 0; k < PLACES; k++) change[k] = READ(changes + k * a->g.len + c->at);
    EACH_STRESS(k) e[k] = READ(a->strain + k * a->g.len + c->at);
    add_products(change, e, sum);
}

#if LOSSY
// Mechanisms of a stress, with the rate of what relaxes.
INLINE REAL relaxed(const struct Args *a, REAL s, REAL weak, int k, const struct Cell *c) {
    for (int m = 0; m < a->g.mechanisms; m++) {
        const REAL *pattern = pattern_of(&a->g, m, c);
        REAL *r = a->relaxing + (m * STRESSES + k) * a->g.len + c->at, before = *r;
        REAL next = READ(pattern) * before - READ(pattern + PERIOD) * weak;
        s = FMA((REAL)0.5, before + next, s);
        *r = next;
    }
    return s;
}
#endif

INLINE void advance_stresses(const struct Args *a, int changed) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    foresee(&a->g, a->psi, &p);
    REAL s[STRESSES], k[PLACES], d[NDIM][NDIM], e[STRESSES], rate[STRESSES], left = left_of(&a->g, &c);
    EACH_STRESS(n) s[n] = a->stress[n * a->g.len + c.at];
    stiffness_at(a->g.stiffness, c.at, k);
    // Rates of strain; shears are the sum of both derivatives.
    EACH(i) EACH(j) d[i][j] = derivative(&a->g, a->velocity + i * a->g.len, c.at, AXIS(j), i != j);
    stretch(a, 1, &p, &c, d);
    EACH_STRESS(n) e[n] = rate[n] = 0;
    EACH(i) EACH(j) e[STRESS(i, j)] += d[i][j];
    add_products(k, e, rate);
    if (changed) add_changes(a, a->stiffness, &c, rate);
#if LOSSY
    REAL weak[STRESSES];
    EACH_STRESS(n) weak[n] = 0;
    stiffness_at(a->g.relaxing, c.at, k);
    add_products(k, e, weak);
    if (changed) add_changes(a, a->weaker, &c, weak);
#endif
    EACH_STRESS(n) {
        s[n] += rate[n];
#if LOSSY
        s[n] = relaxed(a, s[n], weak[n], n, &c);
#endif
        a->stress[n * a->g.len + c.at] = s[n] * left;
        if (!changed && a->strain) a->strain[n * a->g.len + c.at] = e[n];
    }
}

KERNEL(stresses)(const struct Args a) { advance_stresses(&a, 0); }

KERNEL(stresses_changed)(const struct Args a) { advance_stresses(&a, 1); }
