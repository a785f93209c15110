"""What processes used while somebody looked: the largest memory of one, and the processor time of all. Looked
at once a second, so what a process did in its last second is not in it."""
import os
import pathlib
import threading

TICKS = os.sysconf("SC_CLK_TCK")


def figures_of(pid):
    """(session, parent, seconds on a processor, bytes of memory at its largest, command line)"""
    place = pathlib.Path(f"/proc/{pid}")
    fields = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    peak = [line.split()[1] for line in (place / "status").read_text(encoding="utf-8").splitlines()
            if line.startswith("VmHWM:")]
    command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return (int(fields[3]), int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS,
            int(peak[0]) * 1024 if peak else 0, command)


def kind_of(command):
    for word, kind in (("CoarseGrainedExecutorBackend", "executor"), ("deploy.SparkSubmit", "driver"),
                       ("pyspark.daemon", "Python of an executor"), ("gpushim", "gpushim")):
        if word in command:
            return kind
    return "other"


class Used:
    """Of processes in these sessions and of what descends from this process."""

    def __init__(self, sessions):
        self._sessions, self._seen, self._over = sessions, {}, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._over.wait(1):
            ours = {os.getpid()}
            for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
                try:
                    session, parent, cpu_s, peak, command = figures_of(pid)
                except (OSError, ValueError, IndexError):
                    continue  # it has ended
                if parent in ours or session in self._sessions():
                    ours.add(pid)
                    self._seen[pid] = (cpu_s, peak, kind_of(command))

    def text(self):
        self._over.set()
        self._thread.join()
        kinds = {}
        for cpu_s, peak, kind in self._seen.values():
            had = kinds.get(kind, (0, 0))
            kinds[kind] = (had[0] + cpu_s, max(had[1], peak))
        return ", ".join(f"{kind} {cpu_s:.0f} s and at most {peak / 1e6:.0f} MB"
                         for kind, (cpu_s, peak) in sorted(kinds.items()))
