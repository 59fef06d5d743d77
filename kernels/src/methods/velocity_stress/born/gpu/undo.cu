// Undoes a step, where no energy is lost: s <- s - c e, then v <- v - b S_j s_ij; born/boundary.rs explains where.
// The contributions of sources are subtracted separately.

KERNEL(stresses_undo)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL s[STRESSES][VEC], k[MODULI][VEC], d[VEC], e[STRESSES][VEC], rate[STRESSES][VEC];
    prefetch_fields(&a.g, SHOT(&a, run_stress), STRESSES, &c);
    stiffness_at(&a.g, a.g.stiffness, c.at, k);
    EACH_STRESS(n) EACH_VEC e[n][v] = rate[n][v] = 0;
    EACH(i) EACH(j) {
        derivative(&a.g, SHOT(&a, after) + i * a.g.len, c.at, AXIS(j), i != j, d);
        EACH_VEC e[STRESS(i, j)][v] += d[v];
    }
    add_products(k, e, rate);
    EACH_STRESS(n) {
        load(SHOT(&a, run_stress) + n * a.g.len + c.at, s[n]);
        EACH_VEC s[n][v] -= rate[n][v];
        put(&c, SHOT(&a, run_stress) + n * a.g.len + c.at, s[n]);
    }
}

KERNEL(velocities_undo)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL d[VEC], sum[NDIM][VEC], now[NDIM][VEC], b[NDIM][VEC];
    buoyancy_at(&a.g, c.at, b);
    EACH(i) {
        EACH_VEC sum[i][v] = 0;
        EACH(j) {
            derivative(&a.g, SHOT(&a, run_stress) + STRESS(i, j) * a.g.len, c.at, AXIS(j), i == j, d);
            EACH_VEC sum[i][v] += d[v];
        }
    }
    EACH(i) {
        load(SHOT(&a, after) + i * a.g.len + c.at, now[i]);
        EACH_VEC now[i][v] -= b[i][v] * sum[i][v];
        put(&c, SHOT(&a, run_velocity) + i * a.g.len + c.at, now[i]);
    }
}
