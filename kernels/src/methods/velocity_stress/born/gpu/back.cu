// The transpose of a step; born/transpose.rs has the equations. Every number is what waits for the number of the same place.
// What waits for a derivative is the same for all derivatives of a stress or velocity, save in the layers, where it lies beside.
// What waits for derivatives of stresses (stage 0) and of velocities (stage 1) lies in two places, so that a thread may bring to its
// cell what waits for the one and leave there what waits for the other. It reads all that its cell needs before it writes.

// The transpose of the stretched derivatives in the layers: p = psi + g, psi <- b p, and g / kappa + a p waits for D. Of stage 0
// `g` waits for a component, of stage 1 for a strain.
INLINE void unstretch(const struct Args *a, int stage, const struct Places *p, const struct Cell *c, const REAL *g) {
    if (!p->any) return;
    EACH(j) {
        if (p->at[j] < 0) continue;
        const struct Layer *l = &a->g.layers[AXIS(j)];
        REAL *memory = a->memory[stage][AXIS(j)] + p->at[j], *behind = a->behind[stage][AXIS(j)] + p->at[j], psi[NDIM];
        EACH(i) psi[i] = memory[i * l->component];
        EACH(i) {
            const REAL *f = factors_of(l, c->line[AXIS(j)], (i == j) != stage);
            REAL waits = g[stage ? STRESS(i, j) : i], sum = psi[i] + waits;
            behind[i * l->component] = FMA(READ(f), waits, READ(f + l->lines) * sum);
            memory[i * l->component] = READ(f + 2 * l->lines) * sum;
        }
    }
}

// Where what waits for the derivative of component `i` along AXIS(j) lies among fields.
INLINE const REAL *waits_of(const struct Args *a, int stage, int i, int j) {
    return a->waits[stage] + (stage ? STRESS(i, j) : i) * a->g.len;
}

// What waits for the derivatives of a stage comes back to a cell, d[i][j] to component `i` from those along AXIS(j). The transpose of a
// derivative is the one on the other side with the other sign: of D f(i+1/2) = sum c_m (f(i+m) - f(i+1-m)) it is
// D' g(j) = sum c_m (g(j-m) - g(j+m-1)).
INLINE void gather(const struct Args *a, int stage, const struct Cell *c, REAL (*d)[NDIM]) {
    REAL near[NDIM][NDIM][2 * HALF];
    EACH(j) {
        const struct Layer *l = &a->g.layers[AXIS(j)];
        int line = c->line[AXIS(j)], stride = stride_of(&a->g, AXIS(j));
        if (line - HALF >= l->low && line + HALF < l->high) {
            EACH(i) {
                const REAL *from = waits_of(a, stage, i, j);
                int first = (i == j) == stage;
                UNROLL for (int m = 0; m < 2 * HALF; m++) near[i][j][m] = READ(from + (c->at + (m + first - HALF) * stride));
            }
        } else {
            const int start = start_in_layer(&a->g, AXIS(j), c);
            UNROLL for (int k = 0; k <= 2 * HALF; k++) {
                int other = line + k - HALF, framed = is_framed(l, other);
                int at = framed ? start + number_in_layer(l, other) * stride : c->at + (k - HALF) * stride;
                EACH(i) {
                    int first = (i == j) == stage;
                    if (k < first || k >= 2 * HALF + first) continue;
                    const REAL *beside = a->behind[stage][AXIS(j)] + i * l->component;
                    near[i][j][k - first] = READ((framed ? beside : waits_of(a, stage, i, j)) + at);
                }
            }
        }
    }
    EACH(i) EACH(j) {
        d[i][j] = 0;
        UNROLL for (int m = HALF - 1; m >= 0; m--) {
            d[i][j] = FMA(a->g.weights[AXIS(j)][m], near[i][j][HALF - 1 - m] - near[i][j][HALF + m], d[i][j]);
        }
    }
}

#if LOSSY
// What waits for the rates of what relaxes, and for the memory before the step.
INLINE REAL unrelaxed(const struct Args *a, REAL s, int k, const struct Cell *c) {
    REAL weak = 0, half = (REAL)0.5 * s;
    for (int m = 0; m < a->g.mechanisms; m++) {
        const REAL *pattern = pattern_of(&a->g, m, c);
        REAL *r = a->relaxing + (m * STRESSES + k) * a->g.len + c->at, next = *r + half;
        weak -= READ(pattern + PERIOD) * next;
        *r = FMA(READ(pattern), next, half);
    }
    return weak;
}
#endif

// Whether something waits for a stiffness. Parameters of isotropic media ask for the sums of normal stiffnesses and of couplings
// alone; they wait in the first place of each.
INLINE int is_waited_for(const struct Args *a, int place) {
    return !a->grouped || place == 0 || place == STRESS(0, 1) || place >= SHEAR(NDIM);
}

INLINE void load_gradient(const struct Args *a, const REAL *from, const struct Cell *c, REAL *sum) {
    UNROLL for (int k = 0; k < PLACES; k++) sum[k] = is_waited_for(a, k) ? from[k * a->g.len + c->at] : 0;
}

// Adds what waits for the stiffness: what waits for a stress times the strain beside it.
INLINE void add_gradient(const struct Args *a, REAL *to, const REAL *strain, const REAL *s, const struct Cell *c, REAL *sum) {
    if (a->grouped) {
        REAL normal = 0, all = 0;
        EACH(i) normal = FMA(strain[i], s[i], normal);
        EACH(i) EACH(j) if (i != j) all = FMA(strain[i], s[j], all);
        sum[0] += normal;
        sum[STRESS(0, 1)] += all;
    } else EACH(i) EACH(j) {
        if (j < i) continue;
        sum[STRESS(i, j)] += i == j ? strain[i] * s[i] : FMA(strain[i], s[j], strain[j] * s[i]);
    }
    UNROLL for (int k = NDIM; k < STRESSES; k++) sum[SHEAR(k)] += strain[k] * s[k];
    UNROLL for (int k = 0; k < PLACES; k++) {
        if (is_waited_for(a, k)) to[k * a->g.len + c->at] = sum[k];
    }
}

// Rates of strain of the run in a step, from the velocities and the memory of the layers that it left.
INLINE void strains_of(const struct Args *a, const struct Places *p, const struct Cell *c, REAL *e) {
    REAL d[NDIM][NDIM];
    EACH(i) EACH(j) d[i][j] = derivative(&a->g, a->after + i * a->g.len, c->at, AXIS(j), i != j);
    if (p->any) {
        EACH(j) {
            if (p->at[j] < 0) continue;
            const struct Layer *l = &a->g.layers[AXIS(j)];
            const REAL *psi = a->psi[AXIS(j)] + p->at[j];
            EACH(i) {
                const REAL *f = factors_of(l, c->line[AXIS(j)], i != j);
                d[i][j] = FMA(READ(f), d[i][j], READ(psi + i * l->component));
            }
        }
    }
    EACH_STRESS(k) e[k] = 0;
    EACH(i) EACH(j) e[STRESS(i, j)] += d[i][j];
}

// What stresses get from velocities of the step that comes next in time, if `gathered`, and what waits for strains of this step.
INLINE void stresses_back_of(const struct Args *a, int gathered) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    foresee(&a->g, (const REAL *const *)a->memory[1], &p);
    if (a->stiffness) foresee(&a->g, a->psi, &p);
    REAL s[STRESSES], k[PLACES], e[STRESSES], strain[STRESSES], sum[PLACES], left = left_of(&a->g, &c);
    EACH_STRESS(n) s[n] = a->stress[n * a->g.len + c.at];
    stiffness_at(a->g.stiffness, c.at, k);
    if (a->stiffness) {
        load_gradient(a, a->stiffness, &c, sum);
        strains_of(a, &p, &c, strain);
    }
    if (gathered) {
        REAL d[NDIM][NDIM];
        gather(a, 0, &c, d);
        EACH(i) EACH(j) if (i <= j) s[STRESS(i, j)] += i == j ? d[i][i] : d[i][j] + d[j][i];
    }
    EACH_STRESS(n) {
        e[n] = 0;
        s[n] *= left;
        if (gathered || a->g.sponge[0]) a->stress[n * a->g.len + c.at] = s[n];
    }
    add_products(k, s, e);
    if (a->stiffness) add_gradient(a, a->stiffness, strain, s, &c, sum);
#if LOSSY
    REAL weak[STRESSES];
    stiffness_at(a->g.relaxing, c.at, k);
    if (a->stiffness) load_gradient(a, a->weaker, &c, sum);
    EACH_STRESS(n) weak[n] = unrelaxed(a, s[n], n, &c);
    add_products(k, weak, e);
    if (a->stiffness) add_gradient(a, a->weaker, strain, weak, &c, sum);
#endif
    EACH_STRESS(n) a->waits[1][n * a->g.len + c.at] = e[n];
    unstretch(a, 1, &p, &c, e);
}

KERNEL(stresses_back)(const struct Args a) { stresses_back_of(&a, 0); }

KERNEL(stresses_gather_back)(const struct Args a) { stresses_back_of(&a, 1); }

// What velocities get from stresses of the step, if `gathered`, and what waits for forces. A step adds to velocities buoyancy times
// what waits beside it for buoyancy, forces of sources included, so that what is added up here is buoyancy times too large.
INLINE void velocities_back_of(const struct Args *a, int gathered) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    foresee(&a->g, (const REAL *const *)a->memory[0], &p);
    REAL v[NDIM], b[NDIM], before[NDIM], after[NDIM], sum[NDIM], g[NDIM], left = left_of(&a->g, &c);
    EACH(i) {
        WIDE at = i * a->g.len + c.at;
        v[i] = a->velocity[at];
        b[i] = READ(a->g.buoyancy[i] + c.at);
        if (a->buoyancy) before[i] = READ(a->before + at), after[i] = READ(a->after + at), sum[i] = a->buoyancy[at];
    }
    if (gathered) {
        REAL d[NDIM][NDIM];
        gather(a, 1, &c, d);
        EACH(i) {
            REAL all = 0;
            EACH(j) all += d[i][j];
            v[i] += all;
        }
    }
    EACH(i) {
        WIDE at = i * a->g.len + c.at;
        if (a->buoyancy) a->buoyancy[at] = FMA(FMA(-left, before[i], after[i]), v[i], sum[i]);
        v[i] *= left;
        g[i] = b[i] * v[i];
        if (gathered || a->g.sponge[0]) a->velocity[at] = v[i];
        a->waits[0][at] = g[i];
    }
    unstretch(a, 0, &p, &c, g);
}

KERNEL(velocities_back)(const struct Args a) { velocities_back_of(&a, 0); }

KERNEL(velocities_gather_back)(const struct Args a) { velocities_back_of(&a, 1); }

// Velocities get what waits for their derivatives.
KERNEL(velocities_gather)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL v[NDIM], d[NDIM][NDIM];
    EACH(i) v[i] = a.velocity[i * a.g.len + c.at];
    gather(&a, 1, &c, d);
    EACH(i) {
        REAL sum = 0;
        EACH(j) sum += d[i][j];
        a.velocity[i * a.g.len + c.at] = v[i] + sum;
    }
}

// Stresses get what waits for theirs.
KERNEL(stresses_gather)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL s[STRESSES], d[NDIM][NDIM];
    EACH_STRESS(k) s[k] = a.stress[k * a.g.len + c.at];
    gather(&a, 0, &c, d);
    EACH(i) EACH(j) if (i <= j) s[STRESS(i, j)] += i == j ? d[i][i] : d[i][j] + d[j][i];
    EACH_STRESS(k) a.stress[k * a.g.len + c.at] = s[k];
}

// What waits for buoyancy, from what was added up.
KERNEL(buoyancies_back)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    EACH(i) a.buoyancy[i * a.g.len + c.at] /= a.g.buoyancy[i][c.at];
}

// Adds what a step has of the correlation of both pressures, born/imaging.rs.
KERNEL(correlate)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    const struct Places p = places_of(&a.g, &c);
    REAL later = a.later[c.at], e = 0, strain[STRESSES];
    strains_of(&a, &p, &c, strain);
    EACH(i) {
        EACH(j) later = FMA(a.g.stiffness[STRESS(i, j)][c.at], a.stress[j * a.g.len + c.at], later);
        e += strain[i];
    }
    a.later[c.at] = later;
    a.image[c.at] = FMA(e, later, a.image[c.at]);
}
