// Two blocks that share halos of stress (CLUSTER 2, float32, VEC 2; compute capability 9.0 and later). They follow each other
// along rows, and what a block computes in the four rows next to the other block is that block's halo. It writes these rows to the
// other's shared memory, too, so that nobody computes them twice; only the first block computes the halo before its rows, and
// only the second one the halo after its rows.
//
// Both blocks walk along the same planes and have the same barriers. For a buffer of stress:
//   FULL   counts the stress threads of its own block and the bytes that the other block pushes: its first thread says how many,
//          before it arrives. The bytes may come earlier, for the phase cannot end while a thread is missing.
//   EMPTY  counts the force threads of its own block and one arrival of each force warp of the other block.
// Stress threads wait for their own EMPTY before they write a buffer and push to the other block's buffer of the same number, so
// neither is overwritten before it has been read; and a push always falls into the phase of its plane, for the force threads that
// arrive at EMPTY have seen the end of the phase before.

#define SHARES (CLUSTER > 1)

#if SHARES
#define PUSHED (3 * RADIUS * TZ * (int)sizeof(REAL))  // bytes of rr, rp and zr

// Where a place in this block's shared memory lies in that of the other block.
INLINE unsigned address_there(const void *here) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(SHARED_ADDRESS(here)), "r"(1 - RANK));
    return there;
}

// All threads of both blocks meet; those of a warp that took different ways do so before.
INLINE void cluster_barrier(void) {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

INLINE void arrive_there(ARRIVAL *here) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address_there(here)) : "memory");
}

// What a stress thread knows of the other block.
struct Push {
    int wanted;                // whether its cells are in the halo there
    unsigned stress, arrival;  // the first buffer and its barrier
    int s_at, t_at;            // where its cells lie in planes of zr and of rr and rp
};

INLINE struct Push push_of(struct Mine m, const REAL *stress, const ARRIVAL *full) {
    struct Push push;
    const int row = RANK == 0 ? m.rl - TX : m.rl + TX;
    push.wanted = m.core && row >= -RADIUS && row < TX + RADIUS;
    push.stress = address_there(stress), push.arrival = address_there(full);
    push.s_at = (row + RADIUS) * S_PITCH + m.zl + RADIUS, push.t_at = (row + RADIUS) * TZ + m.zl;
    return push;
}

INLINE void push_pair(unsigned to, unsigned arrival, const REAL *from) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "f"(from[0]), "f"(from[1]), "r"(arrival)
                 : "memory");
}

// The stress of a thread's cells to buffer `b` of the other block; buffers are `size` numbers apart.
INLINE void push_stress(const struct Push *push, int b, int size, const struct Tensor *s) {
    if (!push->wanted) return;
    const unsigned to = push->stress + b * size * (int)sizeof(REAL), arrival = push->arrival + b * (int)sizeof(ARRIVAL);
    push_pair(to + (S_RR + push->t_at) * (int)sizeof(REAL), arrival, s->rr);
    push_pair(to + (S_RP + push->t_at) * (int)sizeof(REAL), arrival, s->rp);
    push_pair(to + (S_ZR + push->s_at) * (int)sizeof(REAL), arrival, s->zr);
}
#endif
