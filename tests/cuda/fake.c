/* A driver and a compiler that need no GPU: device memory is host memory, work is done when it is enqueued, and a module
   is its own source text. The driver refuses what CUDA refuses: calls without a current context (201), and events and
   launches on a stream of another device (400). Any number of threads may call it. The tests build this file as
   libcuda.so (-DDRIVER), as a library without functions (neither flag) and as libnvrtc.so.13 (-DCOMPILER). Variables
   FAKE_... of the environment set its properties and its errors. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : otherwise;
}

#ifdef DRIVER
typedef unsigned long long address;
typedef struct { address to; unsigned count; float value; } fill;
typedef struct { int recording, used; fill nodes[16]; } record;
typedef struct { int device; record *record; } stream;
typedef struct { int device; } event;
typedef struct { char *text; } module;
typedef struct { char name[64]; int shared; } function;

static __thread int current = -1; /* each thread has its own, as in CUDA */
static _Atomic int fault = 0, live = 0, started = 0, launches = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `taken` and the journal */
static size_t taken[8], used = 0;
static char journal[1 << 22];

/* Called by the tests: the number of objects that have not been freed, and all calls in order. */
int fake_live(void) { return live; }
const char *fake_journal(void) { return journal; }

/* The result of a call: the error of an earlier launch, or that no context is current. */
static int state(void) { return current < 0 ? 201 : fault; }

static int note(const char *what, int a, int b) {
    char line[64];
    size_t more = (size_t)snprintf(line, sizeof line, "%s %d %d\n", what, a, b);
    pthread_mutex_lock(&lock);
    if (used + more >= sizeof journal) fputs("the journal of the fake driver is full\n", stderr), abort();
    memcpy(journal + used, line, more + 1), used += more;
    pthread_mutex_unlock(&lock);
    return state();
}

/* Bytes of a device: FAKE_MEMORY, or the variable for this device, such as FAKE_MEMORY_1, if that is set. */
static size_t memory(int device) {
    char own[32];
    snprintf(own, sizeof own, "FAKE_MEMORY_%d", device);
    return (size_t)setting(own, setting("FAKE_MEMORY", 1 << 20));
}

/* Adds to the bytes in use of a device if there is room. */
static int take(size_t device, size_t n) {
    pthread_mutex_lock(&lock);
    int fits = taken[device] + n <= memory((int)device);
    if (fits) taken[device] += n;
    pthread_mutex_unlock(&lock);
    return fits;
}

static int *capability(int device) {
    static int list[8];
    const char *value = getenv("FAKE_CAPABILITY");
    for (int i = 0; i < 8; i++) {
        list[i] = value && *value ? atoi(value) : i ? list[i - 1] : 90;
        value = value ? strchr(value, ',') : 0;
        if (value) value++;
    }
    return list + device;
}

int cuInit(unsigned flags) { return (void)flags, setting("FAKE_INIT", 0); }
int cuDriverGetVersion(int *v) { return *v = setting("FAKE_DRIVER", 13000), 0; }
int cuDeviceGetCount(int *n) { return *n = setting("FAKE_DEVICES", 2), 0; }
int cuDeviceGet(int *d, int n) { return *d = n, 0; }
int cuDeviceGetName(char *s, int n, int d) { return snprintf(s, n, "Fake %d", d), 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { return *n = memory(d), 0; }
int cuDeviceGetAttribute(int *v, int which, int d) {
    *v = which == 75 ? *capability(d) / 10 : which == 76 ? *capability(d) % 10 : which == 97 ? 100000 : which == 16 ? 7 : 0;
    return 0;
}
int cuGetErrorName(int code, const char **s) {
    *s = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 999 ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR_OTHER";
    return 0;
}
int cuGetErrorString(int code, const char **s) { return (void)code, *s = "as the fake says", 0; }

int cuDevicePrimaryCtxRetain(void **c, int d) { return live++, *c = (void *)(size_t)(d + 1), 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return (void)d, live--, 0; }
int cuCtxSetCurrent(void *c) { return current = (int)(size_t)c - 1, note("bind", current, 0), fault; }
int cuCtxGetStreamPriorityRange(int *low, int *high) { return *low = 0, *high = -5, current < 0 ? 201 : 0; }
int cuDeviceCanAccessPeer(int *can, int d, int p) { return (void)d, (void)p, *can = setting("FAKE_PEERS", 1), setting("FAKE_ACCESS", 0); }
int cuTensorMapEncodeTiled(void) { return 0; }
int cuIpcGetMemHandle(void) { return 801; }
int cuIpcOpenMemHandle_v2(void) { return 801; }
int cuIpcCloseMemHandle(void) { return 801; }
int cuCtxEnablePeerAccess(void *c, unsigned flags) {
    static _Atomic int open[8][8];
    int peer = (int)(size_t)c - 1;
    if (current < 0) return 201;
    return (void)flags, note("peer", current, peer), open[current][peer]++ ? 704 : 0;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
    if (current < 0) return 201;
    pthread_mutex_lock(&lock);
    *total = memory(current), *free = *total - taken[current];
    pthread_mutex_unlock(&lock);
    return fault;
}
int cuMemAlloc_v2(address *p, size_t n) {
    if (current < 0) return 201;
    if (!take(current, n)) return 2;
    size_t *block = malloc(n + 16);
    block[0] = n, block[1] = current, memset(block + 2, 0xAB, n), live++;
    return *p = (address)(size_t)(block + 2), fault;
}
int cuMemFree_v2(address p) {
    size_t *block = (size_t *)(size_t)p - 2;
    if (current < 0) return 201;
    pthread_mutex_lock(&lock);
    taken[block[1]] -= block[0];
    pthread_mutex_unlock(&lock);
    return live--, free(block), 0;
}
int cuMemsetD8_v2(address p, unsigned char c, size_t n) { return memset((void *)(size_t)p, c, n), state(); }
int cuMemsetD8Async(address p, unsigned char c, size_t n, void *s) { return (void)s, cuMemsetD8_v2(p, c, n); }
int cuMemHostAlloc(void **p, size_t n, unsigned flags) {
    return *p = malloc(n), memset(*p, 0xCD, n), live++, note("pin", (int)n, (int)flags);
}
int cuMemFreeHost(void *p) { return current < 0 ? 201 : (live--, free(p), 0); }

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t n, void *s) {
    return (void)s, memcpy((void *)(size_t)to, from, n), note("up", (int)n, current);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t n, void *s) {
    size_t least = setting("FAKE_RAMP", 0); /* in copies of at least so many bytes, numbers become their indices */
    memcpy(to, (void *)(size_t)from, n);
    for (size_t i = 0; least && n >= least && i < n / 4; i++) ((float *)to)[i] = (float)i;
    return (void)s, note("down", (int)n, current);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t n, void *s) {
    return (void)s, memcpy((void *)(size_t)to, (void *)(size_t)from, n), note("inside", (int)n, current);
}
int cuMemcpyPeerAsync(address to, void *there, address from, void *here, size_t n, void *s) {
    memcpy((void *)(size_t)to, (void *)(size_t)from, n);
    return (void)s, note("across", (int)(size_t)here - 1, (int)(size_t)there - 1);
}

int cuStreamCreateWithPriority(stream **s, unsigned flags, int priority) {
    *s = calloc(1, sizeof **s), (*s)->device = current, live++;
    return note("stream", (int)flags, priority);
}
int cuStreamDestroy_v2(stream *s) { return current < 0 ? 201 : (live--, free(s), 0); }
int cuStreamSynchronize(stream *s) { return s && s->record ? 900 : note("sync", current, 0); }
int cuStreamWaitEvent(stream *s, void *e, unsigned flags) { return (void)e, (void)flags, note("wait", s->device, current); }
int cuStreamWriteValue64_v2(stream *s, address to, unsigned long long number, unsigned flags) {
    return (void)flags, *(_Atomic unsigned long long *)(size_t)to = number, note("signal", s->device, current);
}
int cuStreamWaitValue64_v2(stream *s, address at, unsigned long long number, unsigned flags) {
    while (*(_Atomic unsigned long long *)(size_t)at < number) sched_yield();
    return (void)flags, note("await", s->device, current);
}
int cuEventCreate(event **e, unsigned flags) {
    return *e = malloc(sizeof **e), (*e)->device = current, live++, note("event", (int)flags, 0);
}
int cuEventDestroy_v2(event *e) { return current < 0 ? 201 : (live--, free(e), 0); }
int cuEventRecord(event *e, stream *s) { return e->device != s->device ? 400 : note("set", s->device, current); }
int cuEventSynchronize(void *e) { return (void)e, note("reach", current, 0); }

int cuModuleLoadData(module **m, const void *image) {
    if (current < 0) return 201;
    *m = calloc(1, sizeof **m), live++, (*m)->text = strdup(image);
    return strstr(image, "__global__") ? 0 : 200;
}
int cuModuleUnload(module *m) { return current < 0 ? 201 : (live--, free(m->text), free(m), 0); }
int cuModuleGetFunction(function **f, module *m, const char *name) {
    if (!strstr(m->text, name)) return 500;
    *f = calloc(1, sizeof **f), strncpy((*f)->name, name, 63); /* lives as long as the process */
    return 0;
}
int cuFuncGetAttribute(int *v, int which, function *f) { return (void)f, *v = which == 1 ? 1000 : -1, 0; }
int cuFuncSetAttribute(function *f, int which, int v) { return f->shared = v, note("shared", which, v); }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, function *f, int threads, size_t shared) {
    return *n = shared > (size_t)f->shared ? 0 : 2048 / threads, 0;
}
/* Whether the device is lost with this launch. */
static int lost(void) {
    int last = setting("FAKE_LAUNCHES", 0);
    return last && ++started >= last;
}
static void run(fill node) {
    for (unsigned i = 0; i < node.count; i++) ((float *)(size_t)node.to)[i] += node.value;
}
int cuLaunchKernel(function *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned shared,
                   stream *s, void **args, void **extra) {
    (void)b, (void)c, (void)extra;
    if (!x || a > 1024 || shared > (unsigned)f->shared) return 1;
    if (s->device != current) return current < 0 ? 201 : 400;
    if (!strcmp(f->name, "fault")) return fault = s->record ? fault : 700, 0;
    if (!s->record && lost()) return fault = 700;
    if (setting("FAKE_REFUSED", 0) && ++launches == setting("FAKE_REFUSED", 0)) return 701; /* only this launch fails */
    if (y * z > 1) note("grid", (int)y, (int)z);
    /* Kernels of the engine do nothing: fields stay zero. */
    if (strcmp(f->name, "add")) return note("launch", (int)x, (int)a);
    fill node = {*(address *)args[0], *(unsigned *)args[1], *(float *)args[2]};
    if (s->record) s->record->nodes[s->record->used++] = node;
    else run(node);
    return note("launch", (int)x, (int)a);
}

int cuStreamBeginCapture_v2(stream *s, int mode) {
    if (current < 0) return 201;
    return s->record = calloc(1, sizeof(record)), live++, note("record", mode, 0);
}
int cuStreamEndCapture(stream *s, record **g) { return *g = s->record, s->record = 0, setting("FAKE_CAPTURE", 0); }
int cuGraphInstantiateWithFlags(record **e, record *g, unsigned long long flags) {
    return (void)flags, *e = malloc(sizeof **e), **e = *g, live++, 0;
}
int cuGraphUpload(record *e, stream *s) { return (void)e, (void)s, 0; }
int cuGraphLaunch(record *e, stream *s) {
    (void)s;
    if (lost()) return fault = 700;
    for (int i = 0; i < e->used; i++) run(e->nodes[i]);
    return fault = setting("FAKE_GRAPH", 0), 0;
}
int cuGraphDestroy(record *g) { return live--, free(g), 0; }
int cuGraphExecDestroy(record *e) { return live--, free(e), 0; }
#endif

#ifdef COMPILER
typedef struct { char *text; } program;
int nvrtcVersion(int *major, int *minor) { return *major = setting("FAKE_NVRTC", 13), *minor = 0, 0; }
int nvrtcCreateProgram(program **p, const char *text, const char *name, int n, void *a, void *b) {
    (void)name, (void)n, (void)a, (void)b;
    return *p = malloc(sizeof **p), (*p)->text = strdup(text), 0;
}
int nvrtcCompileProgram(program *p, int n, const char **options) {
    FILE *count = getenv("FAKE_COMPILED") ? fopen(getenv("FAKE_COMPILED"), "a") : 0;
    if (count) fputs(options[0], count), fputs("\n", count), fclose(count);
    return (void)n, strstr(p->text, "syntax error") ? 6 : 0;
}
int nvrtcDestroyProgram(program **p) { return free((*p)->text), free(*p), 0; }
int nvrtcGetProgramLogSize(program *p, size_t *n) { return (void)p, *n = 20, 0; }
int nvrtcGetProgramLog(program *p, char *s) { return (void)p, strcpy(s, "the compiler's log\n"), 0; }
int nvrtcGetCUBINSize(program *p, size_t *n) { return *n = strlen(p->text) + 1, 0; }
int nvrtcGetCUBIN(program *p, char *s) { return strcpy(s, p->text), 0; }
#endif
