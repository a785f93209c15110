"""examples/monitoring: its rules and queries against real Prometheus and node_exporter, on a process that is
stopped."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import box
import dashboard_schema
import optional
import preload
import report_schema
from preload import ANALYZER, PreloadCase, variables

FOLDER = box.ROOT / "examples" / "monitoring"
PATIENCE_S = 300
BOARD = FOLDER / "grafana-dashboard.json"
WAITS = box.ROOT / "test" / "e2e" / "program" / "hang" / "waits.py"
PROGRAMS = ("promtool", "prometheus", "prometheus-node-exporter")
# A process that works, marks steps and goes on until it is killed.
TRAIN = [sys.executable, "-B", box.ROOT / "examples" / "train" / "train.py", "--ranks", 2, "--steps", 10**7,
         "--slow-rank", 1]
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs: [{{job_name: node, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]
"""
# Steps that say how many samples they have.
SAMPLES = """
from ctypes import CDLL, byref, c_uint64, c_void_p
import time
cuda, marks, context = CDLL("libcuda.so.1"), CDLL(None), c_void_p()
assert cuda.cuInit(0) == cuda.cuCtxCreate_v2(byref(context), 0, 0) == 0
while True:
    marks.gpushim_step_n(c_uint64(64))
    time.sleep(0.05)
"""
# More launches than can be kept, where nothing may be written.
DROPS = """
#include "one_gpu.h"
#include <unistd.h>
int main(void) {
    open_gpu();
    const CUfunction function = kernel_of("kernel__1us");
    for (;;) {
        for (int i = 0; i < 2000; ++i) launch_one(function, 0);
        cuCtxSynchronize();
        usleep(10000);
    }
}
"""
LABELS = 'rank="3",host="node",job_id="77"'
FEW_LABELS = 'pid="4711"'
WRITTEN, OPERATION = "gpushim_written_timestamp_seconds", "gpushim_last_operation_timestamp_seconds"
NOW = "0+10x180"  # of half an hour, every ten seconds
# What a rule is asked of when it fires after half an hour, and what is nearly so.
FIRES = {
    "GpushimHang": ({"gpushim_hang": "1x180"}, {"gpushim_hang": "0x180"}),
    "GpushimRankSilent": ({WRITTEN: "1769x180"}, {WRITTEN: "1770x180"}),
    "GpushimRankMissing": ({"gpushim_rank_missing": "1x180"}, {"gpushim_run_hang": "1x180"}),
    "GpushimSlower": ({"gpushim_rank_changed_ratio": "0.25x180"}, {"gpushim_rank_changed_ratio": "0.1x180"}),
    "GpushimNoOperation": ({WRITTEN: NOW, OPERATION: "899x180"}, {WRITTEN: NOW, OPERATION: "900x180"}),
    "GpushimDropsEvents": ({'gpushim_dropped_total': NOW}, {"gpushim_dropped_total": "7x180"}),
}


def filled(text, labels):
    """As Prometheus fills a text in: what is said where a label is there, and where it is not."""
    said = re.sub(r"\{\{ with \$labels\.(\w+) \}\}(.*?)(?:\{\{ else \}\}(.*?))?\{\{ end \}\}",
                  lambda of: of[2].replace("{{ . }}", labels[of[1]]) if labels.get(of[1]) else of[3] or "",
                  text)
    said = said.replace("{{ $value | humanizePercentage }}", "25%")
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda of: labels.get(of[1], ""), said)


def rules_of(path, given):
    """{alert: what promtool expects of it}, with labels and texts filled in."""
    labels = dict(re.findall(r'(\w+)="(\w+)"', given))
    found = {}
    for name, rule in re.findall(r"- alert: (\w+)\n(.*?)(?=\n *#|\n *- alert|\Z)", path.read_text("utf-8"),
                                 re.DOTALL):
        texts = {key: filled(" ".join((text or lines).split()), labels)
                 for key, text, lines in re.findall(r'(summary|description): (?:"(.*)"|>-((?:\n {12}.*)+))',
                                                    rule)}
        severity = re.search(r"severity: (\w+)", rule)[1]
        found[name] = {"exp_labels": {**labels, "severity": severity}, "exp_annotations": texts}
    return found


def expressions(filled=True):
    """The dashboard's queries, as Grafana fills them in for all jobs and ranks."""
    found = [target["expr"] for panel in json.loads(BOARD.read_text(encoding="utf-8"))["panels"]
             for target in panel["targets"]]
    values = {"$job_id": ".*", "$rank": ".*", "$__rate_interval": "1m"} if filled else {}
    for name, value in values.items():
        found = [query.replace(name, value) for query in found]
    return found


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


@unittest.skipUnless(all(map(shutil.which, PROGRAMS)), optional.lacks("prometheus"))
class Monitoring(PreloadCase):
    def start(self, words, **knobs):
        job = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=self.folder, start_new_session=True, **knobs)
        self.addCleanup(job.wait)
        self.addCleanup(os.killpg, job.pid, signal.SIGKILL)  # train.py starts its ranks itself
        return job

    def start_all(self, rules=FOLDER / "alerts.yml"):
        exporter, self.port = free_port(), free_port()
        (self.folder / "m").mkdir()
        self.start(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                    f"--collector.textfile.directory={self.folder}/m",
                    f"--web.listen-address=127.0.0.1:{exporter}"])
        config = self.folder / "prometheus.yml"
        config.write_text(CONFIG.format(rules=rules, port=exporter), encoding="utf-8")
        self.start(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}"])

    def start_traced(self, words, **knobs):
        knobs = {**variables(self.folder), "GPUSHIM_METRICS": f"{self.folder}/m/", **knobs}
        return self.start(words, env=box.environment(knobs))

    def asked(self, query):
        """[labels and value]; none where Prometheus does not answer yet."""
        words = urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?{words}") as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 400:
                raise
            return []
        except OSError:
            return []

    def until(self, query):
        """What it answers when it has an answer: a rate of nothing is none yet."""
        end = time.monotonic() + PATIENCE_S
        while not (found := self.asked(query)) or found[0]["value"][1] == "NaN":
            self.assertLess(time.monotonic(), end, query)
            time.sleep(0.5)
        return found

    def test_promtool_knows_the_rules(self):
        done = subprocess.run(["promtool", "check", "rules", FOLDER / "alerts.yml"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_knows_when_each_fires(self):
        """By the rules' own limits, which are too long for a real run."""
        tests = []
        for labels in (LABELS, FEW_LABELS):
            rules = rules_of(FOLDER / "alerts.yml", labels)
            self.assertEqual(set(rules), set(FIRES))
            tests += [{"interval": "10s", "alert_rule_test": [
                {"eval_time": "30m", "alertname": name, "exp_alerts": [rules[name]] * does_fire}],
                "input_series": [{"series": f'{series}{{{labels}}}', "values": values}
                                 for series, values in given.items()]}
                      for name, (fires, does_not) in FIRES.items()
                      for given, does_fire in ((fires, True), (does_not, False))]
        file = self.folder / "tests.yml"
        file.write_text(json.dumps({"rule_files": [str(FOLDER / "alerts.yml")], "tests": tests}),
                        encoding="utf-8")
        done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_queries_answer_and_the_alert_fires_on_a_process_that_is_stopped(self):
        self.start_all()
        job = self.start_traced(TRAIN, GPUSIM_DEVICES=2, GPUSIM_NCCL_TIMEOUT_S=600)
        self.start_traced([sys.executable, "-c", SAMPLES], GPUSHIM_OUT=f"{self.folder}/m/other/%p.db")
        self.start([ANALYZER, "watch", self.folder, "--metrics", self.folder / "m" / "run.prom", "--after",
                    "30"], env=box.environment())
        page = (FOLDER / "README.md").read_text(encoding="utf-8")
        queries = re.findall(r"\| `(.*gpushim_.*)` \|", page)
        self.assertGreaterEqual(len(queries), 7)
        for query in queries + expressions():
            if "changed_part" in query:  # has an answer when steps have changed
                self.asked(query)
                continue
            value = float(self.until(query)[0]["value"][1])
            self.assertTrue(value >= 0 or "_ratio" in query, query)
        self.until("node_textfile_scrape_error == 0")
        self.assertEqual(self.asked("node_textfile_scrape_error != 0"), [])
        self.assertEqual(self.asked('ALERTS{alertstate="firing",severity="page"}'), [], "nothing is wrong")
        rank = int(self.until('gpushim_build_info{rank="0"}')[0]["metric"]["pid"])
        os.kill(rank, signal.SIGSTOP)
        silent = 'ALERTS{alertname="GpushimRankSilent",alertstate="firing"}'
        self.assertEqual(self.until(silent)[0]["metric"]["rank"], "0")
        missing = self.until('ALERTS{alertname="GpushimRankMissing",alertstate="firing"}')
        self.assertEqual([one["metric"]["rank"] for one in missing], ["0"])
        self.assertIsNone(job.poll())

    def test_the_other_alerts_fire_on_processes_that_have_what_they_are_for(self):
        """A quarter of an hour without operations is half a minute here."""
        text = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
        self.assertEqual(text.count("> 900"), 1)
        rules = self.folder / "alerts.yml"
        rules.write_text(text.replace("> 900", "> 30"), encoding="utf-8")
        self.start_all(rules)
        self.start_traced([sys.executable, WAITS, "device", 3600], RANK=1, GPUSHIM_HANG_AFTER=3)
        small = preload.compiled(preload.SMALL_TMPFS, self.folder / "small.so", "-shared", "-fPIC")
        drops = preload.compiled(DROPS, self.folder / "drops")
        self.start_traced([drops], RANK=2, GPUSHIM_MIN_FREE_MB=1 << 40, **preload.QUICK,
                          LD_PRELOAD=f"{preload.SHIM}:{small}")
        for alert, rank in (("GpushimHang", "1"), ("GpushimNoOperation", "1"), ("GpushimDropsEvents", "2")):
            fired = self.until(f'ALERTS{{alertname="{alert}",alertstate="firing"}}')
            self.assertEqual({one["metric"]["rank"] for one in fired}, {rank}, alert)


class Dashboard(unittest.TestCase):
    def test_it_is_what_grafana_takes(self):
        board = json.loads(BOARD.read_text(encoding="utf-8"))
        self.assertEqual(report_schema.wrong_by(dashboard_schema.DASHBOARD, board), [])
        panels = board["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
        self.assertEqual(len(set(places)), len(panels))
        used = set(re.findall(r"\$(\w+)", "".join(expressions(filled=False))))
        known = {variable["name"] for variable in board["templating"]["list"]}
        self.assertLessEqual(used - {"__rate_interval"}, known)

    def test_it_asks_for_metrics_that_there_are(self):
        table = (box.ROOT / "shim" / "schema" / "metrics.def").read_text(encoding="utf-8")
        there = {f"gpushim_{name}" for name in re.findall(r"^METRIC\((\w+),", table, re.MULTILINE)}
        asked = set(re.findall(r"gpushim_\w+", "\n".join(expressions())))
        self.assertLessEqual(asked, there)
