"""What programs may do to the recorder without meaning harm: it costs nothing, and all loss is counted."""
import box
import preload

BURST = 200_000  # far more than the writer takes at one time

# A burst of launches by one thread, and the exit right behind it; for a driver that does nothing: they come
# faster than anybody could write them.
BURST_SOURCE = f"""
#include <cuda.h>
#undef cuCtxCreate_v2
CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
int main(void) {{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuModuleLoadData(&module, "an image")) return 1;
    if (cuModuleGetFunction(&function, module, "burst")) return 2;
    for (int i = 0; i < {BURST}; ++i)
        if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)) return 3;
    return 0;
}}
"""

# A thread that launches, and a signal handler that does so as well, in the middle of it, on a stack of its
# own that lies above the thread's, so that its calls look like later ones. For a driver that does nothing,
# because the box's, like a real one, does not let itself be called from within itself.
SIGNALS_SOURCE = f"""
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#undef cuCtxCreate_v2
CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
#define STACK (1 << 18)
static CUfunction function;
static char* stacks;
static volatile int signals;
static void launch(int signal) {{
    signals += signal != 0;
    if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)) abort();
}}
static void* work(void* nothing) {{
    const stack_t own = {{.ss_sp = stacks + STACK, .ss_size = STACK}};
    const struct itimerval often = {{{{0, 50}}, {{0, 50}}}}, never = {{{{0, 0}}, {{0, 0}}}};
    struct sigaction action = {{.sa_handler = launch, .sa_flags = SA_ONSTACK | SA_RESTART}};
    if (sigaltstack(&own, 0) || sigaction(SIGALRM, &action, 0)) abort();
    setitimer(ITIMER_REAL, &often, 0);
    int launches = 0;
    for (; signals < 5000; ++launches) launch(0);
    setitimer(ITIMER_REAL, &never, 0);
    printf("%d\\n", launches);
    return nothing;
}}
int main(void) {{
    CUcontext context;
    CUmodule module;
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t alarm;
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuModuleLoadData(&module, "an image")) return 1;
    if (cuModuleGetFunction(&function, module, "launched")) return 2;
    stacks = mmap(0, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks, STACK);
    pthread_create(&thread, &attributes, work, 0);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, 0);
    return pthread_join(thread, 0);
}}
"""

# Threads, each with a ring of its own, when the process may no longer have files of any size.
THREADS = 12
SMALL_FILES_SOURCE = f"""
#include "one_gpu.h"
#include <pthread.h>
#include <sys/resource.h>
static CUdeviceptr memory;
static pthread_barrier_t all;
static void* copy(void* nothing) {{
    char here[64] = {{0}};
    MUST(cuCtxSetCurrent(context));
    for (int i = 0; i < 100; ++i) MUST(cuMemcpyHtoD(memory, here, sizeof here));
    pthread_barrier_wait(&all);
    return nothing;
}}
int main(void) {{
    const struct rlimit small = {{16384, 16384}};
    pthread_t thread[{THREADS}];
    open_gpu();
    MUST(cuMemAlloc(&memory, 4096));
    if (setrlimit(RLIMIT_FSIZE, &small)) return 2;
    pthread_barrier_init(&all, 0, {THREADS});
    for (int i = 0; i < {THREADS}; ++i) pthread_create(&thread[i], 0, copy, 0);
    for (int i = 0; i < {THREADS}; ++i) pthread_join(thread[i], 0);
    return puts("done"), 0;
}}
"""

# Contexts of two devices in turns, each with a kernel of its own.
CONTEXTS = 6
CONTEXTS_SOURCE = f"""
#include "one_gpu.h"
int main(void) {{
    CUcontext made[{CONTEXTS}];
    MUST(cuInit(0));
    for (int i = 0; i < {CONTEXTS}; ++i) MUST(cuCtxCreate(&made[i], 0, 0, i % 2));
    for (int i = 0; i < {CONTEXTS}; ++i) {{
        char name[32];
        snprintf(name, sizeof name, "context%d__1us", i);
        MUST(cuCtxSetCurrent(made[i]));
        MUST(cuModuleLoadData(&module, "an image"));
        launch_one(kernel_of(name), 0);
        MUST(cuCtxSynchronize());
    }}
    return 0;
}}
"""

# Threads that launch for so many microseconds, then nobody does any more: the writer has hardly begun.
KILLED_SOURCE = """
#include "one_gpu.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static CUfunction function;
static void* launch(void* nothing) {
    MUST(cuCtxSetCurrent(context));
    for (;;) launch_one(function, 0);
    return nothing;
}
int main(int count, char** words) {
    pthread_t thread;
    open_gpu();
    function = kernel_of("killed__0us");
    for (int i = 0; i < 4; ++i) pthread_create(&thread, 0, launch, 0);
    usleep((useconds_t)atoi(words[1]));
    return kill(getpid(), SIGKILL);
}
"""

# Threads that hand streams to each other, end them and make others instead; every launch has its own name.
ROUNDS = 4000
STREAMS_SOURCE = f"""
#include "one_gpu.h"
#include <pthread.h>
enum {{ kThreads = 6, kPlaces = 16 }};
static struct {{ pthread_mutex_t lock; CUstream stream; }} places[kPlaces];
static void* launch(void* number) {{
    unsigned random = (unsigned)(size_t)number + 1;
    MUST(cuCtxSetCurrent(context));
    for (int i = 0; i < {ROUNDS}; ++i) {{
        CUmodule image;
        CUfunction function;
        char name[32];
        random = random * 1103515245 + 12345;
        const int place = (int)(random >> 16) % kPlaces;
        snprintf(name, sizeof name, "k%zu_%d__0us", (size_t)number, i);
        MUST(cuModuleLoadData(&image, "an image"));
        MUST(cuModuleGetFunction(&function, image, name));
        pthread_mutex_lock(&places[place].lock);
        CUstream* stream = &places[place].stream;
        if (*stream == 0) *stream = new_stream();
        launch_one(function, *stream);
        if (random >> 30 == 0) {{
            MUST(cuStreamDestroy(*stream));
            *stream = 0;
        }}
        pthread_mutex_unlock(&places[place].lock);
        MUST(cuCtxSynchronize());
        MUST(cuModuleUnload(image));
    }}
    return 0;
}}
int main(void) {{
    pthread_t thread[kThreads];
    open_gpu();
    for (int i = 0; i < kPlaces; ++i) pthread_mutex_init(&places[i].lock, 0);
    for (size_t i = 0; i < kThreads; ++i) pthread_create(&thread[i], 0, launch, (void*)i);
    for (int i = 0; i < kThreads; ++i) pthread_join(thread[i], 0);
    return 0;
}}
"""


class Attacks(preload.PreloadCase):
    def test_a_burst_right_before_the_exit(self):
        program = preload.compiled(BURST_SOURCE, self.folder / "burst")
        self.traced([program], LD_LIBRARY_PATH=box.BUILD / "bench" / "null")
        # On a busy machine the exit may be over before the writer is.
        self.recover()
        terms = preload.ledger(self.the_trace())
        self.assertEqual(preload.launches(self.the_trace()).get("burst", 0) + terms["dropped"], BURST, terms)
        self.assertEqual((terms["unfinished"], terms["unknown"]), (0, 0), terms)

    def test_a_handler_on_a_stack_of_its_own(self):
        """What it calls in the middle of a call passes through; nothing else goes astray."""
        program = preload.compiled(SIGNALS_SOURCE, self.folder / "signals", "-pthread")
        done = self.traced([program], LD_LIBRARY_PATH=box.BUILD / "bench" / "null")
        self.recover()
        terms = preload.ledger(self.the_trace())
        found = preload.launches(self.the_trace()).get("launched", 0) + terms["dropped"]
        self.assertGreaterEqual(found, int(done.stdout), terms)
        self.assertEqual((terms["unfinished"], terms["unknown"]), (0, 0), terms)

    def test_a_limit_of_file_sizes_sends_no_signal(self):
        """The kernel ends a process that makes a larger file; a ring is one, and it is not the program's."""
        program = preload.compiled(SMALL_FILES_SOURCE, self.folder / "small_files")
        done = self.traced([program], stderr=None, **preload.QUICK)
        self.assertEqual(done.stdout, "done\n")
        self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_contexts_made_one_after_the_other_keep_their_devices(self):
        program = preload.compiled(CONTEXTS_SOURCE, self.folder / "contexts")
        truth = self.folder / "truth"
        self.traced([program], GPUSIM_DEVICES=2, GPUSIM_TRUTH=truth, **preload.QUICK)
        devices = {row.name: row.device for row in box.read_truth(truth) if row.op == "kernel"}
        self.assertEqual(len(devices), CONTEXTS, devices)
        found = preload.query(self.the_trace(), "SELECT kernel, device_id FROM v_launch")
        self.assertEqual(dict(found), devices)

    def test_times_after_a_kill_that_left_the_writer_no_time(self):
        """Of a process that read its clocks once, the pace of its clock is still known."""
        program = preload.compiled(KILLED_SOURCE, self.folder / "killed")
        for delay_us in range(0, 3000, 300):
            folder = self.folder / str(delay_us)
            folder.mkdir()
            box.run([program, delay_us], {**preload.variables(folder), **preload.QUICK})
            traces = list(folder.glob("trace.*.db"))
            box.run([preload.ANALYZER, "report", *traces], sim=False)
            with self.subTest(delay_us=delay_us):
                spread = "SELECT count(*), max(enter_ns) - min(enter_ns) FROM launch WHERE dur_ns NOT NULL"
                rows, span_ns = preload.query(traces[0], spread)[0]
                # Each took a hundred nanoseconds: they cannot have come one nanosecond after the other.
                self.assertTrue(rows < 100 or span_ns > 10 * rows, (rows, span_ns))

    def test_streams_and_functions_of_each_other_where_the_writer_is_late(self):
        program = preload.compiled(STREAMS_SOURCE, self.folder / "streams")
        truth = self.folder / "truth"
        self.traced([program], GPUSIM_TRUTH=truth, GPUSIM_LATENCY_NS=0, **preload.QUICK)
        self.recover()
        streams = {row.name: row.stream for row in box.read_truth(truth) if row.op == "kernel"}
        rows = preload.query(self.the_trace(), "SELECT kernel, stream_id FROM v_launch")
        self.assertEqual(sorted(name or "" for name, _ in rows), sorted(streams))
        pairs = {(stream_id, streams[name]) for name, stream_id in rows}
        self.assertEqual(len(pairs), len({stream_id for stream_id, _ in pairs}))
        self.assertEqual(len(pairs), len({stream for _, stream in pairs}))
