// The transpose of a step; born/adjoint_rows.rs has the equations. Every variable is the adjoint of the one in the
// same place. The adjoint of a derivative is the same for all derivatives of a stress or velocity, except in the
// layers, where it is stored separately. The adjoint derivatives of stresses (stage 0) and of velocities (stage 1)
// are stored in two places, so that a thread may gather the one into its cell and write the other. It reads all data
// of its cell before it writes.

// The transpose of the stretched derivatives in the layers: p = psi + g, psi <- b p, and g / kappa + a p is the adjoint
// of D. In stage 0 `g` is the adjoint of a component, in stage 1 the adjoint of a strain.
INLINE void unstretch(const struct Args *a, int stage, const struct Places *p, const struct Cell *c, REAL (*g)[VEC]) {
    if (!p->any) return;
    EACH(j) {
        if (p->at[j] < 0) continue;
        const struct Layer *l = &a->g.layers[AXIS(j)];
        REAL *memory = SHOT(a, memory[stage][AXIS(j)]), *behind = SHOT(a, behind[stage][AXIS(j)]);
        if (j == 0) {
            EACH_VEC {
                int at = place_along(&a->g, p, c, v);
                if (at < 0) continue;
                REAL psi[NDIM];
                EACH(i) psi[i] = memory[i * l->component + at];
                EACH(i) {
                    const REAL *f = factors_of(l, c->line[0] + v, (i == 0) != stage);
                    REAL adjoint = g[stage ? STRESS(i, 0) : i][v], sum = psi[i] + adjoint;
                    behind[i * l->component + at] = FMA(READ(f), adjoint, READ(f + l->lines) * sum);
                    memory[i * l->component + at] = READ(f + 2 * l->lines) * sum;
                }
            }
            continue;
        }
        REAL psi[NDIM][VEC];
        EACH(i) load(memory + i * l->component + p->at[j], psi[i]);
        EACH(i) {
            const REAL *f = factors_of(l, c->line[AXIS(j)], (i == j) != stage), *adjoint = g[stage ? STRESS(i, j) : i];
            REAL kappa = READ(f), take = READ(f + l->lines), keep = READ(f + 2 * l->lines), other[VEC];
            EACH_VEC {
                REAL sum = psi[i][v] + adjoint[v];
                other[v] = FMA(kappa, adjoint[v], take * sum);
                psi[i][v] = keep * sum;
            }
            put(c, behind + i * l->component + p->at[j], other);
            put(c, memory + i * l->component + p->at[j], psi[i]);
        }
    }
}

// The address of the adjoint of the derivative of component `i` along AXIS(j) among the fields.
INLINE const REAL *adjoint_of(const struct Args *a, int stage, int i, int j) {
    return SHOT(a, derivatives[stage]) + (stage ? STRESS(i, j) : i) * a->g.len;
}

// The contributions of the adjoint derivatives along z to cells.
INLINE void gather_along(const struct Args *a, int stage, const struct Cell *c, REAL (*d)[NDIM][VEC]) {
    const struct Layer *l = &a->g.layers[0];
    const int line = c->line[0];
    REAL near[NDIM][VEC + 2 * AROUND];
    if (line - AROUND >= l->low && line + VEC + AROUND <= l->high) {
        EACH(i) UNROLL for (int k = 0; k < VEC + 2 * AROUND; k += VEC) {
            fetch(adjoint_of(a, stage, i, 0) + (c->at + k - AROUND), near[i] + k);
        }
    } else {
        const int start = start_in_layer(&a->g, 0, c);
        UNROLL for (int k = 0; k < VEC + 2 * AROUND; k++) {
            int other = line + k - AROUND, framed = is_framed(l, other);
            int at = framed ? start + number_in_layer(l, other) : c->at + k - AROUND;
            EACH(i) near[i][k] = READ((framed ? SHOT(a, behind[stage][0]) + i * l->component : adjoint_of(a, stage, i, 0)) + at);
        }
    }
    EACH(i) {
        const int first = (i == 0) == stage;
        EACH_VEC d[i][0][v] = 0;
        UNROLL for (int m = HALF - 1; m >= 0; m--) EACH_VEC {
            REAL behind = near[i][AROUND + v + first - 1 - m], ahead = near[i][AROUND + v + first + m];
            d[i][0][v] = FMA(a->g.weights[0][m], behind - ahead, d[i][0][v]);
        }
    }
}

// The contributions of the adjoint derivatives of a stage to cells: component `i` receives d[i][j] from the derivatives
// along AXIS(j). The transpose of a derivative is the derivative on the other side with the opposite sign: for D
// f(i+1/2) = sum c_m (f(i+m) - f(i+1-m)) it is D' g(j) = sum c_m (g(j-m) - g(j+m-1)).
INLINE void gather(const struct Args *a, int stage, const struct Cell *c, REAL (*d)[NDIM][VEC]) {
    REAL near[NDIM][NDIM][2 * HALF][VEC];
    int inside = 1;
    for (int j = 1; j < NDIM; j++) {
        const struct Layer *l = &a->g.layers[AXIS(j)];
        inside &= c->line[AXIS(j)] - HALF >= l->low && c->line[AXIS(j)] + HALF < l->high;
    }
    gather_along(a, stage, c, d);
    EACH(j) {
        if (j == 0) continue;
        const struct Layer *l = &a->g.layers[AXIS(j)];
        const int line = c->line[AXIS(j)], stride = stride_of(&a->g, AXIS(j));
        if (inside) {
            EACH(i) UNROLL for (int m = 0; m < 2 * HALF; m++) {
                const int first = (i == j) == stage;
                fetch(adjoint_of(a, stage, i, j) + (c->at + (m + first - HALF) * stride), near[i][j][m]);
            }
            continue;
        }
        const int start = start_in_layer(&a->g, AXIS(j), c);
        UNROLL for (int k = 0; k <= 2 * HALF; k++) {
            int other = line + k - HALF, framed = is_framed(l, other);
            int at = framed ? start + number_in_layer(l, other) * stride : c->at + (k - HALF) * stride;
            EACH(i) {
                const int first = (i == j) == stage;
                if (k < first || k >= 2 * HALF + first) continue;
                const REAL *beside = SHOT(a, behind[stage][AXIS(j)]) + i * l->component;
                fetch((framed ? beside : adjoint_of(a, stage, i, j)) + at, near[i][j][k - first]);
            }
        }
    }
    EACH(i) EACH(j) {
        if (j == 0) continue;
        EACH_VEC d[i][j][v] = 0;
        UNROLL for (int m = HALF - 1; m >= 0; m--) EACH_VEC {
            REAL along = near[i][j][HALF - 1 - m][v] - near[i][j][HALF + m][v];
            d[i][j][v] = FMA(a->g.weights[AXIS(j)][m], along, d[i][j][v]);
        }
    }
}

// The contributions of the derivatives of velocities to adjoint stresses.
INLINE void gather_stresses(const struct Args *a, const struct Cell *c, REAL (*got)[VEC]) {
    REAL d[NDIM][NDIM][VEC];
    gather(a, 0, c, d);
    EACH(i) EACH(j) EACH_VEC if (i <= j) got[STRESS(i, j)][v] = i == j ? d[i][i][v] : d[i][j][v] + d[j][i][v];
}

// The contributions of the derivatives of stresses to adjoint velocities.
INLINE void gather_velocities(const struct Args *a, const struct Cell *c, REAL (*got)[VEC]) {
    REAL d[NDIM][NDIM][VEC];
    gather(a, 1, c, d);
    EACH(i) {
        EACH_VEC got[i][v] = 0;
        EACH(j) EACH_VEC got[i][v] += d[i][j][v];
    }
}

#if LOSSY
// The adjoint of the relaxing rates, and of the memory variables before the step.
INLINE void unrelax(const struct Args *a, const REAL *s, int k, const struct Cell *c, REAL *weak) {
    EACH_VEC weak[v] = 0;
    for (int m = 0; m < a->g.mechanisms; m++) {
        const REAL *pattern = pattern_of(&a->g, m, c);
        REAL *r = SHOT(a, relaxing) + (m * STRESSES + k) * a->g.len + c->at, keep[VEC], take[VEC], next[VEC];
        load(r, next);
        fetch(pattern, keep);
        fetch(pattern + PERIOD, take);
        EACH_VEC {
            REAL half = (REAL)0.5 * s[v];
            next[v] += half;
            weak[v] -= take[v] * next[v];
            next[v] = FMA(keep[v], next[v], half);
        }
        put(c, r, next);
    }
}
#endif

// Whether the gradient with respect to a stiffness is summed. For parameters of isotropic media, only the sums over all
// normal stiffnesses and over all couplings are needed; they are stored in the first place of each.
INLINE int is_summed(const struct Args *a, int place) {
    return !a->grouped || place == 0 || place == STRESS(0, 1) || place >= SHEAR(NDIM);
}

INLINE void prefetch_gradient(const struct Args *a, const REAL *from, const struct Cell *c) {
    UNROLL for (int k = 0; k < PLACES; k++) if (is_summed(a, k)) prefetch(from + k * a->g.len + c->at);
}

INLINE void load_gradient(const struct Args *a, const REAL *from, const struct Cell *c, REAL (*sum)[VEC]) {
    UNROLL for (int k = 0; k < PLACES; k++) {
        if (is_summed(a, k)) load(from + k * a->g.len + c->at, sum[k]);
    }
}

// Adds to the gradient with respect to the stiffness: the adjoint of a stress times the strain that the stiffness
// multiplies.
INLINE void add_gradient(const struct Args *a, REAL *to, REAL (*e)[VEC], REAL (*s)[VEC], const struct Cell *c, REAL (*sum)[VEC]) {
    if (a->grouped) EACH_VEC {
        REAL normal = 0, all = 0;
        EACH(i) normal = FMA(e[i][v], s[i][v], normal);
        EACH(i) EACH(j) if (i != j) all = FMA(e[i][v], s[j][v], all);
        sum[0][v] += normal;
        sum[STRESS(0, 1)][v] += all;
    } else EACH(i) EACH(j) EACH_VEC {
        if (j < i) continue;
        sum[STRESS(i, j)][v] += i == j ? e[i][v] * s[i][v] : FMA(e[i][v], s[j][v], e[j][v] * s[i][v]);
    }
    UNROLL for (int k = NDIM; k < STRESSES; k++) EACH_VEC sum[SHEAR(k)][v] += e[k][v] * s[k][v];
    UNROLL for (int k = 0; k < PLACES; k++) {
        if (is_summed(a, k)) put(c, to + k * a->g.len + c->at, sum[k]);
    }
}

// Strain rates of the run in a step, from its velocities and the memory variables of the layers after it.
INLINE void strains_of(const struct Args *a, const struct Places *p, const struct Cell *c, REAL (*e)[VEC]) {
    REAL d[NDIM][NDIM][VEC];
    EACH(i) EACH(j) derivative(&a->g, SHOT(a, after) + i * a->g.len, c->at, AXIS(j), i != j, d[i][j]);
    if (p->any) {
        EACH(j) {
            if (p->at[j] < 0) continue;
            const struct Layer *l = &a->g.layers[AXIS(j)];
            EACH(i) {
                const REAL *psi = SHOT(a, psi[AXIS(j)]) + i * l->component, *f = factors_of(l, c->line[AXIS(j)], i != j);
                if (j == 0) EACH_VEC {
                    int at = place_along(&a->g, p, c, v);
                    if (at >= 0) d[i][0][v] = FMA(READ(f + v), d[i][0][v], READ(psi + at));
                } else {
                    REAL kept[VEC];
                    fetch(psi + p->at[j], kept);
                    EACH_VEC d[i][j][v] = FMA(READ(f), d[i][j][v], kept[v]);
                }
            }
        }
    }
    EACH_STRESS(k) EACH_VEC e[k][v] = 0;
    EACH(i) EACH(j) EACH_VEC e[STRESS(i, j)][v] += d[i][j][v];
}

// Adds the contributions of the velocities of the following time step to the adjoint stresses, if `gathered`, and
// computes the adjoint strains of this step.
INLINE void stresses_back_of(const struct Args *a, int gathered) {
    struct Cell c;
    if (!cell_of(a, &c)) return;
    const struct Places p = places_of(&a->g, &c);
    prefetch_layers(a, (const REAL *const *)a->memory[1], &p, &c);
    if (a->stiffness) prefetch_layers(a, a->psi, &p, &c);
    REAL s[STRESSES][VEC], k[MODULI][VEC], e[STRESSES][VEC], strain[STRESSES][VEC], sum[PLACES][VEC], got[STRESSES][VEC], left[VEC];
    prefetch_fields(&a->g, SHOT(a, stress), STRESSES, &c);
    prefetch_stiffness(&a->g, &c);
    left_of(&a->g, &c, left);
    if (a->stiffness) {
        prefetch_gradient(a, SHOT(a, stiffness), &c);
        strains_of(a, &p, &c, strain);
    }
    if (gathered) gather_stresses(a, &c, got);
    EACH_STRESS(n) load(SHOT(a, stress) + n * a->g.len + c.at, s[n]);
    stiffness_at(&a->g, a->g.stiffness, c.at, k);
    if (a->stiffness) load_gradient(a, SHOT(a, stiffness), &c, sum);
    EACH_STRESS(n) {
        EACH_VEC {
            e[n][v] = 0;
            if (gathered) s[n][v] += got[n][v];
            s[n][v] *= left[v];
        }
        if (gathered || a->g.sponge[0]) put(&c, SHOT(a, stress) + n * a->g.len + c.at, s[n]);
    }
    add_products(k, s, e);
    if (a->stiffness) add_gradient(a, SHOT(a, stiffness), strain, s, &c, sum);
#if LOSSY
    REAL weak[STRESSES][VEC];
    stiffness_at(&a->g, a->g.relaxing, c.at, k);
    if (a->stiffness) load_gradient(a, SHOT(a, weaker), &c, sum);
    EACH_STRESS(n) unrelax(a, s[n], n, &c, weak[n]);
    add_products(k, weak, e);
    if (a->stiffness) add_gradient(a, SHOT(a, weaker), strain, weak, &c, sum);
#endif
    EACH_STRESS(n) put(&c, SHOT(a, derivatives[1]) + n * a->g.len + c.at, e[n]);
    unstretch(a, 1, &p, &c, e);
}

KERNEL(stresses_back)(const struct Args a) { stresses_back_of(&a, 0); }

KERNEL(stresses_gather_back)(const struct Args a) { stresses_back_of(&a, 1); }

// The adjoint forces with a free surface, whose images are treated between the gather and this kernel. The increment
// of the velocities is buoyancy times the factor of buoyancy, including the forces of sources, so the sum is too
// large by the factor buoyancy.
KERNEL(velocities_back)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    const struct Places p = places_of(&a.g, &c);
    prefetch_layers(&a, (const REAL *const *)a.memory[0], &p, &c);
    REAL now[NDIM][VEC], b[NDIM][VEC], before[NDIM][VEC], after[NDIM][VEC], sum[NDIM][VEC], left[VEC];
    left_of(&a.g, &c, left);
    buoyancy_at(&a.g, c.at, b);
    EACH(i) {
        WIDE at = i * a.g.len + c.at;
        load(SHOT(&a, velocity) + at, now[i]);
        if (a.buoyancy) fetch(SHOT(&a, before) + at, before[i]), fetch(SHOT(&a, after) + at, after[i]), load(SHOT(&a, buoyancy) + at, sum[i]);
    }
    EACH(i) {
        WIDE at = i * a.g.len + c.at;
        if (a.buoyancy) {
            EACH_VEC sum[i][v] = FMA(FMA(-left[v], before[i][v], after[i][v]), now[i][v], sum[i][v]);
            put(&c, SHOT(&a, buoyancy) + at, sum[i]);
        }
        EACH_VEC {
            now[i][v] *= left[v];
            b[i][v] *= now[i][v];
        }
        if (a.g.sponge[0]) put(&c, SHOT(&a, velocity) + at, now[i]);
        put(&c, SHOT(&a, derivatives[0]) + at, b[i]);
    }
    unstretch(&a, 0, &p, &c, b);
}

// Without a surface, the adjoint velocities are stored times buoyancy, as adjoint forces. The gradient with respect to
// buoyancy is summed by parts: w(n) = left w(n+1) + got(n) is the adjoint of v(n), so the sum of (v(n) - left v(n-1))
// w(n) over the steps of a run that begins and ends at rest equals that of v(n) got(n).
KERNEL(velocities_gather_back)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    const struct Places p = places_of(&a.g, &c);
    prefetch_layers(&a, (const REAL *const *)a.memory[0], &p, &c);
    REAL force[NDIM][VEC], b[NDIM][VEC], got[NDIM][VEC], after[NDIM][VEC], sum[NDIM][VEC], left[VEC];
    prefetch_fields(&a.g, SHOT(&a, velocity), NDIM, &c);
    prefetch_density(&a.g, &c);
    if (a.buoyancy) {
        prefetch_fields(&a.g, SHOT(&a, after), NDIM, &c);
        prefetch_fields(&a.g, SHOT(&a, buoyancy), NDIM, &c);
    }
    left_of(&a.g, &c, left);
    gather_velocities(&a, &c, got);
    buoyancy_at(&a.g, c.at, b);
    EACH(i) {
        WIDE at = i * a.g.len + c.at;
        load(SHOT(&a, velocity) + at, force[i]);
        if (a.buoyancy) fetch(SHOT(&a, after) + at, after[i]), load(SHOT(&a, buoyancy) + at, sum[i]);
    }
    EACH(i) {
        WIDE at = i * a.g.len + c.at;
        if (a.buoyancy) {
            EACH_VEC sum[i][v] = FMA(after[i][v], got[i][v], sum[i][v]);
            put(&c, SHOT(&a, buoyancy) + at, sum[i]);
        }
        EACH_VEC force[i][v] = FMA(b[i][v], got[i][v], force[i][v]) * left[v];
        put(&c, SHOT(&a, velocity) + at, force[i]);
    }
    unstretch(&a, 0, &p, &c, force);
}

// Adds contributions to fields.
INLINE void add_to(const struct Args *a, REAL *fields, int count, REAL (*got)[VEC], const struct Cell *c) {
    UNROLL for (int k = 0; k < count; k++) {
        REAL now[VEC];
        load(fields + k * a->g.len + c->at, now);
        EACH_VEC now[v] += got[k][v];
        put(c, fields + k * a->g.len + c->at, now);
    }
}

// Adds the contributions of the adjoint derivatives to velocities.
KERNEL(velocities_gather)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL got[NDIM][VEC];
    prefetch_fields(&a.g, SHOT(&a, velocity), NDIM, &c);
    gather_velocities(&a, &c, got);
    add_to(&a, SHOT(&a, velocity), NDIM, got, &c);
}

// Adds the contributions of the adjoint derivatives to stresses.
KERNEL(stresses_gather)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL got[STRESSES][VEC];
    prefetch_fields(&a.g, SHOT(&a, stress), STRESSES, &c);
    gather_stresses(&a, &c, got);
    add_to(&a, SHOT(&a, stress), STRESSES, got, &c);
}

// Turns the sum into the gradient with respect to buoyancy.
KERNEL(buoyancies_back)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL sum[NDIM][VEC];
    sums_between(&a.g, a.g.density, c.at, sum);
    EACH(i) EACH_VEC if (v < c.count) SHOT(&a, buoyancy)[i * a.g.len + c.at + v] *= sum[i][v];
}

// The factors of the image of pressures in a step (born/imaging.rs): the normal strain rate of the run, and the
// adjoint pressure summed over the steps so far; in `middle` with half of this step, at the time of the rate.
KERNEL(pressures)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    const struct Places p = places_of(&a.g, &c);
    REAL strain[STRESSES][VEC];
    strains_of(&a, &p, &c, strain);
    EACH_VEC {
        int at = c.at + v;
        if (v >= c.count) continue;
        REAL pressure = 0, e = 0;
        EACH(i) {
            pressure = FMA(stiffness_of_all(&a.g, i, at), SHOT(&a, stress)[i * a.g.len + at], pressure);
            e += strain[i][v];
        }
        REAL later = SHOT(&a, later)[at];
        SHOT(&a, middle)[at] = FMA((REAL)0.5, pressure, later);
        SHOT(&a, later)[at] = later + pressure;
        SHOT(&a, rate)[at] = e;
    }
}
