// What is kept of the velocities of a step around the part of a grid in which waves run backwards. Threads walk along boxes.

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

// The largest magnitude of velocities, whose bits as a whole number `rate` has.
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
