// Sources, receivers, snapshots and the search for values that are not finite.

KERNEL(inject)(const struct Inject a) {
    const struct Line *line = a.line + a.lines + blockIdx.x;
    for (int z = line->z_begin + threadIdx.x; z < line->z_end; z += blockDim.x) {
        REAL *next = a.s.level[1 - a.now] + row_at(&a.s, line->plane, line->row) + z, value[NDIM];
        UNROLL for (int c = 0; c < NDIM; c++) value[c] = next[c * a.s.component];
        inject_cell(&a, line, z, value);
        UNROLL for (int c = 0; c < NDIM; c++) next[c * a.s.component] = value[c];
    }
}

KERNEL(extract)(const struct Extract a) { do_extract(&a, blockIdx.x); }

struct Pack {
    struct Slab s;
    int now, component;
    int potentials;            // 1 for divergence and curl, 0 for displacement
    int begin, end;            // the planes to pack
    int z_begin, z_count, row_begin, row_count;
    REAL *out;                 // [plane][row][z] of the window
};

KERNEL(pack)(const struct Pack a) {
    const WIDE count = (WIDE)(a.end - a.begin) * a.row_count * a.z_count;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (WIDE)gridDim.x * blockDim.x) {
        int z = k % a.z_count, row = k / a.z_count % a.row_count, plane = k / a.z_count / a.row_count;
        a.out[k] = sample(&a.s, a.s.level[a.now], a.potentials, a.component, a.begin + plane, a.row_begin + row, a.z_begin + z);
    }
}

struct Look {
    struct Slab s;
    int now;
    unsigned long long *first_non_finite;  // smallest index of a cell, [plane][row][z] of the padded grid
};

KERNEL(look)(const struct Look a) {
    const struct Slab *s = &a.s;
    const WIDE plane_len = (WIDE)s->rows * s->pitch, count = s->own * plane_len;
    const REAL *level = s->level[a.now] + GHOST * plane_len;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (WIDE)gridDim.x * blockDim.x) {
        REAL sum = 0;
        UNROLL for (int c = 0; c < NDIM; c++) sum += level[c * s->component + k] * 0;
        if (sum != 0 || sum != sum) atomicMin(a.first_non_finite, (unsigned long long)(s->first * plane_len + k));
    }
}

// Adds the steps of a graph to the clock.
struct Tick {
    int *clock;
    int steps;
};

KERNEL(tick)(const struct Tick a) { *a.clock += a.steps; }
