// The free surface in the discretised equations, its linearisation and its transpose, one thread per node;
// born/adjoint_surface.rs has the formulas. Only the thread that computes an image reads it.

// The derivative of a horizontal velocity along its own axis.
INLINE REAL spread_of(const struct Args *a, int i, const struct Cell *c) {
    REAL d[VEC];
    derivative(&a->g, SHOT(a, velocity) + i * a->g.len, c->at, AXIS(i), 0, d);
    return d[0];
}

// Images of a field from the nodes below them.
INLINE void put_images(REAL *at, const REAL (*weights)[3], const REAL *from) {
    UNROLL for (int k = 0; k < HALF; k++) {
        at[-1 - k] = FMA(weights[k][0], from[0], FMA(weights[k][1], from[1], weights[k][2] * from[2]));
    }
}

// The transpose: distributes the adjoint of the images to the nodes below, and sets it to zero.
INLINE void take_images(REAL *at, const REAL (*weights)[3], REAL *to) {
    UNROLL for (int k = 0; k < HALF; k++) {
        REAL image = at[-1 - k];
        UNROLL for (int n = 0; n < 3; n++) to[n] = FMA(weights[k][n], image, to[n]);
        at[-1 - k] = 0;
    }
}

INLINE void velocity_images_of(const struct Args *a, int changed) {
    struct Cell c;
    WIDE number = node_of(a, &c), rows = (WIDE)a->g.rows * a->g.planes;
    if (number < 0) return;
    REAL across = 0;
    for (int i = 1; i < NDIM; i++) {
        WIDE at = (i - 1) * rows + number;
        REAL *v = SHOT(a, velocity) + i * a->g.len + c.at, spread = spread_of(a, i, &c);
        across = FMA(a->surface.ratios[at], spread, across);
        if (changed) across = FMA(SHOT(a, ratios)[at], SHOT(a, upon)[at], across);
        if (!changed && a->upon) SHOT(a, upon)[at] = spread;
        put_images(v, a->surface.horizontal, v);
    }
    REAL *v = SHOT(a, velocity) + c.at, from[3];
    from[0] = v[0], from[1] = v[1], from[2] = -across * a->surface.spacing;
    put_images(v, a->surface.vertical, from);
}

KERNEL(velocity_images)(const struct Args a) { velocity_images_of(&a, 0); }

KERNEL(velocity_images_changed)(const struct Args a) { velocity_images_of(&a, 1); }

INLINE void stress_images_of(const struct Args *a, int changed) {
    struct Cell c;
    WIDE number = node_of(a, &c), rows = (WIDE)a->g.rows * a->g.planes, last = (NDIM - 1) * rows + number;
    if (number < 0) return;
    REAL *zz = SHOT(a, stress) + c.at, left = *zz;
    if (!changed && a->upon) SHOT(a, upon)[last] = left;
    for (int i = 1; i < NDIM; i++) {
        WIDE at = (i - 1) * rows + number;
        REAL *along = SHOT(a, stress) + i * a->g.len + c.at, *shear = SHOT(a, stress) + STRESS(0, i) * a->g.len + c.at;
        REAL put = a->surface.ratios[at] * left;
        if (changed) put = FMA(SHOT(a, ratios)[at], SHOT(a, upon)[last], put);
        *along -= put;
        put_images(shear, a->surface.shear, shear);
    }
    *zz = 0;
    put_images(zz, a->surface.normal, zz + 1);
}

KERNEL(stress_images)(const struct Args a) { stress_images_of(&a, 0); }

KERNEL(stress_images_changed)(const struct Args a) { stress_images_of(&a, 1); }

KERNEL(stress_images_back)(const struct Args a) {
    struct Cell c;
    WIDE number = node_of(&a, &c), rows = (WIDE)a.g.rows * a.g.planes, last = (NDIM - 1) * rows + number;
    if (number < 0) return;
    REAL *zz = SHOT(&a, stress) + c.at, left = 0;
    take_images(zz, a.surface.normal, zz + 1);
    for (int i = 1; i < NDIM; i++) {
        WIDE at = (i - 1) * rows + number;
        REAL *shear = SHOT(&a, stress) + STRESS(0, i) * a.g.len + c.at, adjoint = SHOT(&a, stress)[i * a.g.len + c.at];
        take_images(shear, a.surface.shear, shear);
        left -= a.surface.ratios[at] * adjoint;
        if (a.ratios) SHOT(&a, ratios)[at] -= SHOT(&a, upon)[last] * adjoint;
    }
    *zz = left;
}

// The transpose of the images of velocities, except for the slope of the vertical one, whose adjoint is stored.
KERNEL(velocity_images_back)(const struct Args a) {
    struct Cell c;
    WIDE number = node_of(&a, &c), rows = (WIDE)a.g.rows * a.g.planes;
    if (number < 0) return;
    REAL *v = SHOT(&a, velocity) + c.at, to[3];
    to[0] = v[0], to[1] = v[1], to[2] = 0;
    take_images(v, a.surface.vertical, to);
    v[0] = to[0], v[1] = to[1];
    REAL slope = -to[2] * a.surface.spacing;
    SHOT(&a, surface.slopes)[number] = slope;
    for (int i = 1; i < NDIM; i++) {
        WIDE at = (i - 1) * rows + number;
        v = SHOT(&a, velocity) + i * a.g.len + c.at;
        take_images(v, a.surface.horizontal, v);
        if (a.ratios) SHOT(&a, ratios)[at] = FMA(SHOT(&a, upon)[at], slope, SHOT(&a, ratios)[at]);
    }
}

// Distributes the adjoint of the slope to the horizontal velocities of the neighbours. Nodes that are not computed
// have no slope.
KERNEL(slopes_back)(const struct Args a) {
    struct Cell c;
    WIDE number = node_of(&a, &c), rows = (WIDE)a.g.rows * a.g.planes;
    if (number < 0) return;
    for (int i = 1; i < NDIM; i++) {
        const REAL *q = a.surface.ratios + (i - 1) * rows + number, *slopes = SHOT(&a, surface.slopes) + number;
        WIDE step = rows_of(&a.g, AXIS(i));
        REAL sum = 0;
        UNROLL for (int m = HALF - 1; m >= 0; m--) {
            WIDE behind = -m * step, ahead = (m + 1) * step;
            sum = FMA(a.g.weights[AXIS(i)][m], q[behind] * slopes[behind] - q[ahead] * slopes[ahead], sum);
        }
        SHOT(&a, velocity)[i * a.g.len + c.at] += sum;
    }
}
