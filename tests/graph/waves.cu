struct Contribution {
    int place, node, other;
    REAL stiffness;
};

struct Waves {
    REAL *memory;  // sums of the nodes, then contributions
    const struct Contribution *table;
    const REAL *now;
    REAL *before;
    int first, end, source;
    REAL strength, dt2;
};

#define EACH(k) for (int k = a.first + (int)(blockIdx.x * blockDim.x + threadIdx.x); k < a.end; k += (int)(gridDim.x * blockDim.x))

// The contributions of edges to their nodes.
KERNEL(contribute)(const struct Waves a) {
    EACH(k) a.memory[a.table[k].place] = a.table[k].stiffness * (a.now[a.table[k].other] - a.now[a.table[k].node]);
}

// The values of the next step replace the values of the previous step.
KERNEL(advance)(const struct Waves a) {
    EACH(k) a.before[k] = FMA(a.dt2, k == a.source ? a.memory[k] + a.strength : a.memory[k], (a.now[k] + a.now[k]) - a.before[k]);
}
