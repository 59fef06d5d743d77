// The transpose of a step; born/transpose.rs has the equations. Every number is what waits for the number of the same place.
// What waits for a derivative is the same for all derivatives of a stress or velocity, save in the layers, where it lies beside.

// The transpose of the stretched derivative in the layers: p = psi + g, psi <- b p, and g / kappa + a p waits for D.
INLINE void unstretch(const struct Args *a, REAL g, int stage, int axis, int half, int component, const struct Cell *c) {
    WIDE at = place_in_layer(&a->g, axis, component, c, 0);
    if (at < 0) return;
    const struct Layer *l = &a->g.layers[axis];
    const REAL *f = factors_of(l, c->line[axis], half);
    REAL p = a->memory[stage][axis][at] + g;
    a->behind[axis][at] = FMA(f[0], g, f[l->lines] * p);
    a->memory[stage][axis][at] = f[2 * l->lines] * p;
}

#if LOSSY
// What waits for the rates of what relaxes, and for the memory before the step.
INLINE REAL unrelaxed(const struct Args *a, REAL s, int k, const struct Cell *c) {
    REAL weak = 0, half = (REAL)0.5 * s;
    for (int m = 0; m < a->g.mechanisms; m++) {
        const REAL *pattern = pattern_of(&a->g, m, c);
        REAL *r = a->relaxing + (m * STRESSES + k) * a->g.len + c->at, next = *r + half;
        weak -= pattern[PERIOD] * next;
        *r = FMA(pattern[0], next, half);
    }
    return weak;
}
#endif

// What waits for the stiffness: what waits for a stress times the strain beside it. Parameters of isotropic media ask for the sums of
// normal stiffnesses and of couplings alone; they wait in the first place of each.
INLINE void add_gradient(const struct Args *a, REAL *to, const REAL *strain, const REAL *s, const struct Cell *c) {
    to += c->at;
    if (a->grouped) {
        REAL normal = 0, all = 0;
        EACH(i) normal = FMA(strain[i], s[i], normal);
        EACH(i) EACH(j) if (i != j) all = FMA(strain[i], s[j], all);
        to[0] += normal;
        to[STRESS(0, 1) * a->g.len] += all;
    } else EACH(i) EACH(j) {
        if (j < i) continue;
        REAL sum = i == j ? strain[i] * s[i] : FMA(strain[i], s[j], strain[j] * s[i]);
        to[STRESS(i, j) * a->g.len] += sum;
    }
    UNROLL for (int k = NDIM; k < STRESSES; k++) to[SHEAR(k) * a->g.len] += strain[k] * s[k];
}

KERNEL(stresses_back)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL s[STRESSES], e[STRESSES], strain[STRESSES], left = left_of(&a.g, &c);
    EACH_STRESS(k) {
        e[k] = 0;
        s[k] = a.stress[k * a.g.len + c.at] * left;
        if (a.stiffness) strain[k] = a.strain[k * a.g.len + c.at];
    }
    if (a.g.sponge[0]) {
        EACH_STRESS(k) a.stress[k * a.g.len + c.at] = s[k];
    }
    add_products(a.g.stiffness, c.at, s, e);
    if (a.stiffness) add_gradient(&a, a.stiffness, strain, s, &c);
#if LOSSY
    REAL weak[STRESSES];
    EACH_STRESS(k) weak[k] = unrelaxed(&a, s[k], k, &c);
    add_products(a.g.relaxing, c.at, weak, e);
    if (a.stiffness) add_gradient(&a, a.weaker, strain, weak, &c);
#endif
    EACH_STRESS(k) a.waits[k * a.g.len + c.at] = e[k];
    EACH(i) EACH(j) unstretch(&a, e[STRESS(i, j)], 1, AXIS(j), i != j, i, &c);
}

KERNEL(velocities_back)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL left = left_of(&a.g, &c);
    EACH(i) {
        WIDE at = i * a.g.len + c.at;
        REAL v = a.velocity[at] * left, g = a.g.buoyancy[i][c.at] * v;
        if (a.g.sponge[0]) a.velocity[at] = v;
        if (a.buoyancy) a.buoyancy[at] = FMA(a.force[at], v, a.buoyancy[at]);
        a.waits[at] = g;
        EACH(j) unstretch(&a, g, 0, AXIS(j), i == j, i, &c);
    }
}

// What waits for the derivative of a component along an axis so many lines further on.
INLINE REAL waits_at(const struct Args *a, const REAL *waits, int component, int axis, const struct Cell *c, int further) {
    WIDE at = place_in_layer(&a->g, axis, component, c, further);
    return at < 0 ? waits[further * a->g.stride[axis]] : a->behind[axis][at];
}

// The transpose of a derivative is the one on the other side with the other sign: of D f(i+1/2) = sum c_m (f(i+m) - f(i+1-m)) it
// is D' g(j) = sum c_m (g(j-m) - g(j+m-1)).
INLINE REAL gathered(const struct Args *a, const REAL *waits, int component, int axis, int ahead, const struct Cell *c) {
    const struct Layer *l = &a->g.layers[axis];
    int line = c->line[axis], first = !ahead;
    if (line - HALF >= l->low && line + HALF < l->high) return -derivative(&a->g, waits, axis, first);
    REAL sum = 0;
    UNROLL for (int m = HALF - 1; m >= 0; m--) {
        REAL plus = waits_at(a, waits, component, axis, c, m + first);
        REAL minus = waits_at(a, waits, component, axis, c, first - 1 - m);
        sum = FMA(a->g.weights[axis][m], minus - plus, sum);
    }
    return sum;
}

// Velocities get what waits for their derivatives.
KERNEL(velocities_gather)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    EACH(i) {
        REAL sum = 0;
        EACH(j) sum += gathered(&a, a.waits + STRESS(i, j) * a.g.len + c.at, i, AXIS(j), i != j, &c);
        a.velocity[i * a.g.len + c.at] += sum;
    }
}

// Stresses get what waits for theirs.
KERNEL(stresses_gather)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    EACH(i) EACH(j) {
        if (j < i) continue;
        REAL sum = gathered(&a, a.waits + i * a.g.len + c.at, i, AXIS(j), i == j, &c);
        if (i != j) sum += gathered(&a, a.waits + j * a.g.len + c.at, j, AXIS(i), 0, &c);
        a.stress[STRESS(i, j) * a.g.len + c.at] += sum;
    }
}
