"""Totals come from rollups and are what the rows add up to: while a program runs, after it, and after it was
killed; with device times, collectives and graphs."""
import json
import random
import re
import sqlite3
import time

import box
import preload
import test_nccl
import test_recovery
import totals

WORKLOADS = box.BUILD / "accuracy" / "workloads"

# Looks up and launches functions of ever new names; says how much memory the process has after a part of them
# and after all. Names end in __0ns: a kernel takes no time.
NAMES = """
#include "one_gpu.h"
#include <unistd.h>
static long resident_kib(void) {
    long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(3);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}
int main(int count, char** words) {
    const int part = atoi(words[1]), all = atoi(words[2]);
    char name[64];
    open_primary();
    for (int i = 0; i < all; ++i) {
        if (i == part) usleep(500000), printf("%ld ", resident_kib());
        snprintf(name, sizeof name, "a_kernel_of_that_name_%d__0ns", i);
        launch_one(kernel_of(name), 0);
        if (i % 2000 == 0) usleep(20000);
    }
    usleep(500000);
    printf("%ld\\n", resident_kib());
    return 0;
}
"""


class Totals(test_recovery.RecoveryCase):
    def assert_totals(self, trace, *there):
        """`there`: totals that must not be empty."""
        for what, (from_rollups, from_rows) in totals.both(trace).items():
            self.assertEqual(from_rollups, from_rows, what)
            if what in there:
                self.assertTrue(from_rows, what)

    def test_while_it_runs_and_at_rest(self):
        run = test_recovery.Busy(self)
        run.ready()
        until = time.monotonic() + 2
        while time.monotonic() < until:
            self.assert_totals(run.trace())
            time.sleep(0.05)
        self.assertEqual(run.end(), (0, ""))
        self.assert_totals(run.trace(), "kernels", "copies", "syncs", "calls", "events")

    def test_after_kills(self):
        chance = random.Random(7)
        for _ in range(12):
            run = test_recovery.Busy(self, truth=False)
            run.ready()
            time.sleep(chance.random() * 0.3)
            run.kill()
            self.assertEqual(test_recovery.recover(run.trace()), (0, ""))
            self.assert_totals(run.trace(), "kernels", "calls", "events")
            run.close()

    def test_device_times_and_graphs(self):
        done = box.run([WORKLOADS])
        names = [line.split("\t")[0] for line in done.stdout.splitlines()]
        self.assertGreater(len(names), 3)
        timed = in_graphs = 0
        for name in names:
            self.traced([WORKLOADS, name, "20"], GPUSIM_CLOCK="stepped", GPUSIM_DEVICES=8,
                        GPUSHIM_BUDGET="100%")
            for trace in self.traces():
                self.assert_totals(trace, "events")
                timed += preload.query(trace, "SELECT count(device_sum_ns) FROM v_kernel_total")[0][0]
                in_graphs += preload.query(trace, "SELECT total(in_graphs) FROM v_kernel_executed")[0][0]
                trace.unlink()
        self.assertGreater(timed, 0)
        self.assertGreater(in_graphs, 0)

    def test_collectives(self):
        job = test_nccl.NcclTest()
        job.folder = self.folder
        for scenario, ranks in (("collectives", 3), ("ring", 4), ("order", 2)):
            variables = preload.variables(self.folder, GPUSHIM_OUT=f"{self.folder}/{scenario}.%r.db",
                                          GPUSIM_CLOCK="stepped")
            job.finish(job.start(scenario, ranks, variables, scenario))
            for rank in range(ranks):
                self.assert_totals(self.folder / f"{scenario}.{rank}.db", "collectives")

    def reported(self, trace):
        done = box.run([preload.ANALYZER, "report", "--json", trace], sim=False)
        return json.loads(done.stdout)

    def assert_same_but_by_step(self, after, before):
        """Steps are found in rows: without them what is of a step is not known, and says so."""
        self.assertEqual(len(after), len(before))
        for rough, row in zip(after, before):
            for key in set(row) - {"why"}:
                if key.endswith("per_step") and row[key] is not None:
                    self.assertIsNone(rough[key])
                    self.assertIn(key, rough["why"])
                else:
                    self.assertEqual(rough[key], row[key], key)

    def test_the_report_needs_no_rows(self):
        run = test_recovery.Busy(self)
        run.ready()
        self.assertEqual(run.end(), (0, ""))
        trace = run.trace()
        before = self.reported(trace)
        with sqlite3.connect(trace) as base:
            for table in ("launch", "copy", "memset", "sync", "call"):
                base.execute(f"DELETE FROM {table}")
            base.execute("INSERT INTO summarised VALUES (0, 1 << 62, 0, 0, 0)")
        base.close()
        after = self.reported(trace)
        self.assertEqual(after["syncs"], before["syncs"])
        self.assert_same_but_by_step(after["copies"], before["copies"])
        for section, name in (("kernels", "name"), ("calls", "api")):
            self.assertTrue(before[section])
            rough = {row[name]: row for row in after[section]}
            self.assertEqual(sorted(rough), sorted(row[name] for row in before[section]))
            for row in before[section]:
                for key, value in row.items():
                    if re.search(r"(^|_)p\d", key):
                        self.assertAlmostEqual(rough[row[name]][key], value, delta=value / 8 + 1)
                    else:
                        self.assertEqual(rough[row[name]][key], value, (row, key))

    def test_distinct_names_do_not_take_memory(self):
        program, part, names = self.folder / "names", 100_000, 300_000
        preload.compiled(NAMES, program)
        free = {**preload.QUICK, "GPUSHIM_DEVICE_TIME": "off"}
        plain = box.run([program, str(part), str(names)], free)
        traced = self.traced([program, str(part), str(names)], **free)
        said = (plain.stdout, traced.stdout)
        grown_kib = [int(after) - int(before) for before, after in map(str.split, said)]
        self.assertLess(grown_kib[1] - grown_kib[0], 8 << 10, said)
        trace = self.the_trace()
        counts = dict(preload.query(trace, "SELECT key, value FROM meta WHERE key LIKE '%_left_out'"))
        self.assertEqual(preload.ledger(trace)["dropped"], 0)
        self.assertEqual(counts["names_left_out"], names - 65536)
        self.assertEqual(preload.query(trace, "SELECT launches FROM v_kernel_total WHERE kernel = '(other)'"),
                         [(names - 65536,)])
        self.assertEqual(preload.query(trace, "SELECT sum(launches), count(*) FROM v_kernel_total"),
                         [(names, 65537)])
