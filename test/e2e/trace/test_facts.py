"""What a trace knows of each kind of call: memory, shapes of copies and launches, polls, graphs, pools."""

import box
import preload

PROGRAM = r"""
#include "one_gpu.h"
#include <cudaProfiler.h>
#include <string.h>
enum { MIB = 1 << 20 };
static CUstream stream;
static CUfunction function;
static void launch(CUstream to) { launch_one(function, to); }
int main(void) {
    open_gpu();
    stream = new_stream();
    function = kernel_of(FUNCTION);
    BODY
    MUST(cuCtxSynchronize());
    return 0;
}
"""

COPIES = r"""
    CUdeviceptr device, other, managed;
    void* pinned;
    char* pageable = malloc(64 * 1024);
    char* registered = aligned_alloc(4096, 64 * 1024);
    memset(pageable, 1, 64 * 1024);
    MUST(cuMemAlloc(&device, 64 * 1024));
    MUST(cuMemAlloc(&other, 64 * 1024));
    MUST(cuMemAllocManaged(&managed, 64 * 1024, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocHost(&pinned, 64 * 1024));
    MUST(cuMemHostRegister(registered, 64 * 1024, 0));
    MUST(cuMemcpyHtoD(device, pageable, 1001));
    MUST(cuMemcpyHtoDAsync(device, pinned, 1002, stream));
    MUST(cuMemcpyHtoDAsync(device, registered + 100, 1003, stream));
    MUST(cuMemcpyDtoH(pageable, device, 1004));
    MUST(cuMemcpyDtoHAsync(pinned, device, 1005, stream));
    MUST(cuMemcpyDtoD(other, device, 1006));
    MUST(cuMemcpy(device, managed, 1007));
    MUST(cuMemcpyAsync((CUdeviceptr)pinned, device, 1008, stream));
    MUST(cuMemHostUnregister(registered));
    MUST(cuMemcpyHtoD(device, registered, 1009));
    CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 100,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = 128,
                          .WidthInBytes = 91, .Height = 11};
    MUST(cuMemcpy2D(&flat));
"""
EXPECTED_COPIES = [
    (1001, "h2d", "pageable", "device", 1), (1002, "h2d", "pinned", "device", 0),
    (1003, "h2d", "pinned", "device", 0), (1004, "d2h", "device", "pageable", 1),
    (1005, "d2h", "device", "pinned", 0), (1006, "d2d", "device", "device", 1),
    (1007, None, "managed", "device", 1), (1008, "d2h", "device", "pinned", 0),
    (1009, "h2d", "pageable", "device", 1), (1001, "h2d", "pageable", "device", 1),
]

SHAPES = r"""
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    cluster.value.clusterDim.x = 2;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    CUlaunchConfig config = {.gridDimX = 8, .gridDimY = 2, .gridDimZ = 3, .blockDimX = 64, .blockDimY = 2,
                             .blockDimZ = 4, .sharedMemBytes = 2048, .hStream = stream, .attrs = &cluster,
                             .numAttrs = 1};
    MUST(cuLaunchKernel(function, 70000, 65535, 40000, 1024, 1, 1, 40000, stream, 0, 0));
    MUST(cuLaunchKernelEx(&config, function, 0, 0));
    MUST(cuLaunchCooperativeKernel(function, 4, 1, 1, 128, 1, 1, 0, stream, 0));
    if (cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, stream, 0, 0) == CUDA_SUCCESS) return 2;
"""

POLLS = r"""
    CUevent event;
    int asked = 0;
    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    launch(stream);
    MUST(cuEventRecord(event, stream));
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) ++asked;
    printf("%d ", asked + 1);
    launch(stream);
    MUST(cuEventRecord(event, stream));
    for (asked = 1; cuEventQuery(event) == CUDA_ERROR_NOT_READY; ++asked) {}
    printf("%d\n", asked);
"""

MEMORY = r"""
    CUdeviceptr a, b, c, pooled;
    MUST(cuMemAlloc(&a, 10 * MIB));
    MUST(cuMemAlloc(&b, 20 * MIB));
    MUST(cuMemFree(a));
    MUST(cuMemAlloc(&c, 5 * MIB));
    MUST(cuMemAllocAsync(&pooled, 3 * MIB, stream));
    MUST(cuMemFreeAsync(pooled, stream));
    MUST(cuMemFree(b));
"""

GRAPHS = r"""
    CUdeviceptr data;
    CUgraph graph;
    CUgraphExec exec;
    MUST(cuMemAlloc(&data, 4096));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; ++i) launch(stream);
    MUST(cuMemsetD8Async(data, 1, 4096, stream));
    MUST(cuMemcpyDtoDAsync(data + 2048, data, 1024, stream));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 4; ++i) MUST(cuGraphLaunch(exec, stream));
    launch(stream);
"""

PROFILED = r"""
    launch(stream);
    MUST(cuProfilerStart());
    launch(stream);
    MUST(cuProfilerStop());
"""


class Facts(preload.PreloadCase):
    def trace_of(self, body, kernel="kernel__10us", **knobs):
        source = PROGRAM.replace("BODY", body).replace("FUNCTION", f'"{kernel}"')
        program = preload.compiled(source, self.folder / "program", "-Wno-deprecated-declarations")
        truth = self.folder / "truth"
        self.done = self.traced([program], GPUSIM_CLOCK="stepped", GPUSIM_TRUTH=truth, **knobs)
        self.assert_nothing_lost(self.the_trace())
        return self.the_trace()

    def test_memory_on_both_sides_of_copies(self):
        trace = self.trace_of(COPIES)
        rows = preload.query(trace, "SELECT bytes, kind, source, target, blocking FROM v_copy"
                                    " ORDER BY enter_ns")
        for found, expected in zip(rows, EXPECTED_COPIES):
            if expected[1] is None:  # managed memory may be on either side
                found, expected = (found[0], *found[2:]), (expected[0], *expected[2:])
            self.assertEqual(found, expected)
        self.assertEqual(len(rows), len(EXPECTED_COPIES))

    def test_shapes_of_launches(self):
        trace = self.trace_of(SHAPES)
        rows = preload.query(trace, """
            SELECT failed, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, cluster_x,
                attributes
            FROM v_launch ORDER BY enter_ns""")
        cooperative = 1 << 2
        cluster = 1 << 4
        self.assertEqual(rows[:3], [(0, 70000, 65535, 40000, 1024, 1, 1, 40000, None, None),
                                    (0, 8, 2, 3, 64, 2, 4, 2048, 2, cluster),
                                    (0, 4, 1, 1, 128, 1, 1, 0, None, cooperative)])
        self.assertEqual([failed for failed, *_ in rows[3:]], [1])
        self.assertEqual(preload.launches(trace), {"kernel__10us": 3})

    def test_polls_are_one_row_and_all_counted(self):
        trace = self.trace_of(POLLS, kernel="kernel__500us")
        of_stream, of_event = map(int, self.done.stdout.split())
        self.assertGreater(of_stream, 100)
        rows = preload.query(trace, "SELECT api, sum(calls), count(*), target_kind FROM v_sync"
                                    " WHERE api LIKE '%Query' GROUP BY api")
        calls = {api: (calls, kind) for api, calls, _, kind in rows}
        self.assertEqual(calls, {"cuStreamQuery": (of_stream, "stream"), "cuEventQuery": (of_event, "event")})
        self.assertEqual([count <= 3 for _, _, count, _ in rows], [True, True], rows)

    def test_memory_that_was_held(self):
        trace = self.trace_of(MEMORY)
        mib = 1 << 20
        peaks = dict(preload.query(trace, "SELECT kind, peak_bytes FROM v_memory_peak"))
        self.assertEqual(peaks["device"], 30 * mib)
        changes = preload.query(trace, "SELECT bytes FROM v_memory WHERE kind = 'device' ORDER BY enter_ns")
        self.assertEqual([change // mib for change, in changes], [10, 20, -10, 5, 3, -3, -20])

    def test_graphs(self):
        trace = self.trace_of(GRAPHS)
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM v_launch WHERE captured"), [(3,)])
        self.assertEqual(preload.launches(trace), {"kernel__10us": 1})
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM v_copy WHERE captured"), [(1,)])
        self.assertEqual(preload.query(trace, "SELECT kernels, copies, memsets FROM v_graph"), [(3, 1, 1)])
        launched = preload.query(trace, "SELECT enter_ns, exit_ns FROM v_graph_launch ORDER BY 1")
        self.assertEqual(len(launched), 4)
        truth = [o for o in box.read_truth(self.folder / "truth") if o.op == "kernel"]
        self.assertEqual(len(truth), 13)
        self.assertEqual(sorted({(o.call_enter_ns, o.call_exit_ns) for o in truth[:12]}), launched)

    def test_profiler_ranges(self):
        trace = self.trace_of(PROFILED)
        kinds = preload.query(trace, """
            SELECT 'launch', enter_ns FROM launch UNION ALL SELECT kind, enter_ns FROM marker ORDER BY 2""")
        self.assertEqual([kind for kind, _ in kinds], ["launch", "profiler_start", "launch", "profiler_stop"])
