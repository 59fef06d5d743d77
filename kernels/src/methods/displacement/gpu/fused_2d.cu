// A whole step of a 2-D grid that does not fill the device, in one launch with low latency: each block computes a
// tile of at most TZ x TX cells (z, plane) at once, including sources and faces. A few more blocks sample the
// receivers from the current level, which does not change during the step. VEC is 1.
//
// The arithmetic is the same as in sweep.cu, faces.cu and survey.cu, in the same order. Macros that the host defines:
// TZ, TX; AHEAD, cells of stress per thread; BLOCKS, the blocks per multiprocessor; DAMPED; SURFACE, which is 0 for
// none, 1 for vacuum and 2 for traction.

struct Small {
    struct Sweep sweep;
    struct Inject inject;
    struct Extract extract;
    int across;  // number of tiles along z
    int tiles;
    int lines;   // number of lines of sources in these planes
};

// First cell of tile k of the tiles that cover begin .. end-1. With a face at the end, the last tile is shifted so that
// it contains all cells of the face; the first tile contains them anyway, because tiles have more cells than two faces
// (tile.rs).
INLINE int tile_start(int k, int begin, int end, int size, int face) {
    const int start = begin + k * size;
    return MIN(start, end - (face && start < end ? FACE : 0));
}

// Finds the line of sources of every plane of the tile, or -1.
INLINE void find_lines(const struct Small *a, int *lines, int first, int last) {
    for (int k = threadIdx.x; k < a->lines; k += blockDim.x) {
        int plane = a->inject.line[a->inject.lines + k].plane;
        if (plane >= first && plane < last) lines[plane - first] = a->inject.lines + k;
    }
}

// The one-way condition on a line of the tile that leads inwards from the face.
INLINE void leave_tile(REAL *next, const REAL *curr, int inwards, int curr_inwards, REAL b) {
    REAL inner = next[(RADIUS + 1) * inwards];
    UNROLL for (int i = RADIUS; i > 0; i--) {
        inner = one_way(curr[i * curr_inwards], curr[(i + 1) * curr_inwards], inner, b);
        next[i * inwards] = inner;
    }
}

#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, BLOCKS)
#define EACH_STRESS UNROLL for (int m = 0, k = thread; m < AHEAD; m++, k += THREADS)
#define EACH_CELL UNROLL for (int m = 0, k = thread; m < CELLS; m++, k += THREADS)

// Each thread computes AHEAD cells of stress and CELLS cells of displacement. All loads from device memory are issued
// before the first value is needed.
INLINE void do_tile(const struct Small *f, REAL *u) {
    const struct Sweep *a = &f->sweep;
    const struct Slab *s = &a->s;
    __shared__ int lines[TX];
    REAL *stress = u + 2 * U_CELLS, *values = stress + 3 * S_CELLS;
    const int thread = threadIdx.x, kz = blockIdx.x % f->across, kp = blockIdx.x / f->across;
    const int high = a->end == s->planes;
    const int tile_z = tile_start(kz, 0, s->nz, TZ, DAMPED), z_end = tile_start(kz + 1, 0, s->nz, TZ, DAMPED);
    const int first = tile_start(kp, a->begin, a->end, TX, DAMPED && high);
    const int last = tile_start(kp + 1, a->begin, a->end, TX, DAMPED && high);
    const REAL *wz = s->weights[0], *wp = s->weights[2], *from = s->level[a->now];
    if (thread < TX) lines[thread] = -1;
    UNROLL for (int k0 = 0; k0 < U_CELLS; k0 += THREADS) {
        int k = k0 + thread;
        if (k < U_CELLS) {
            int q = first - 8 + k / U_Z, y = tile_z - 8 + k % U_Z, there = y >= 0 && y < s->pitch && q < last + 8;
            WIDE at = row_at(s, q, 0) + y;
            u[k] = there ? from[at] : 0, u[U_CELLS + k] = there ? from[s->component + at] : 0;
        }
    }
    struct Stiffness c[AHEAD];
    int live[AHEAD];
    EACH_STRESS {
        int y = tile_z - RADIUS + k % S_Z, q = first - RADIUS + k / S_Z;
        live[m] = k < S_CELLS && y >= 0 && y < s->pitch && is_live(q, s->planes) && q < last + RADIUS;
        if (live[m]) take_stiffness(s->stiffness, medium_at(s, q, 0) + y, c + m);
    }
    REAL *next[CELLS], prev[CELLS][2], b[CELLS], w[CELLS], value[CELLS][2];
    int writes[CELLS], near_face[CELLS];
    EACH_CELL {
        int z = tile_z + k % TZ, p = first + k / TZ;
        writes[m] = k < V_CELLS && z < z_end && p < last, near_face[m] = DAMPED && is_near_face(s, p, 0, z);
        b[m] = 0, w[m] = 1;
        if (writes[m]) {
            next[m] = s->level[1 - a->now] + row_at(s, p, 0) + z;
            prev[m][0] = next[m][0], prev[m][1] = next[m][s->component];
            if (is_live(p, s->planes)) b[m] = s->buoyancy[medium_at(s, p, 0) + z];
#if DAMPED
            w[m] = sponge_at(s, p, 0, z);
#endif
        }
    }
#if DAMPED
    // Assignment of threads to faces: sides of z for (plane, component) of the tile, and sides of planes for (z,
    // component).
    const int z_side = thread / (2 * TX), z_line = thread / 2 % TX, p_side = thread / (2 * TZ), p_line = thread / 2 % TZ;
    const int at_z[2] = {tile_z == 0 && SURFACE == 0, z_end == s->nz}, at_p[2] = {first == 0, last == s->planes};
    const int works_z = z_side < 2 && at_z[z_side & 1] && first + z_line < last;
    const int works_p = p_side < 2 && at_p[p_side & 1] && tile_z + p_line < z_end;
    REAL factor_z = 0, factor_p = 0;
    if (works_z) factor_z = face_factor(s, first + z_line, 0, z_side ? s->nz - 1 : 0, s->spacing[0]);
    if (works_p) factor_p = face_factor(s, p_side ? s->planes - 1 : 0, 0, tile_z + p_line, s->spacing[1]);
#endif
    BLOCK_BARRIER;
    if (f->lines) find_lines(f, lines, first, last);
    EACH_STRESS {
        struct Tensor t;
        set_zero(&t);
        if (live[m]) {
            const struct Cells cell = {u + (k / S_Z + RADIUS) * U_Z + k % S_Z + RADIUS, s->weights};
            const struct StressAxes all = {1, 1, 1};
            stress_of(&cell, c + m, all, tile_z - RADIUS + k % S_Z, s->nb, &t);
        }
        if (k < S_CELLS) stress[k] = t.zz[0], stress[S_CELLS + k] = t.zp[0], stress[2 * S_CELLS + k] = t.pp[0];
    }
    BLOCK_BARRIER;
    EACH_CELL {
        if (!writes[m]) continue;
        const int zl = k % TZ, pl = k / TZ;
        const REAL *zz = stress + (pl + RADIUS) * S_Z + zl + RADIUS, *zp = zz + S_CELLS, *pp = zp + S_CELLS;
        const struct Around around = {zz, zp};
        REAL force[2][1];
        divergence(&around, wz, 0, force);
        force[C_Z][0] += slope(zp, S_Z, wp), force[C_P][0] += slope(pp, S_Z, wp);
        const REAL *curr = u + (pl + 8) * U_Z + zl + 8, fresh = near_face[m] ? 1 : w[m];
        UNROLL for (int i = 0; i < 2; i++) {
            value[m][i] = FMA(force[i][0], b[m], FMA(-w[m], prev[m][i], 2 * curr[i * U_CELLS])) * fresh;
        }
        if (lines[pl] >= 0) inject_cell(&f->inject, f->inject.line + lines[pl], tile_z + zl, value[m]);
    }
#if DAMPED
    if (tile_z == 0 || z_end == s->nz || at_p[0] || at_p[1]) {
        EACH_CELL if (writes[m]) values[k] = value[m][0], values[V_CELLS + k] = value[m][1];
        BLOCK_BARRIER;
        const REAL *curr = u + 8 * U_Z + 8;
        if (works_z) {
            const int i = thread % 2, at = z_side ? z_end - 1 - tile_z : 0, in = z_side ? -1 : 1;
            leave_tile(values + i * V_CELLS + z_line * TZ + at, curr + i * U_CELLS + z_line * U_Z + at, in, in, factor_z);
        }
        BLOCK_BARRIER;
        if (works_p) {
            const int i = thread % 2, at = p_side ? last - 1 - first : 0, in = p_side ? -1 : 1;
            leave_tile(values + i * V_CELLS + at * TZ + p_line, curr + i * U_CELLS + at * U_Z + p_line, in * TZ, in * U_Z,
                       factor_p);
        }
        BLOCK_BARRIER;
        EACH_CELL {
            if (writes[m] && near_face[m]) value[m][0] = values[k] * w[m], value[m][1] = values[V_CELLS + k] * w[m];
        }
    }
#endif
    EACH_CELL if (writes[m]) next[m][0] = value[m][0], next[m][s->component] = value[m][1];
}

KERNEL(sweep)(const struct Small a) {
    DYNAMIC_SHARED(REAL, shared);
    const int tile = blockIdx.x;
    if (tile < a.tiles) do_tile(&a, shared);
    else do_extract(&a.extract, tile - a.tiles);
}
