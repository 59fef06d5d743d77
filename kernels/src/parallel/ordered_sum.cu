// Adds up contributions of several subdomains in a fixed order, for any method (OrderedSum in parallel/halo.rs).

struct Sums {
    REAL *memory;         // the exchanged memory, in which all positions count
    const int *targets;   // positions of the sums
    const int *starts;    // indices of the first term of each sum; one more entry than targets
    const int *terms;     // positions of the terms
    WIDE count;           // number of sums
};

// Each thread adds the terms of a sum from left to right.
KERNEL(ordered_sum)(const struct Sums a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        REAL sum = 0;
        for (int t = a.starts[k]; t < a.starts[k + 1]; t++) sum += a.memory[a.terms[t]];
        a.memory[a.targets[k]] = sum;
    }
}
