"""A program as an export of Nsight Systems tells it, for what no preload sees: calls of MPI between launches.
Lengths in ns, as in profiled.py."""
import pathlib
import sqlite3

from profiled import PROCESS, THREAD, Profile

SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT,
  returnValue INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
  correlationId INT, globalPid INT, demangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT,
  blockY INT, blockZ INT);
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT);
CREATE TABLE MPI_P2P_EVENTS (start INT, end INT, globalTid INT, textId INT, size INT);
CREATE TABLE TARGET_INFO_GPU (id INT, cuDevice INT, name TEXT, uuid TEXT, totalMemory INT, smCount INT);
"""
PUSH_POP = 59
GLOBAL_PID = 1 << 48 | PROCESS << 24
GLOBAL_TID = GLOBAL_PID | THREAD


class Exported(Profile):
    def launch(self, kernel, runs_ns):
        self.operator("", 0, kernel, runs_ns)

    def message(self, name, length_ns):
        self.add("mpi", name, self.now, self.now + length_ns)
        self.now += length_ns

    def write(self, folder):
        file = pathlib.Path(folder, "profile.sqlite")
        with sqlite3.connect(file) as base:
            base.executescript(SCHEMA)
            texts = sorted({event["name"] for event in self.events})
            base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(texts))
            base.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'Made GPU', 'GPU-0', ?, 132)", (1 << 34,))
            for event in self.events:
                self.write_event(base, event, texts.index(event["name"]))
        return "nsys", file

    @staticmethod
    def write_event(base, event, text):
        arguments, start = event["args"], int(event["ts"] * 1000)
        end = start + int(event["dur"] * 1000)
        rows = {
            "cuda_runtime": ("CUPTI_ACTIVITY_KIND_RUNTIME",
                             lambda: (start, end, GLOBAL_TID, arguments["correlation"], text, 0)),
            "kernel": ("CUPTI_ACTIVITY_KIND_KERNEL",
                       lambda: (start, end, 0, 1, arguments["stream"], arguments["correlation"], GLOBAL_PID,
                                text, *arguments["grid"], *arguments["block"])),
            "user_annotation": ("NVTX_EVENTS", lambda: (start, end, PUSH_POP, event["name"], GLOBAL_TID)),
            "mpi": ("MPI_P2P_EVENTS", lambda: (start, end, GLOBAL_TID, text, 1 << 20)),
        }
        if event["cat"] in rows:
            table, values = rows[event["cat"]]
            row = values()
            base.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
