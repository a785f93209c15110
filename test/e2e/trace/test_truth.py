"""What a trace says against what the box knows: in stepped time every operation, its call's times to the
nanosecond, its name, bytes, device and stream."""
import sys

import box
import preload

TRAIN = box.ROOT / "examples" / "train" / "train.py"
STEPS = "--steps 12 --loss-every 5 --params 60000 --bucket-mb 0.1 --input-mb 0.1".split()
COPIES = ("h2d", "d2h", "d2d", "p2p", "h2h")

DEVICES, ROUNDS = 8, 6
EIGHT_DEVICES = f"""
#include <cuda.h>
#include <nccl.h>
#include <stdio.h>
enum {{ N = {DEVICES}, COUNT = 256 }};
int main(void) {{
    ncclComm_t communicator[N];
    CUcontext context[N];
    CUstream stream[N];
    CUfunction function[N];
    CUdeviceptr data[N];
    CUmodule module;
    if (cuInit(0)) return 1;
    for (int i = 0; i < N; ++i)
        if (cuDevicePrimaryCtxRetain(&context[i], i) || cuCtxSetCurrent(context[i]) ||
            cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING) || cuMemAlloc(&data[i], COUNT * 4) ||
            cuModuleLoadData(&module, "an image") || cuModuleGetFunction(&function[i], module, "work__7us"))
            return 2;
    if (ncclCommInitAll(communicator, N, 0)) return 3;
    for (int round = 0; round < {ROUNDS}; ++round) {{
        for (int i = 0; i < N; ++i)
            if (cuCtxSetCurrent(context[i]) || cuMemsetD32Async(data[i], 1, COUNT, stream[i]) ||
                cuLaunchKernel(function[i], 1 + i, 1, 1, 32, 1, 1, 0, stream[i], 0, 0))
                return 4;
        ncclGroupStart();
        for (int i = 0; i < N; ++i)
            if (ncclAllReduce((void*)data[i], (void*)data[i], COUNT, ncclInt32, ncclSum, communicator[i],
                              stream[i]))
                return 5;
        if (ncclGroupEnd()) return 6;
    }}
    for (int i = 0; i < N; ++i) {{
        int sum = 0;
        if (cuCtxSetCurrent(context[i]) || cuStreamSynchronize(stream[i]) || cuMemcpyDtoH(&sum, data[i], 4))
            return 7;
        printf("%d ", sum);
        ncclCommDestroy(communicator[i]);
    }}
    return 0;
}}
"""


class Truth(preload.PreloadCase):
    def run_traced(self, command, **knobs):
        """[(trace, operations, counts)] of the processes; they print what they print without the shim, also
        times: no events of ours, which take some."""
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_DEVICE_TIME": "off", **knobs}
        without = box.run(command, knobs)
        done = self.traced(command, stderr=without.stderr, GPUSIM_TRUTH=f"{self.folder}/truth.%p", **knobs)
        self.assertEqual(done.stdout, without.stdout)
        found = []
        for trace in self.traces():
            (pid,), = preload.query(trace, "SELECT pid FROM process")
            truth = f"{self.folder}/truth.{pid}"
            found.append((trace, box.read_truth(truth), box.read_counts(f"{truth}.counts")))
        return found

    def check_operations(self, trace, truth):
        """Launches, copies and memsets of the trace are those of the truth, one for one."""
        for sql, of in (
                ("SELECT enter_ns, exit_ns, device_id, kernel, stream_id FROM v_launch",
                 lambda o: o.op == "kernel"),
                ("SELECT enter_ns, exit_ns, device_id, kind || ' ' || bytes, stream_id FROM v_copy",
                 lambda o: o.op in COPIES),
                ("SELECT enter_ns, exit_ns, device_id, bytes, stream_id FROM v_memset",
                 lambda o: o.op == "memset")):
            found = sorted(preload.query(trace, sql))
            expected = sorted((o.call_enter_ns, o.call_exit_ns, o.device, self.what(o), o.stream)
                              for o in truth if of(o))
            self.assertGreater(len(found), 0, sql)
            self.assertEqual([row[:4] for row in found], [row[:4] for row in expected])
            pairs = {(a[4], (a[2], b[4])) for a, b in zip(found, expected)}
            self.assertEqual(len(pairs), len({ours for ours, _ in pairs}), f"streams are mixed up: {pairs}")
            self.assertEqual(len(pairs), len({theirs for _, theirs in pairs}), f"streams are split: {pairs}")

    @staticmethod
    def what(operation):
        if operation.op == "kernel":
            return operation.name
        return operation.bytes if operation.op == "memset" else f"{operation.op} {operation.bytes}"

    def check_counts(self, trace, counts):
        """Of work and waits every call that the program made is there; the driver's to itself are not."""
        recorded = dict(preload.query(trace, """
            SELECT api, calls FROM v_api_total
            WHERE kind IN ('launch', 'graph_launch', 'copy', 'memset', 'sync', 'query', 'collective',
                           'record', 'wait')"""))
        self.assertGreater(len(recorded), 4)
        made = {api: counts[api].entered for api in recorded}
        self.assertEqual(recorded, made)

    def check(self, found):
        for trace, truth, counts in found:
            self.check_operations(trace, truth)
            self.check_counts(trace, counts)
            self.assert_nothing_lost(trace)

    def test_training_on_two_ranks(self):
        found = self.run_traced([sys.executable, "-B", TRAIN, "--ranks", "2", *STEPS], GPUSIM_DEVICES=2)
        self.assertEqual(len(found), 2)
        self.check(found)

    def test_while_device_times_are_taken(self):
        train = [sys.executable, "-B", TRAIN, "--ranks", "2", *STEPS]
        self.traced(train, stderr=None, GPUSIM_CLOCK="stepped", GPUSIM_DEVICES=2, GPUSHIM_BUDGET="100%",
                    GPUSIM_TRUTH=f"{self.folder}/truth.%p")
        traces = self.traces()
        self.assertEqual(len(traces), 2)
        for trace in traces:
            (pid,), = preload.query(trace, "SELECT pid FROM process")
            self.check_operations(trace, box.read_truth(f"{self.folder}/truth.{pid}"))
            self.assert_nothing_lost(trace)
            (timed,), = preload.query(trace, "SELECT count(*) FROM launch_device")
            self.assertGreater(timed, 100)

    def test_a_driver_that_calls_itself(self):
        found = self.run_traced([sys.executable, "-B", TRAIN, *STEPS], GPUSIM_SELF_CALLS=2)
        self.assertGreater(found[0][2]["cuLaunchKernel"].nested, 100)
        self.check(found)

    def test_a_linked_program(self):
        self.check(self.run_traced([box.BUILD / "examples" / "linked"]))

    def test_kernels_of_nccl_belong_to_their_collectives(self):
        found = self.run_traced([sys.executable, "-B", TRAIN, "--ranks", "2", *STEPS], GPUSIM_DEVICES=2)
        for trace, _, _ in found:
            strangers = preload.query(trace, """
                SELECT kernel FROM v_launch WHERE (kernel LIKE 'nccl%') != (group_id IS NOT NULL)""")
            self.assertEqual(strangers, [])
            linked = preload.query(trace, """
                SELECT c.api, count(*) FROM v_collective c JOIN v_launch l ON l.group_id = c.group_id
                WHERE l.enter_ns BETWEEN c.enter_ns AND c.exit_ns GROUP BY c.api""")
            calls = preload.query(trace, "SELECT api, count(*) FROM v_collective GROUP BY api")
            self.assertEqual(linked, calls)

    def test_ranks_number_their_collectives_alike(self):
        found = self.run_traced([sys.executable, "-B", TRAIN, "--ranks", "2", *STEPS], GPUSIM_DEVICES=2)
        sql = ("SELECT communicator, seq, api, count, dtype, op, bytes, ranks FROM v_collective"
               " ORDER BY enter_ns")
        first, second = (preload.query(trace, sql) for trace, _, _ in found)
        self.assertEqual(first, second)
        self.assertEqual([row[1] for row in first], list(range(1, len(first) + 1)))
        self.assertGreater(sum(row[2] == "ncclAllReduce" for row in first), 40)
        ranks = [preload.query(trace, "SELECT rank FROM v_communicator") for trace, _, _ in found]
        self.assertEqual(sorted(ranks), [[(0,)], [(1,)]])

    def test_one_process_with_eight_devices(self):
        program = preload.compiled(EIGHT_DEVICES, self.folder / "eight", "-lnccl")
        found = self.run_traced([program], GPUSIM_DEVICES=DEVICES)
        self.check(found)
        trace = found[0][0]
        per_device = preload.query(trace, "SELECT device_id, count(*), min(grid_x) FROM v_launch"
                                          " WHERE kernel = 'work__7us' GROUP BY 1 ORDER BY 1")
        self.assertEqual(per_device, [(i, ROUNDS, 1 + i) for i in range(DEVICES)])
        communicators = preload.query(trace, "SELECT uid, rank, ranks, device_id FROM v_communicator"
                                             " ORDER BY rank")
        self.assertEqual([row[1:] for row in communicators], [(i, DEVICES, i) for i in range(DEVICES)])
        self.assertEqual(len({row[0] for row in communicators}), 1)
        numbers = preload.query(trace, "SELECT rank, group_concat(seq) FROM v_collective GROUP BY rank")
        self.assertEqual(numbers, [(i, ",".join(map(str, range(1, ROUNDS + 1)))) for i in range(DEVICES)])

    def test_two_runs_have_the_same_trace(self):
        """In stepped time the rows are the same to the byte, whatever the machine does meanwhile."""
        tables = ("launch", "copy", "memset", "sync", "collective", "call", "shape", "api", "device")
        command = [sys.executable, "-B", TRAIN, *STEPS]
        rows = []
        for _ in range(2):
            for trace in self.traces():
                trace.unlink()
            self.traced(command, stderr=None, GPUSIM_CLOCK="stepped")
            rows.append([preload.query(self.the_trace(), f"SELECT * FROM {table} ORDER BY 1")
                         for table in tables])
        self.assertEqual(rows[0], rows[1])
