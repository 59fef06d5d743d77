// Sources, receivers and their transposes, copies, and the search for non-finite values.

// The tables hold the points of all shots that run side by side. The upper bits of an index into the fields are the
// number of its shot.
#define SHOT_BITS 40
#define IN_FIELDS(place) ((place) & (((WIDE)1 << SHOT_BITS) - 1))
#define SHOT_AT(place) ((place) >> SHOT_BITS)

// The cells on which sources act, each with its sources in order.
struct Inject {
    REAL *fields;           // velocities, then stresses
    const WIDE *cell;       // index of each cell in the fields
    const int *first;       // index of the first source of each cell; one entry more than cells
    const int *series;
    const REAL *weight;
    const REAL *strength;   // value of each time series in this step
    const REAL *density;    // rho / (2 dt) on the nodes
    const REAL *changes;    // perturbations of the buoyancy, which scale the forces; may be null
    WIDE len, stride[3], shot;
    int low[3], high[3];    // bounds of the cells that receive anything
    int count;
    REAL sign;              // 1 to add the contributions, -1 to subtract them
};

KERNEL(inject)(const struct Inject a) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.count) return;
    WIDE cell = IN_FIELDS(a.cell[k]), shot = SHOT_AT(a.cell[k]) * a.shot;
    REAL sum = 0;
    for (int i = a.first[k]; i < a.first[k + 1]; i++) sum = FMA(a.weight[i], a.strength[a.series[i]], sum);
    if (a.changes) {
        const REAL *rho = a.density + cell % a.len;
        sum *= (rho[0] + rho[a.stride[AXIS(cell / a.len)]]) * a.changes[shot + cell];
    }
    int at = (int)(cell % a.len), rest = at % (int)a.stride[2], line[3];
    line[0] = rest % (int)a.stride[1], line[1] = rest / (int)a.stride[1], line[2] = at / (int)a.stride[2];
    for (int j = 0; j < 3; j++) if (line[j] < a.low[j] || line[j] >= a.high[j]) return;
    a.fields[shot + cell] += a.sign * sum;
}

// Threads that compute one value of a record together.
#define READERS 8

// The lists of receivers: for each value of a record the cells that it reads, or for each cell the values of a record
// that read it.
struct Lists {
    REAL *fields;          // velocities, then stresses
    const REAL *stresses;  // stresses, with the same indices
    WIDE velocities;       // number of values of the velocities, which precede the stresses
    const int *first;      // index of the first entry of each list; one entry more than lists
    const WIDE *place;     // cells; in the transpose, indices into the record
    const WIDE *cell;      // in the transpose: the cell of a list
    const REAL *weight;
    REAL *record;          // the record of the first shot
    REAL *kept;            // integral, or previous value; null where readings are recorded directly
    const REAL *density;   // rho / (2 dt) on the nodes if adjoint velocities are stored times buoyancy, or null
    const REAL *after;     // velocities after the step
    REAL *gradient;        // sum for the gradient with respect to buoyancy; may be null
    WIDE len, stride[3], shot;
    REAL dt;
    int integral, count;   // 1 if `kept` holds the integral, 0 if it holds the previous value; number of values
    int of_shot;           // number of values of the record of a shot
};

// Offset of a value in the records of all shots, relative to the first value of the first shot.
INLINE WIDE number_of(const struct Lists *a, int k) { return k / a->of_shot * a->shot + k % a->of_shot; }

// READERS threads compute one value of a record.
KERNEL(extract)(const struct Lists a) {
    DYNAMIC_SHARED(REAL, part);
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x) / READERS, reader = threadIdx.x % READERS;
    const int begin = k < a.count ? a.first[k] : 0, end = k < a.count ? a.first[k + 1] : 0;
    REAL sum = 0;
    for (int i = begin + reader; i < end; i += READERS) {
        WIDE place = IN_FIELDS(a.place[i]), shot = SHOT_AT(a.place[i]) * a.shot;
        sum = FMA(a.weight[i], (place < a.velocities ? a.fields : a.stresses)[shot + place], sum);
    }
    part[threadIdx.x] = sum;
    BLOCK_BARRIER;
    if (reader > 0 || k >= a.count) return;
    UNROLL for (int i = 1; i < READERS; i++) sum += part[threadIdx.x + i];
    if (a.kept && a.integral) {
        REAL *kept = a.kept + number_of(&a, k);
        sum = *kept = FMA(a.dt, sum, *kept);
    } else if (a.kept) {
        REAL *kept = a.kept + number_of(&a, k), before = *kept;
        *kept = sum;
        sum = (sum - before) / a.dt;
    }
    a.record[number_of(&a, k)] = sum;
}

// The adjoint of the readings of a step, from the adjoint of its record, in place.
KERNEL(readings_back)(const struct Lists a) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.count) return;
    WIDE number = number_of(&a, k);
    REAL adjoint = a.record[number], *kept = a.kept + number;
    if (a.integral) {
        *kept += adjoint;
        adjoint = a.dt * *kept;
    } else {
        // A reading contributes to its own record, and with the opposite sign to the next one.
        REAL next = *kept;
        *kept = adjoint / a.dt;
        adjoint = adjoint / a.dt - next;
    }
    a.record[number] = adjoint;
}

KERNEL(spread)(const struct Lists a) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.count) return;
    WIDE cell = IN_FIELDS(a.cell[k]), at = SHOT_AT(a.cell[k]) * a.shot + cell;
    // The values of the cell are read before the list, so that the latencies overlap.
    REAL field = a.fields[at], sum = 0, factor = 1, after = 0, gradient = 0;
    if (a.density) {
        const REAL *rho = a.density + cell % a.len;
        if (a.gradient) after = a.after[at], gradient = a.gradient[at];
        factor = inverse(rho[0] + rho[a.stride[AXIS(cell / a.len)]]);
    }
    for (int i = a.first[k]; i < a.first[k + 1]; i++) {
        WIDE place = a.place[i];
        sum = FMA(a.weight[i], a.record[SHOT_AT(place) * a.shot + IN_FIELDS(place)], sum);
    }
    if (a.density && a.gradient) a.gradient[at] = FMA(after, sum, gradient);
    a.fields[at] = FMA(sum, factor, field);
}

// Numbers of each shot; the blocks of the shots follow each other along y.
struct Walk {
    REAL *to;
    const REAL *from;   // the numbers to copy; null for zeros
    int *non_finite;
    WIDE count, shot;
};

KERNEL(copy)(const struct Walk a) {
    REAL *to = a.to + blockIdx.y * a.shot;
    const REAL *from = a.from ? a.from + blockIdx.y * a.shot : a.from;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        to[k] = from ? from[k] : 0;
    }
}

// Pieces of memory of this device and of its neighbours; blocks with the same index along y copy one piece.
#define PIECES 16

struct Pieces {
    REAL *to[PIECES];
    const REAL *from[PIECES];
    WIDE count[PIECES];
};

KERNEL(copy_pieces)(const struct Pieces a) {
    REAL *to = a.to[blockIdx.y];
    const REAL *from = a.from[blockIdx.y];
    WIDE count = a.count[blockIdx.y], first = (WIDE)blockIdx.x * blockDim.x + threadIdx.x, step = (WIDE)gridDim.x * blockDim.x;
    // Four numbers are copied at a time if both addresses are aligned.
    WIDE fours = ((size_t)to | (size_t)from) % sizeof(float4) ? 0 : count / 4;
    for (WIDE k = first; k < fours; k += step) ((float4 *)to)[k] = ((const float4 *)from)[k];
    for (WIDE k = 4 * fours + first; k < count; k += step) to[k] = from[k];
}

KERNEL(look)(const struct Walk a) {
    const REAL *from = a.from + blockIdx.y * a.shot;
    REAL sum = 0;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        sum += from[k] * 0;
    }
    if (sum != 0 || sum != sum) *a.non_finite = 1;
}

#define SWEEPERS 16

// Sets velocities outside the computed cells to zero, in memory that has not been written yet. SWEEPERS threads share
// a row.
KERNEL(clear)(const struct Args a) {
    int number = (int)((blockIdx.x * blockDim.x + threadIdx.x) / SWEEPERS), row = number % a.g.rows, plane = number / a.g.rows;
    if (plane >= a.g.planes) return;
    int live = row >= a.g.begin[1] && row < a.g.begin[1] + a.g.count[1] && plane >= a.g.begin[2] && plane < a.g.begin[2] + a.g.count[2];
    for (int z = threadIdx.x % SWEEPERS; z < (int)a.g.stride[1]; z += SWEEPERS) {
        if (live && z >= a.g.begin[0] && z < a.g.begin[0] + a.g.count[0]) continue;
        EACH(i) SHOT(&a, velocity)[i * a.g.len + number * a.g.stride[1] + z] = 0;
    }
}
