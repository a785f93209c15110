"""SQLite exports of Nsight Systems, as its documentation has them, in two versions: of 2019, whose tables
have few columns and say nothing of the machine, and of 2024."""
import sqlite3

PUSH_POP, START_END, MARK = 59, 60, 34
OLD = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, globalTid INT NOT NULL,
  correlationId INT NOT NULL, nameId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
  contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, globalPid INT NOT NULL,
  demangledName INT NOT NULL, shortName INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
  contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, globalPid INT NOT NULL,
  bytes INT NOT NULL, copyKind INT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, text TEXT, globalTid INT);
"""
NEW = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
  shortName INTEGER, mangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
  blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER,
  graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
  srcKind INTEGER, dstKind INTEGER, migrationCause INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER,
  eventId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
  contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER,
  correlationId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, text TEXT,
  globalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);
CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER,
  threadState INTEGER);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, uuid TEXT, totalMemory INTEGER,
  smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
CREATE TABLE MPI_P2P_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, size INTEGER,
  tag INTEGER, remoteRank INTEGER);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER,
  size INTEGER, recvSize INTEGER, rootRank INTEGER);
CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER,
  value TEXT);
"""
EPOCH_NS = 1_700_000_000_000_000_000


def global_pid(pid):
    return (1 << 48) | (pid << 24)


class Export:
    def __init__(self, path, schema):
        self.base = sqlite3.connect(path)
        self.base.executescript(schema)
        self.texts = {}

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.add("StringIds", id=self.texts[value], value=value)
        return self.texts[value]

    def add(self, table, **row):
        """Of the row what the version has columns for; nothing if it has no such table."""
        there = {column[1] for column in self.base.execute(f"PRAGMA table_info({table})")}
        row = {name: value for name, value in row.items() if name in there}
        if row:
            self.base.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                              tuple(row.values()))

    def launch(self, at, number, kernel):
        """Of process 7, thread 8: 10 us, and from 5 us later on the kernel for 200 us."""
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=at, end=at + 10_000, globalTid=global_pid(7) | 8,
                 correlationId=number, nameId=self.text("cudaLaunchKernel_v7000"), returnValue=0)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=at + 15_000, end=at + 215_000, deviceId=0, contextId=1,
                 streamId=7, correlationId=number, globalPid=global_pid(7), demangledName=self.text(kernel),
                 shortName=self.text(kernel))

    def close(self):
        self.base.commit()
        self.base.close()


def waits(path):
    """A thread that launches every 2 ms: for 1 ms it sits in poll, waits for a condition or works, beside a
    thread without CUDA, which sleeps. The scheduler's events tell the same."""
    export = Export(path, NEW)
    tid, other, process = global_pid(7) | 8, global_pid(7) | 9, global_pid(7)
    for i in range(30):
        at, what = 10_000_000 + i * 2_000_000, ("poll", "pthread_cond_wait", "work")[i % 3]
        export.launch(at, i + 1, "gemm")
        if what != "work":
            export.add("OSRT_API", start=at + 500_000, end=at + 1_500_000, globalTid=tid,
                       nameId=export.text(what))
        export.add("SCHED_EVENTS", start=at + 500_000, cpu=0, isSchedIn=int(what == "work"), globalTid=tid)
        export.add("SCHED_EVENTS", start=at + 1_500_000, cpu=0, isSchedIn=int(what != "work"), globalTid=tid)
        export.add("OSRT_API", start=at, end=at + 1_000_000, globalTid=other, nameId=export.text("sleep"))
    export.add("PROCESSES", globalPid=process, pid=7, name="train.py")
    export.add("TARGET_INFO_GPU", id=0, name="Made GPU", uuid="GPU-0", totalMemory=1 << 34, smCount=8)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=7)
    export.close()
    return path


def migrations(path, pages=200, cause=None):
    """A kernel on managed memory: pages come while it runs, and go back when the host touches them; of cause
    1, when the program asks for it."""
    export = Export(path, NEW)
    tid, process = global_pid(7) | 8, global_pid(7)
    export.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=0, end=10_000, globalTid=tid, correlationId=1,
               nameId=export.text("cudaLaunchKernel_v7000"), returnValue=0)
    export.add("CUPTI_ACTIVITY_KIND_KERNEL", start=20_000, end=20_000 + pages * 20_000, deviceId=0,
               contextId=1, streamId=7, correlationId=1, globalPid=process,
               demangledName=export.text("add"), shortName=export.text("add"))
    for i in range(pages):
        for kind, start in ((11, 25_000 + i * 20_000), (12, 50_000 + (pages + i) * 20_000)):
            export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=start + 8_000, deviceId=0,
                       contextId=1, streamId=0, correlationId=0, globalPid=process, bytes=1 << 17,
                       copyKind=kind, srcKind=7, dstKind=7, migrationCause=cause)
    export.close()
    return path


def calls_alone(path):
    """A profiler that could not record what the GPU did, and says why."""
    export = Export(path, NEW)
    export.base.execute("CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT)")
    export.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=0, end=10_000, globalTid=global_pid(7) | 8,
               correlationId=1, nameId=export.text("cudaLaunchKernel_v7000"), returnValue=0)
    for severity, text in ((1, "CUDA injection initialized."), (2, "Thread names are not known."),
                           (2, "Installed CUDA driver version (13.3) is not supported by this build.")):
        export.add("DIAGNOSTIC_EVENT", timestamp=0, severity=severity, text=text)
    export.close()
    return path


def program(path, schema, pids=(4711,)):
    """In each process a copy, two kernels, a wait, an allocation, a graph, two nested ranges, a free one."""
    export = Export(path, schema)
    for number, pid in enumerate(pids):
        tid, process = global_pid(pid) | (pid + 1), global_pid(pid)
        where = {"deviceId": 0, "contextId": 1, "globalPid": process}

        def call(name, start, end, correlation, result=0):
            export.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, globalTid=tid,  # noqa: B023
                       correlationId=correlation, nameId=export.text(name), returnValue=result)

        call("cudaMemcpy_v3020", 1000, 9000, 1)
        export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=2000, end=8000, streamId=7, correlationId=1,
                   bytes=4096, copyKind=1, srcKind=0, dstKind=2, **where)
        for i, name in enumerate(("void gemm<float>(float*)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")):
            call("cudaLaunchKernel_v7000", 10_000 + i * 2000, 11_000 + i * 2000, 2 + i)
            export.add("CUPTI_ACTIVITY_KIND_KERNEL", start=15_000 + i * 10_000, end=24_000 + i * 10_000,
                       streamId=7 + i * 6, correlationId=2 + i, demangledName=export.text(name),
                       shortName=export.text("short"), gridX=4, gridY=2, gridZ=1, blockX=128, blockY=1,
                       blockZ=1, dynamicSharedMemory=64, **where)
        call("cudaStreamSynchronize_v3020", 20_000, 36_000, 4)
        export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=20_000, end=36_000, streamId=13,
                   correlationId=4, syncType=3, **where)
        call("cudaEventQuery_v3020", 36_100, 36_200, 5, 600)  # not yet: no failure
        call("cudaMalloc_v3020", 37_000, 38_000, 6)
        export.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=37_500, bytes=1 << 20, memKind=2,
                   memoryOperationType=0, correlationId=6, **where)
        call("cudaMalloc_v3020", 38_100, 38_200, 7, 2)
        call("cudaGraphLaunch_v10000", 40_000, 42_000, 8)
        export.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=45_000, end=50_000, streamId=7, correlationId=8,
                   graphId=1, graphExecId=2, **where)
        call("cudaMemsetAsync_v3020", 43_000, 44_000, 9)
        export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=51_000, end=52_000, streamId=7, correlationId=9,
                   bytes=64, **where)
        ranges = [(PUSH_POP, "ProfilerStep#1", 500, 39_000), (PUSH_POP, "forward", 900, 12_500),
                  (START_END, "apart", 600, 41_000), (MARK, "here", 700, None), (75, "NCCL", 100, None)]
        for kind, name, start, end in ranges:
            export.add("NVTX_EVENTS", start=start, end=end, eventType=kind, text=name, globalTid=tid)
        export.add("ThreadNames", nameId=export.text("python3"), globalTid=tid)
        export.add("PROCESSES", globalPid=process, pid=pid, name="train.py")
        export.add("TARGET_INFO_GPU", id=number, name="Made GPU", uuid=f"GPU-{number}", totalMemory=1 << 34,
                   smCount=8, computeMajor=9, computeMinor=0)
        export.add("TARGET_INFO_CUDA_DEVICE", gpuId=number, cudaId=0, pid=pid)
    export.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=EPOCH_NS, utcTime="", localTime="")
    export.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="node7")
    export.close()
    return path


def with_rows(path, *rows):
    """Of an export: each is its table and the row's columns; a table is emptied before its first row."""
    base = sqlite3.connect(path)
    for table in dict.fromkeys(table for table, _ in rows):
        base.execute(f"DELETE FROM {table}")
    for table, row in rows:
        base.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                     tuple(row.values()))
    base.commit()
    base.close()
    return path


def messages(path):
    """A solver: a kernel of 200 us every 2 ms; in between a receive of 1 ms, after every second one an
    all-reduce of 0.5 ms. A thread without CUDA is in MPI all the time."""
    export = Export(path, NEW)
    tid, other, process = global_pid(7) | 8, global_pid(7) | 9, global_pid(7)
    for i in range(30):
        at = 10_000_000 + i * 2_000_000
        export.launch(at, i + 1, "stencil")
        export.add("MPI_P2P_EVENTS", start=at + 300_000, end=at + 1_300_000, globalTid=tid,
                   textId=export.text("MPI_Recv"), size=4096)
        if i % 2:
            export.add("MPI_COLLECTIVES_EVENTS", start=at + 1_400_000, end=at + 1_900_000, globalTid=tid,
                       textId=export.text("MPI_Allreduce"), size=8)
        export.add("MPI_P2P_EVENTS", start=at, end=at + 2_000_000, globalTid=other,
                   textId=export.text("MPI_Probe"))
    export.add("PROCESSES", globalPid=process, pid=7, name="solver")
    export.close()
    return path


def operators(path, until=30, allocates_at=None):
    """A thread that launches every 2 ms, each time from an operator of PyTorch under emit_nvtx that is open
    for 1.2 ms around the launch; only the first `until` of 30 are told. It allocates once, if asked for."""
    export = Export(path, NEW)
    tid, process = global_pid(7) | 8, global_pid(7)
    if allocates_at is not None:
        export.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=allocates_at, end=allocates_at + 10_000,
                   globalTid=tid, correlationId=100, nameId=export.text("cudaMalloc_v3020"), returnValue=0)
    for i in range(30):
        at = 10_000_000 + i * 2_000_000
        export.launch(at, i + 1, "gemm")
        if i < until:
            export.add("NVTX_EVENTS", start=at - 200_000, end=at + 1_000_000, eventType=PUSH_POP,
                       text=f"aten::mm, seq = {i + 3}, op_id = {i}", globalTid=tid)
    export.add("NVTX_EVENTS", start=9_000_000, end=90_000_000, eventType=PUSH_POP, text="my own, op_id",
               globalTid=tid)
    export.add("PROCESSES", globalPid=process, pid=7, name="train.py")
    export.close()
    return path
