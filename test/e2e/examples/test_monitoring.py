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
import optional
from preload import PreloadCase, variables

FOLDER = box.ROOT / "examples" / "monitoring"
PATIENCE_S = 300
PROGRAMS = ("promtool", "prometheus", "prometheus-node-exporter")
# A process that works, marks steps and goes on until it is killed.
TRAIN = [sys.executable, "-B", box.ROOT / "examples" / "train" / "train.py", "--ranks", 1, "--steps", 10**7]
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs: [{{job_name: node, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]
"""


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

    def start_all(self):
        exporter, self.port = free_port(), free_port()
        (self.folder / "m").mkdir()
        self.start(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                    f"--collector.textfile.directory={self.folder}/m",
                    f"--web.listen-address=127.0.0.1:{exporter}"])
        config = self.folder / "prometheus.yml"
        config.write_text(CONFIG.format(rules=FOLDER / "alerts.yml", port=exporter), encoding="utf-8")
        self.start(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}"])
        knobs = {**variables(self.folder), "GPUSHIM_METRICS": f"{self.folder}/m/"}
        return self.start(TRAIN, env=box.environment(knobs))

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

    def test_queries_answer_and_the_alert_fires_on_a_process_that_is_stopped(self):
        self.start_all()
        page = (FOLDER / "README.md").read_text(encoding="utf-8")
        queries = re.findall(r"\| `(.*gpushim_.*)` \|", page)
        self.assertGreaterEqual(len(queries), 3)
        for query in queries:
            self.assertGreaterEqual(float(self.until(query)[0]["value"][1]), 0, query)
        self.until("node_textfile_scrape_error == 0")
        self.assertEqual(self.asked("node_textfile_scrape_error != 0"), [])
        silent = 'ALERTS{alertname="GpushimRankSilent",alertstate="firing"}'
        self.assertEqual(self.asked(silent), [])
        rank = int(self.until("gpushim_build_info")[0]["metric"]["pid"])
        os.kill(rank, signal.SIGSTOP)
        self.assertEqual(self.until(silent)[0]["metric"]["rank"], "0")


if __name__ == "__main__":
    unittest.main()
