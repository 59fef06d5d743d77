// A step of the discrete program and of its linearisation; born/forward.rs has the equations. `changed`: the fields are what a
// change of the coefficients makes of the waves, beside the background in the same step.

// Komatitsch & Martin 2007: psi <- b psi + a D, D <- D / kappa + psi.
INLINE REAL stretched(const struct Args *a, REAL d, int stage, int axis, int half, int component, const struct Cell *c) {
    WIDE at = place_in_layer(&a->g, axis, component, c, 0);
    if (at < 0) return d;
    const struct Layer *l = &a->g.layers[axis];
    const REAL *f = factors_of(l, c->line[axis], half);
    REAL psi = FMA(f[2 * l->lines], a->memory[stage][axis][at], f[l->lines] * d);
    a->memory[stage][axis][at] = psi;
    return FMA(f[0], d, psi);
}

INLINE void advance_velocities(const struct Args *a, int changed) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    REAL left = left_of(&a->g, &c);
    EACH(i) {
        WIDE at = i * a->g.len + c.at;
        REAL sum = 0;
        EACH(j) {
            REAL d = derivative(&a->g, a->stress + STRESS(i, j) * a->g.len + c.at, AXIS(j), i == j);
            sum += stretched(a, d, 0, AXIS(j), i == j, i, &c);
        }
        REAL v = FMA(a->g.buoyancy[i][c.at], sum, a->velocity[at]);
        if (changed) v = FMA(a->buoyancy[at], a->force[at], v);
        a->velocity[at] = v * left;
        if (!changed && a->force) a->force[at] = sum;
    }
}

KERNEL(velocities)(const struct Args a) { advance_velocities(&a, 0); }

KERNEL(velocities_changed)(const struct Args a) { advance_velocities(&a, 1); }

// Rates of strain; shears are the sum of both derivatives.
INLINE void strains_at(const struct Args *a, const struct Cell *c, REAL *e) {
    EACH_STRESS(k) e[k] = 0;
    EACH(i) EACH(j) {
        REAL d = derivative(&a->g, a->velocity + i * a->g.len + c->at, AXIS(j), i != j);
        e[STRESS(i, j)] += stretched(a, d, 1, AXIS(j), i != j, i, c);
    }
}

// The stiffness's change times the strains of the background.
INLINE void add_changes(const struct Args *a, const REAL *changes, const struct Cell *c, REAL *sum) {
    const REAL *of[9];
    REAL e[STRESSES];
    UNROLL for (int k = 0; k <= SHEAR(STRESSES - 1); k++) of[k] = changes + k * a->g.len;
    EACH_STRESS(k) e[k] = a->strain[k * a->g.len + c->at];
    add_products(of, c->at, e, sum);
}

#if LOSSY
// Mechanisms of a stress, with the rate of what relaxes.
INLINE REAL relaxed(const struct Args *a, REAL s, REAL weak, int k, const struct Cell *c) {
    for (int m = 0; m < a->g.mechanisms; m++) {
        const REAL *pattern = pattern_of(&a->g, m, c);
        REAL *r = a->relaxing + (m * STRESSES + k) * a->g.len + c->at, before = *r;
        REAL next = pattern[0] * before - pattern[PERIOD] * weak;
        s = FMA((REAL)0.5, before + next, s);
        *r = next;
    }
    return s;
}
#endif

INLINE void advance_stresses(const struct Args *a, int changed) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    REAL e[STRESSES], rate[STRESSES], left = left_of(&a->g, &c);
    strains_at(a, &c, e);
    EACH_STRESS(k) rate[k] = 0;
    add_products(a->g.stiffness, c.at, e, rate);
    if (changed) add_changes(a, a->stiffness, &c, rate);
#if LOSSY
    REAL weak[STRESSES];
    EACH_STRESS(k) weak[k] = 0;
    add_products(a->g.relaxing, c.at, e, weak);
    if (changed) add_changes(a, a->weaker, &c, weak);
#endif
    EACH_STRESS(k) {
        WIDE at = k * a->g.len + c.at;
        REAL s = a->stress[at] + rate[k];
#if LOSSY
        s = relaxed(a, s, weak[k], k, &c);
#endif
        a->stress[at] = s * left;
        if (!changed && a->strain) a->strain[at] = e[k];
    }
}

KERNEL(stresses)(const struct Args a) { advance_stresses(&a, 0); }

KERNEL(stresses_changed)(const struct Args a) { advance_stresses(&a, 1); }
