// Saves and restores the velocities of a step outside the part of a grid in which they are reconstructed. Consecutive
// threads take consecutive cells of the boxes.

KERNEL(keep_boundary)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    EACH(i) {
        REAL now[VEC];
        fetch(SHOT(&a, run_velocity) + i * a.g.len + c.at, now);
        store(SHOT(&a, boundary) + i * a.boundary_len + c.number, now);
    }
}

KERNEL(restore_boundary)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    EACH(i) {
        REAL now[VEC];
        fetch(SHOT(&a, boundary) + i * a.boundary_len + c.number, now);
        put(&c, SHOT(&a, run_velocity) + i * a.g.len + c.at, now);
    }
}

// The largest magnitude of the velocities; `rate` stores it as the bits of an integer.
KERNEL(largest)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL most = 0;
    EACH(i) EACH_VEC if (v < c.count) {
        REAL size = fabsf(SHOT(&a, run_velocity)[i * a.g.len + c.at + v]);
        most = MAX(most, size);
    }
    if (most > 0) atomicMax((int *)a.rate, __float_as_int(most));
}
