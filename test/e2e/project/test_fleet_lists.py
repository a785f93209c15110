"""What scripts/fleet knows without Spark: which files there are, which run each belongs to, and what is not
whole."""
import errno
import json
import os
import pathlib
import sqlite3
import sys
import tempfile
import unittest
import unittest.mock

import box

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import files, manifest, metrics, reduce, run_row, tables  # pylint: disable=wrong-import-position

S = manifest.NS
DAY = 86_400 * S


def entry(path, rank, world=4, key="job", started=DAY, host="a", lasted=100 * S, **more):
    """The manifest's row of a trace."""
    told = {"rank_id": 0, "rank": rank, "world_size": world, "host": host, "uuid": more.pop("uuid", path),
            "started_ns": started, "lasted_ns": lasted, "run_key": key, "executable": "train", "produced": 10,
            "lost": 0, "gpus": f"GPU-{host}-{rank}", "gpu_name": "GPU", "tag": None, "price": None, **more}
    return {"path": path, "bytes": 1, "mtime_ns": 1, "state": "reduced", "why": None, "summary": f"{path}.s",
            "by": "here", "ranks": [told], "contradictions": [], "tables": []}


def states(rows):
    return sorted(row.state for row in rows if row.state != "seen")


class Runs(unittest.TestCase):
    def test_a_run_that_is_whole(self):
        runs, other = manifest.runs_of([entry(str(rank), rank) for rank in range(4)])
        run = runs["job"]
        self.assertEqual((run.day, run.ranks_seen, run.ranks_expected), ("1970-01-02", 4, 4))
        self.assertEqual((states(run.coverage), other), ([], []))

    def test_ranks_that_left_no_file_are_told(self):
        runs, _ = manifest.runs_of([entry(str(rank), rank, world=8) for rank in (0, 1, 5)])
        missing = [(row.rank, row.ranks) for row in runs["job"].coverage if row.state == "missing"]
        self.assertEqual(missing, [(2, 3), (6, 2)])
        self.assertEqual((runs["job"].ranks_seen, runs["job"].ranks_expected), (3, 8))

    def test_a_file_that_could_not_be_read_is_told(self):
        cut = {**entry("0", 0), "state": "cut", "why": "has 5 of 9 bytes", "ranks": [], "summary": None}
        runs, other = manifest.runs_of([cut, entry("1", 1, world=2)])
        told = [(row.path, row.state, row.why) for row in other]
        self.assertEqual(told, [("0", "cut", "has 5 of 9 bytes")])
        self.assertEqual(states(runs["job"].coverage), ["missing"])

    def test_a_trace_given_twice_counts_once(self):
        runs, other = manifest.runs_of([entry("0", 0, 1), entry("copy", 0, 1, uuid="0")])
        self.assertEqual((len(runs["job"].entries), states(other)), (1, ["duplicate"]))

    def test_of_copies_the_one_with_most_counts(self):
        """A trace that was copied while its program ran, and the trace; a summary of all ranks, and a trace
        of one of them."""
        early, full = entry("a/early", 0, 1, uuid="0", produced=3), entry("b/full", 0, 1, uuid="0")
        runs, other = manifest.runs_of([early, full])
        self.assertEqual([one["path"] for one in runs["job"].entries], ["b/full"])
        self.assertEqual([(row.path, row.why) for row in other], [("a/early", "the same trace as b/full")])
        whole = {**entry("whole", 0), "ranks": [entry(str(rank), rank)["ranks"][0] for rank in range(4)]}
        runs, other = manifest.runs_of([entry("0", 0), whole])
        self.assertEqual((runs["job"].ranks_seen, states(other)), (4, ["duplicate"]))

    def test_ranks_that_are_left_out_with_a_copy_are_told(self):
        """Two summaries with a rank in common: the second has one that no other file has."""
        both = [{**entry(path, 0, 5), "ranks": [entry(str(rank), rank, 5)["ranks"][0] for rank in ranks]}
                for path, ranks in (("a", (0, 1, 2)), ("b", (2, 3)))]
        runs, other = manifest.runs_of(both)
        self.assertEqual(runs["job"].ranks_seen, 3)
        self.assertEqual([(row.path, row.state, row.why) for row in other],
                         [("b", "overlaps", "has a trace that is in a, so it is left out with rank 3, which"
                                            " is in no other file")])

    def test_two_runs_with_one_id_are_two_runs(self):
        """The ranks of the second began after those of the first had ended."""
        first = [entry(f"a{rank}", rank, 2) for rank in range(2)]
        second = [entry(f"b{rank}", rank, 2, started=DAY + 200 * S) for rank in range(2)]
        runs, _ = manifest.runs_of(first + second)
        self.assertEqual({name: len(run.entries) for name, run in runs.items()}, {"job": 2, "job_2": 2})
        self.assertEqual(states(runs["job"].coverage), [])
        self.assertEqual(states(runs["job_2"].coverage), ["same_run_id"])

    def test_a_rank_that_left_no_file_takes_none_of_another_run(self):
        """The first of two runs with one id lacks rank 2, and the second has it."""
        first = [entry(f"a{rank}", rank, 3) for rank in range(2)]
        second = [entry(f"b{rank}", rank, 3, started=DAY + 200 * S) for rank in range(3)]
        runs, _ = manifest.runs_of(first + second)
        self.assertEqual({name: [one["path"] for one in run.entries] for name, run in runs.items()},
                         {"job": ["a0", "a1"], "job_2": ["b0", "b1", "b2"]})
        self.assertEqual((states(runs["job"].coverage), runs["job"].ranks_seen), (["missing"], 2))

    def test_the_order_of_a_rank_is_kept_beside_a_clock_that_is_off(self):
        """Of both runs rank 1 begins an hour late by its clock."""
        ranks = [entry(f"{run}{rank}", rank, 2, started=DAY + (200 * run + 3600 * rank) * S)
                 for run in range(2) for rank in range(2)]
        runs, _ = manifest.runs_of(ranks)
        self.assertEqual({name: [one["path"] for one in run.entries] for name, run in runs.items()},
                         {"job": ["00", "01"], "job_2": ["10", "11"]})

    def test_two_runs_of_one_id_at_one_time_are_told(self):
        """They cannot be told apart."""
        ranks = [entry(f"{host}{rank}", rank, 2, host=host) for host in "ab" for rank in range(2)]
        run = manifest.runs_of(ranks)[0]["job"]
        self.assertEqual(states(run.coverage), ["rank_twice", "rank_twice"])
        why = [row.why for row in run.coverage if row.state == "rank_twice"]
        self.assertIn("rank 0 is at the same time in a0, on a", why[0])

    def test_ranks_that_tell_other_world_sizes_are_told(self):
        run = manifest.runs_of([entry("0", 0, 2), entry("1", 1, 4)])[0]["job"]
        self.assertEqual((states(run.coverage), run.ranks_expected), (["contradiction", "missing"], 4))

    def test_no_name_of_a_run_is_another_s(self):
        """A key like the name that a second run gets, and one like the place of files of no run."""
        ranks = [entry("a", 0, 1), entry("b", 0, 1, started=DAY + 200 * S), entry("c", 0, 1, key="job.2"),
                 entry("d", 0, 1, key="job_2"), entry("e", 0, 1, key=manifest.UNTOLD)]
        runs, _ = manifest.runs_of(ranks)
        self.assertEqual(sorted(one["path"] for run in runs.values() for one in run.entries), list("abcde"))
        self.assertNotIn(manifest.UNTOLD, runs)

    def test_two_processes_of_one_rank_are_one_run(self):
        runs, _ = manifest.runs_of([entry("a", 0, 1), entry("b", 0, 1, started=DAY + 50 * S)])
        self.assertEqual([len(run.entries) for run in runs.values()], [2])
        self.assertEqual(states(runs["job"].coverage), ["shared_gpu"])

    def test_two_ranks_of_one_summary_that_use_one_gpu_are_told(self):
        whole = {**entry("whole", 0, 2), "ranks": [{**entry(str(rank), rank, 2)["ranks"][0], "gpus": "GPU-x"}
                                                   for rank in range(2)]}
        self.assertEqual(states(manifest.runs_of([whole])[0]["job"].coverage), ["shared_gpu"])

    def test_a_clock_that_is_off_is_told_and_moves_no_day(self):
        ranks = [entry(str(rank), rank) for rank in range(3)] + [entry("3", 3, started=9 * DAY, host="b")]
        run = manifest.runs_of(ranks)[0]["job"]
        self.assertEqual((run.day, states(run.coverage)), ("1970-01-02", ["clock_skew"]))

    def test_events_that_were_lost_are_told(self):
        run = manifest.runs_of([entry("0", 0, 1, lost=3)])[0]["job"]
        self.assertEqual([row.why for row in run.coverage if row.state == "events_lost"],
                         ["3 of 10 events are not recorded"])

    def test_what_a_run_is_compared_by(self):
        """A rank that was not seen, a GPU of two ranks, and two kinds of GPUs."""
        ranks = [entry(str(rank), rank, 4, host="ab"[rank // 2]) for rank in range(3)]

        def described(price=None):
            run, = manifest.runs_of(ranks)[0].values()
            cells = dict(zip([name for name, _ in tables.RUN_TABLE], run_row.of(run, price)))
            return cells["machine"], cells["gpus"], cells["price_per_gpu_hour"]

        self.assertEqual(described(), ("2 x GPU", 3, None))
        ranks[1]["ranks"][0].update(gpus="GPU-a-0", gpu_name="Other", price=2.5)
        self.assertEqual(described(), ("1 x GPU + Other", 2, None))
        self.assertEqual(described(3.0), ("1 x GPU + Other", 2, 3.0))

    def test_a_run_starts_when_the_middle_one_of_its_ranks_does(self):
        """One clock is a year off, and the run is neither first nor last of its day for that."""
        for off in (-365, 365):
            starts = (DAY + 1, DAY + 2, DAY * (2 + off))
            run, = manifest.runs_of([entry(str(rank), rank, 3, started=start, host=f"h{rank}")
                                     for rank, start in enumerate(starts)])[0].values()
            cells = dict(zip([name for name, _ in tables.RUN_TABLE], run_row.of(run, None)))
            self.assertEqual((run.day, cells["started_ns"]), ("1970-01-02", sorted(starts)[1]))

    def test_names_are_plain_and_differ(self):
        names = {manifest.name_of(key) for key in ("a", "a b", "a:b", "../a", "a" * 200, "a" * 201)}
        self.assertEqual(len(names), 6)
        for name in names:
            self.assertRegex(name, r"\A[A-Za-z0-9.-]{1,100}\Z")
            self.assertNotIn("/", name)


class Lists(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-fleet-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def database(self, name, application=0, version=0):
        with sqlite3.connect(self.folder / name) as base:
            base.execute(f"PRAGMA application_id = {application}")
            base.execute(f"PRAGMA user_version = {version}")
            base.execute("CREATE TABLE t (text)")
            base.executemany("INSERT INTO t VALUES (?)", [("x" * 900,)] * 50)
        base.close()
        return self.folder / name

    def kind(self, path):
        return files.kind_of_file(path).name

    def test_what_a_file_is(self):
        trace = self.database("0.db", version=2)
        self.assertEqual(self.kind(trace), "trace")
        self.assertEqual(self.kind(self.database("a.summary", files.SUMMARY, files.SUMMARY_SCHEMA)),
                         "summary")
        self.assertEqual(self.kind(self.database("c.summary", files.SUMMARY, files.SUMMARY_SCHEMA - 1)),
                         "older")
        self.assertEqual(self.kind(self.database("b.summary", files.SUMMARY, 99)), "newer")
        self.assertEqual(self.kind(self.database("run", files.RUN)), "not_ours")
        trace.write_bytes(trace.read_bytes()[:20_000])
        self.assertEqual(self.kind(trace), "cut")
        trace.write_bytes(trace.read_bytes()[:50])
        self.assertEqual(self.kind(trace), "cut")
        trace.write_bytes(b"")
        self.assertEqual(self.kind(trace), "empty")
        trace.write_text("something else that is long enough to have a head " * 4, encoding="utf-8")
        self.assertEqual(self.kind(trace), "not_ours")

    def test_a_summary_stands_for_the_trace_beside_it(self):
        (self.folder / "deep").mkdir()
        for name in ("0.db", "deep/1.db", "gpushim.run.db", "notes.txt"):
            self.database(name)
        self.database("deep/1.summary", files.SUMMARY, files.SUMMARY_SCHEMA)
        self.assertEqual(self.listed(), ["0.db", "1.summary"])

    def test_a_summary_of_an_older_program_does_not(self):
        self.database("0.db")
        self.database("0.summary", files.SUMMARY, files.SUMMARY_SCHEMA - 1)
        self.assertEqual(self.listed(), ["0.db", "0.summary"])

    def listed(self):
        return [pathlib.Path(file.path).name for file in files.listed([str(self.folder)])]

    def test_a_folder_that_cannot_be_listed_is_told_until_it_can_be(self):
        """What is in it would be missing from every figure, and nothing would say so."""
        (self.folder / "closed").mkdir()
        self.database("0.db")
        real, rows = os.scandir, []

        def scandir(path="."):
            if str(path).endswith("closed"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return real(path)

        with unittest.mock.patch.object(os, "scandir", scandir):
            found = files.listed([str(self.folder)], lambda error: rows.append(reduce.unlisted(error)))
            known = {row["path"]: row for row in rows}
            self.assertEqual(manifest.without_removed(known), known)
        self.assertEqual([pathlib.Path(file.path).name for file in found], ["0.db"])
        row, = rows
        self.assertEqual((row["path"], row["state"]), (str(self.folder / "closed"), "not_readable"))
        self.assertIn("Permission denied", row["why"])
        self.assertEqual([of.state for of in manifest.runs_of(rows)[1]], ["not_readable"])
        self.assertEqual(manifest.without_removed(known), {})

    def test_what_is_named_and_not_there_is_in_the_list(self):
        wanted = self.folder / "list"
        wanted.write_text(f"{self.folder}/gone.db\n\n{self.database('0.db')}\n", encoding="utf-8")
        found = files.listed([f"@{wanted}"])
        self.assertEqual([(pathlib.Path(file.path).name, file.bytes is None) for file in found],
                         [("0.db", False), ("gone.db", True)])

    def test_a_file_that_gave_nothing_and_was_removed_is_forgotten(self):
        none = {"summary": None, "ranks": []}
        kept = {"read": entry("read", 0), "never": {**entry("never", 0), **none, "state": "missing"},
                str(self.database("0.db")): {**entry("0.db", 0), **none, "state": "damaged"},
                "hdfs://a/b.db": {**entry("b.db", 0), **none, "state": "cut"}}
        removed = {str(self.folder / "1.db"): {**entry("1.db", 0), **none, "state": "cut"}}
        self.assertEqual(manifest.without_removed({**kept, **removed}), kept)

    def test_a_folder_is_read_into_by_one(self):
        with manifest.locked(self.folder):
            with self.assertRaisesRegex(SystemExit, "^2$"):
                with manifest.locked(self.folder):
                    pass
        with manifest.locked(self.folder):
            pass

    def test_what_was_read_is_not_read_again(self):
        file = files.looked_at(str(self.database("0.db")))
        made = str(self.database("0.summary", files.SUMMARY, files.SUMMARY_SCHEMA))
        known = {**entry(file.path, 0), "bytes": file.bytes, "mtime_ns": file.mtime_ns, "summary": made}
        manifest.save_pending(self.folder, ["job"])
        self.assertEqual(manifest.load(self.folder), ({}, {"job"}))
        manifest.save(self.folder, {file.path: known})
        entries, pending = manifest.load(self.folder)
        self.assertEqual((entries, pending), ({file.path: json.loads(json.dumps(known))}, set()))
        self.assertTrue(manifest.is_read(file, entries[file.path]))
        self.assertFalse(manifest.is_read(file._replace(bytes=5), known))
        self.assertFalse(manifest.is_read(file, {**known, "state": "no_binary"}))
        self.assertFalse(manifest.is_read(file, manifest.gone(known)))
        self.assertFalse(manifest.is_read(file, {**known, "summary": str(self.folder / "gone")}))
        self.assertFalse(manifest.is_read(file, None))
        self.database("1.summary", files.SUMMARY, files.SUMMARY_SCHEMA - 1)
        self.assertFalse(manifest.is_read(file, {**known, "summary": str(self.folder / "1.summary")}))

    def test_a_run_is_not_written_of_a_summary_that_is_gone(self):
        """Two ranks were read; then one's summary went and a third rank's came."""
        known = {}
        for rank in range(2):
            place = self.database(f"{rank}.summary", files.SUMMARY, files.SUMMARY_SCHEMA)
            known[str(rank)] = {**entry(str(rank), rank, 3), "summary": str(place), "run": "job"}
        self.assertEqual(manifest.settled(known, known, set())[3], set())
        os.unlink(self.folder / "0.summary")
        self.assertEqual(manifest.settled(known, known, set())[3], set())
        third = {**known["1"], **entry("2", 2, 3), "summary": known["1"]["summary"]}
        entries, runs, other, touched = manifest.settled(known, {**known, "2": third}, set())
        self.assertEqual((touched, runs["job"].ranks_seen, states(runs["job"].coverage), states(other)),
                         ({"job"}, 2, ["missing"], ["gone"]))
        self.assertEqual({path: one["run"] for path, one in entries.items()},
                         {"0": None, "1": "job", "2": "job"})


class Definitions(unittest.TestCase):
    def test_each_metric_of_the_analyzer_is_read(self):
        named = [metric.name for metric in metrics.all_metrics()]
        self.assertEqual(named, sorted(path.stem for path in (metrics.ANALYSIS / "metric").glob("*.sql")))
        for metric in metrics.all_metrics():
            self.assertNotIn("@", metric.rows)

    def test_ids_of_two_summaries_differ(self):
        ids = {tables.wide_id(uuid, f"gpu {gpu}") for uuid in ("a", "b") for gpu in range(4)}
        self.assertEqual(len(ids), 8)
        self.assertTrue(all(0 <= one < 1 << 63 for one in ids))
