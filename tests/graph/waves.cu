struct Contribution {
    int node, other;
    REAL stiffness;
};

struct Waves {
    REAL *memory;  // sums of the nodes, then contributions
    const struct Contribution *table;
    const REAL *now;
    REAL *before;
    int first, end, nodes, source;
    REAL strength, dt2;
};

// What edges give to their nodes.
KERNEL(contribute)(const struct Waves a) {
    for (int k = a.first + (int)(blockIdx.x * blockDim.x + threadIdx.x); k < a.end; k += (int)(gridDim.x * blockDim.x)) {
        const struct Contribution c = a.table[k];
        a.memory[a.nodes + k] = c.stiffness * (a.now[c.other] - a.now[c.node]);
    }
}

// The next level takes the place of the last one.
KERNEL(advance)(const struct Waves a) {
    for (int k = (int)(blockIdx.x * blockDim.x + threadIdx.x); k < a.nodes; k += (int)(gridDim.x * blockDim.x)) {
        REAL force = k == a.source ? a.memory[k] + a.strength : a.memory[k];
        a.before[k] = FMA(a.dt2, force, (a.now[k] + a.now[k]) - a.before[k]);
    }
}
