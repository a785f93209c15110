"""`gpushim report --html`: a run as one page that needs no network and no script."""
import html
import json
import re
import sqlite3

import box
import cli
import exporting
import made_traces
import page_reader
from hostile_names import NAMES
from pairs import pairs
from test_hostile_names import EVERYWHERE

WORKLOADS = box.TOOLS / "answer/workloads.py"
# Of one GPU, which has nobody to be compared with, without steps.
PARTS = ("findings", "steps", "gpus", "timeline", "collectives", "launches", "kernels",
         "copies", "memory", "condition", "trust", "text")


class Page(cli.Case):
    def make(self, folder="run", name="gemm", timed=True):
        path = self.folder / folder / "a.db"
        path.parent.mkdir()
        made_traces.make(path, kernel=name)
        if timed:
            made_traces.add_device_times(path)
        return path

    def page(self, *words):
        place = self.folder / "page.html"
        self.gpushim("report", *words, "--html", place)
        return place.read_text(encoding="utf-8")

    def run_of(self, workload, run, steps=20):
        """A training loop on the box, in stepped time, analysed."""
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_BUDGET": "100%"}
        done = self.traced("python3", WORKLOADS, workload, steps, **knobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.gpushim("analyze", *self.folder.glob("*.db"), "-o", run)

    def test_it_asks_for_nothing_and_is_all_there_without_scripts(self):
        text = self.page(self.make())
        self.assertEqual(page_reader.faults(text), [])
        page = page_reader.Reader(text)
        self.assertEqual(tuple(section["id"] for section in page.of("section")), PARTS)
        self.assertEqual([], page.of("button"))
        report = json.loads(self.gpushim("report", self.folder / "run", "--json").stdout)
        self.assertIn(f"{report['ledger']['produced']:,}", page.text())
        self.assertIn("gemm", page.text())
        self.assertIn("SIMULATED" if report["gpus"][0]["simulated"] else "gpushim", page.text())

    def test_drawings_have_names_and_descriptions(self):
        page = page_reader.Reader(self.page(self.make()))
        drawings = [svg for svg in page.of("svg") if "role" in svg]
        self.assertTrue(drawings)
        for svg in page.of("svg"):
            if svg.get("class") == "moves":  # a part of the drawing that it lies in
                continue
            self.assertTrue(svg.get("aria-hidden") == "true" or
                            (svg["role"] == "img" and len(svg["aria-labelledby"].split()) == 2), svg)

    def test_a_part_that_does_not_apply_is_not_there(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        parts = [section["id"] for section in page_reader.Reader(self.page(run)).of("section")]
        self.assertEqual(parts, [*PARTS[:2], "step-parts",
                                 *(part for part in PARTS[2:] if part != "collectives")])

    def test_of_another_tools_trace_nothing_is_said_of_what_only_gpushim_records(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        own = self.page(run)
        exporting.change(run, "UPDATE gpu SET level = 'kineto'; UPDATE rank SET level = 'kineto'")
        text = self.page(run)
        for words in ('<section id="memory"', '<section id="condition"', "gpushim's own events"):
            words = words.replace("'", "&#39;")
            self.assertIn(words, own)
            self.assertNotIn(words, text)

    def test_what_has_no_product_is_not_said_to_be_unknown_to_tensor_cores(self):
        elementwise = "void at::native::elementwise_kernel<4, MulFunctor<float>>(int)"
        for name, words in ((elementwise, "no matrix product"),
                            ("mystery_kernel", "not known by name")):
            with self.subTest(name):
                text = self.page(self.make(folder=words, name=name))
                part = text[text.index('<figure id="kernel-time"'):]
                legend = part[part.index('<ul class="legend"'):]
                self.assertIn(f"</svg>{words}</li></ul>", legend[:legend.index("</ul>") + 5])

    def part(self, text, name):
        begin = text.index(f'<section id="{name}"')
        return html.unescape(text[begin:text.index("</section>", begin)])

    def test_a_kernel_has_one_name_everywhere_and_its_whole_name_once(self):
        run = self.folder / "run.db"
        full = ("void cutlass::Kernel2<cutlass_80_bf16_gemm_tn_align1>("
                + ", ".join(["cutlass_80_bf16_gemm_tn_align1::Params"] * 9) + ")")
        short = "cutlass_80_bf16_gemm_tn_align1"
        self.gpushim("analyze", self.make(name=full), "-o", run)
        text = self.page(run)
        kernels, timeline = self.part(text, "kernels"), self.part(text, "timeline")
        self.assertIn(f'<code>{short}</code><code class="full" id="kernel-0" tabindex="0">{full}</code>',
                      kernels)
        self.assertRegex(timeline, rf'data-more="kernel-0"><title>{short}: ')
        self.assertIn(f"\nlaunches {short}; ", timeline)
        self.assertEqual(html.unescape(text).count(full), 1)
        self.assertNotIn("void cutlass", timeline)  # told by a click

    def test_a_name_longer_than_what_is_kept_of_a_step_is_found_too(self):
        run, full = self.folder / "run.db", "void gemm<" + ", ".join(["Params<float>"] * 150) + ">()"
        self.gpushim("analyze", self.make(name=full), "-o", run)
        text = self.page(run)
        self.assertEqual(html.unescape(text).count(full), 1)
        self.assertIn('data-more="kernel-0"', self.part(text, "timeline"))

    def test_a_name_longer_than_what_is_kept_is_shortened_and_hashed_as_the_whole_one(self):
        # What is done stands behind what is kept.
        full = "void elementwise_kernel<" + "Params<float>, " * 150 + "MulFunctor<float>>()"
        self.gpushim("analyze", self.make(name=full), "-o", self.folder / "run.db")
        for options in ([], ["--redact"]):
            with self.subTest(options):
                text = self.page(self.folder / "run.db", *options)
                kernels, timeline = self.part(text, "kernels"), self.part(text, "timeline")
                short = re.search("<code>(.*?)</code>", kernels).group(1)
                self.assertEqual("MulFunctor" in short, not options)
                self.assertEqual(set(re.findall("\nlaunches ([^;]*);", timeline)), {short})
                self.assertIn(f"<title>{short}: ", timeline)

    def test_whole_names_of_kernels_are_cut_where_there_are_too_many_of_them(self):
        run = self.folder / "run.db"
        self.gpushim("analyze", self.make(), "-o", run)
        exporting.change(run, "INSERT INTO kernel (gpu_id, name, launches, timed, sum_ns)"
                              " WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
                              " SELECT min(gpu_id), 'void f' || i || '(' || printf('%.5000c', 'x') || ')',"
                              " 1, 1, 1000000000 - i FROM n, gpu GROUP BY i")
        names = re.findall(r'<code class="full"[^>]*>([^<]*)</code>', self.part(self.page(run), "kernels"))
        self.assertGreater(len(names), 100)
        self.assertLess(sum(map(len, names)), 220_000)
        self.assertGreater(len(names[0]), 5000)
        self.assertLess(len(names[-1]), 90)
        exporting.change(run, "UPDATE kernel SET name = replace(name, 'x', '&')")
        names = re.findall(r'<code class="full"[^>]*>([^<]*)</code>', self.page(run))
        self.assertLess(sum(map(len, names)), 300_000)  # as they are on the page: &amp;

    def test_a_kernel_takes_in_a_step_what_the_report_says_however_few_of_its_launches_were_timed(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        exporting.change(run, "UPDATE kernel SET timed = timed / 2, sum_ns = sum_ns / 2")
        kernel = json.loads(self.gpushim("report", run, "--json").stdout)["kernels"][0]
        self.assertLess(kernel["timed"], kernel["count"])
        part = self.part(self.page(run), "kernels")
        self.assertIn(">a step<", part)
        for ns in (kernel["per_step_ns"], kernel["sum_ns"] / kernel["timed"]):
            cell = re.search(rf'data-by="{ns:.0f}(\.\d+)?">([^<]+)<', part)
            self.assertTrue(cell, ns)
        self.assertNotIn(f'data-by="{kernel["sum_ns"]}"', part)

    def test_of_which_steps_a_table_speaks_is_said_where_it_is_not_the_usual_ones(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        report = json.loads(self.gpushim("report", run, "--json").stdout)
        counted, all_steps = report["steps"]["count"], report["kernels"][0]["count"]  # it runs once in each
        self.assertLess(counted, all_steps)
        text = self.page(run)
        said = (f"A step: mean of all {all_steps} steps; step times and what GPUs did are of the {counted}"
                " that count.")
        for part in ("kernels", "copies"):
            self.assertIn(said, self.part(text, part))
        timed = report["gpus"][0]["steps"]
        self.assertIn(f">of a step, mean of {timed} timed steps<", self.part(text, "gpus"))
        self.assertNotIn("A step: mean of all", self.page(self.make()))

    def test_of_few_launches_no_histogram_is_drawn(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        self.assertIn('id="histogram-kernel"', self.page(run))
        exporting.change(run, "DELETE FROM histogram WHERE what = 'kernel' AND rowid NOT IN"
                              " (SELECT rowid FROM histogram WHERE what = 'kernel' LIMIT 1);"
                              " UPDATE histogram SET count = 19 WHERE what = 'kernel'")
        text = self.page(run)
        self.assertNotIn('id="histogram-kernel"', text)
        self.assertIn("How long kernels ran: 19 are recorded, too few to draw.", text)
        exporting.change(run, "UPDATE histogram SET count = 20 WHERE what = 'kernel'")
        self.assertIn('id="histogram-kernel"', self.page(run))

    def test_the_head_is_not_said_again_where_trust_is(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        part = self.part(self.page(run), "trust")
        self.assertIn("<p>Evidence is good: all operations timed", part)
        for word in ("VERDICT", "STEP", "<pre"):
            self.assertNotIn(word, part)

    def test_below_the_verdict_stands_what_to_try_first(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        report = json.loads(self.gpushim("report", run, "--json").stdout)
        advice = next(finding["try"] for finding in report["findings"]
                      if finding["id"] == report["verdict"]["finding"])
        head = html.unescape(self.page(run)).split("<nav")[0]
        self.assertIn(f'</p><p><a href="#findings">Try</a>: {advice.split(". ")[0]}.</p>', head)

    def test_a_cause_is_told_in_words(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        text = html.unescape(self.page(run))
        self.assertIn("largest cause: the host waited before the input copy; ", text)
        self.assertRegex(text, r"<title>input_wait: [^<]*\nthe host waited before the input copy<")

    def rate_of(self, text):
        return int(re.search(r'Samples per second</dt><dd class="figure">([\d,]+)', text)[1].replace(",", ""))

    def test_where_steps_are_uneven_the_card_has_their_mean(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run, 40)
        given = ("--samples-per-step", "64", "--flops-per-sample", "1000000000")
        even = self.page(run, *given)
        self.assertNotIn(" on average; 95 of 100", even)
        rate = self.rate_of(even)
        exporting.change(run, "UPDATE step SET dur_ns = 90 * dur_ns WHERE number = 20")
        text = self.page(run, *given)
        self.assertRegex(text, r"Step, median</dt>.*?[\d.]+ ms on average; 95 of 100")
        self.assertLess(self.rate_of(text), rate / 2)
        self.assertRegex(text, "<dt>TFLOP/s per GPU</dt><dd[^>]*>[0-9.]+</dd><dd[^>]*>MFU not")
        self.assertIn("</svg>a step</li>", self.part(text, "steps"))  # of one rank it is no mean

    def timeline(self, run):
        text = self.page(run)
        part = text[text.index('<section id="timeline"'):]
        return html.unescape(part[:part.index("</section>")])

    def test_without_steps_an_excerpt_is_drawn_that_says_that_it_is_none(self):
        run = self.folder / "run.db"
        self.gpushim("analyze", self.make(), "-o", run)
        part = self.timeline(run)
        self.assertRegex(part, r"An excerpt of the run: rank 0, [\d.]+ [mu]s from [\d.]+ [mun]s on<")
        self.assertIn("No steps were found. This is no step but a part of the run", part)
        self.assertIn("since the excerpt begins", part)
        self.assertGreater(part.count("<title>gemm"), 10)
        for words in ("typical step", "next step begins", "of this step", "the step"):
            self.assertNotIn(words, part)

    def test_a_process_without_a_rank_has_its_number_in_all_tables(self):
        run = self.folder / "run.db"
        self.gpushim("analyze", self.make(), "-o", run)
        exporting.change(run, "UPDATE rank SET rank = NULL, pid = 4711")
        text = self.page(run)
        self.assertNotIn("a process", text)
        for part in ("copies", "launches"):
            begin = text.index(f'<section id="{part}"')
            self.assertIn(">process 4711<", text[begin:text.index("</section>", begin)])

    def test_an_excerpt_ends_where_calls_were_left_out(self):
        run = self.folder / "run.db"
        self.gpushim("analyze", self.make(), "-o", run)
        exporting.change(run, "DELETE FROM kept_call WHERE nth > 3; UPDATE kept_step SET left_out = 9")
        base = sqlite3.connect(run)
        length_ns, = base.execute("SELECT max(enter_ns) - (SELECT begin_ns FROM step s JOIN kept_step k USING"
                                  " (rank_id, step)) FROM kept_call").fetchone()
        base.close()
        part = self.timeline(run)
        self.assertIn(f"An excerpt of the run: rank 0, {length_ns / 1000:.1f} us from ", part)
        drawn = float(re.search(r'data-ns="([\d.]+)"', part)[1])
        self.assertAlmostEqual(drawn, length_ns, delta=1)

    def test_excerpts_of_ranks_that_share_no_time_are_not_drawn_beside_each_other(self):
        folder, run = self.folder / "ranks", self.folder / "run.db"
        folder.mkdir()
        made_traces.make_run(folder, 2)
        for trace in folder.glob("*.db"):
            made_traces.add_device_times(trace)
        self.gpushim("analyze", folder, "-o", run)
        both = self.timeline(run)
        self.assertIn("An excerpt of the run: 2 ranks, ", both)
        exporting.change(run, "UPDATE together_step SET offset_ns = offset_ns + 10000000000"
                              " WHERE rank_id = 1")
        apart = self.timeline(run)
        self.assertIn("An excerpt of the run: rank 0, ", apart)
        self.assertIn("1 of 2 ranks is drawn: there is no time of which the calls of all are kept.", apart)
        lengths = [float(re.search(r'data-ns="([\d.]+)"', part)[1]) for part in (both, apart)]
        self.assertAlmostEqual(*lengths, delta=1000)

    def test_what_is_not_known_inside_of_graphs_is_said(self):
        run, words = self.folder / "run.db", "gaps between the operations in it are not told apart"
        for workload, there in (("graph", True), ("input_wait", False)):
            with self.subTest(workload):
                for trace in self.folder.glob("*.db"):
                    trace.unlink()
                self.run_of(workload, run)
                text = self.page(run)
                for part in ("gpus", "timeline"):
                    self.assertEqual(words in self.part(text, part), there, part)
                spans = re.search("<title>graph: [^<]*\\nall of a graph: its operations, and gaps between ",
                                  self.part(text, "timeline"))
                self.assertEqual(spans is not None, there)

    def test_marks_are_spoken_of_where_there_are_some(self):
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        text = self.page(run)
        self.assertEqual("Marked: at least 1.2 times the median" in text, 'class="mark"' in text)
        self.assertNotEqual("None is marked as far longer" in text, 'class="mark"' in text)

    def test_the_parts_of_a_step_add_up_to_it(self):
        """To what the run's database says of the step."""
        run = self.folder / "run.db"
        self.run_of("input_wait", run)
        text = self.page(run)
        part = text[text.index('<section id="step-parts"'):]
        part = part[:part.index("</section>")]
        rows = re.findall(r"<tr><td[^>]*>(.*?)</tr>", part)
        self.assertTrue(rows)
        base = sqlite3.connect(run)
        steps = [row[0] for row in base.execute(
            "SELECT avg(window_ns) FROM v_gpu_counted WHERE basis = 'steps' GROUP BY gpu_id")]
        base.close()
        for row, step_ns in pairs(rows, steps):
            first, *parts = map(float, re.findall(r'data-by="([0-9.e+]+)"', row))
            self.assertGreater(len([part for part in parts if part > 0]), 1)
            self.assertAlmostEqual(first, step_ns, delta=1)
            self.assertAlmostEqual(sum(parts), first, delta=1 + len(parts))
        columns = re.findall(r'class="over"><title>(?:step \d+|mean of)', part)
        self.assertTrue(columns)

    def test_the_same_run_makes_the_same_page(self):
        self.make()
        first = self.page(self.folder / "run")
        self.assertEqual(first, self.page(self.folder / "run"))
        self.assertEqual(first.count("Content-Security-Policy"), 1)

    def test_what_is_not_recorded_is_said(self):
        page = page_reader.Reader(self.page(self.make(timed=False)))
        missing = [attributes for attributes in page.of("p") if attributes.get("class") == "missing"]
        self.assertGreaterEqual(len(missing), 4)
        self.assertIn("not recorded", page.text())

    def test_a_page_takes_no_other_files_place(self):
        trace = self.make()
        before = trace.read_bytes()
        self.gpushim("report", trace, "--html", trace, expect=2)
        self.assertEqual(trace.read_bytes(), before)
        done = self.gpushim("report", trace, "--html", self.folder / "none" / "page.html", expect=3)
        self.assertIn("page.html", done.stderr)

    def test_redacted_it_names_nobody(self):
        trace = self.make(name="secret_kernel")
        base = sqlite3.connect(trace)
        base.execute("UPDATE process SET executable = 'secret_program'")
        base.execute("UPDATE meta SET value = 'secret_host' WHERE key = 'host'")
        base.execute("UPDATE thread SET name = 'secret_thread'")
        base.commit()
        base.close()
        self.assertIn("secret_kernel", self.page(trace))
        hidden = self.page(trace, "--redact")
        self.assertNotIn("secret", hidden)
        self.assertIn("kernel-", hidden)

    def test_names_are_text(self):
        """Whatever things are called: no element and no attribute that is not ours, and none that refers."""
        for kind, name in NAMES.items():
            with self.subTest(kind):
                trace = self.make(kind, name)
                base = sqlite3.connect(trace)
                for statement in EVERYWHERE:
                    base.execute(statement, {"name": name})
                base.commit()
                base.close()
                text = self.page(trace)
                self.assertEqual(page_reader.faults(text), [])
                self.assertLess(len(text), 400_000)
