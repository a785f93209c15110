"""The timeline of a page with several ranks: under each other on one clock, with the step before, and what a
click tells of a span."""
import contextlib
import re
import sqlite3
import sys
import unittest

import box
import browser
import cli
import exporting
import optional
import page_reader
from pairs import pairs
import trained

STEPS = 12
# Of the first timeline: of each rank, by its heading, its spans (class, left, right, lines).
SPANS = """(() => {
  const svg = document.querySelector('svg.moves'), ranks = [];
  const tops = Array.from(svg.parentElement.querySelectorAll('.heading'),
    text => [text.textContent, text.y.baseVal[0].value]);
  for (const [name, top] of tops) ranks.push([name, top, []]);
  for (const rect of svg.querySelectorAll('rect')) {
    const rank = ranks.findLast(([, top]) => rect.y.baseVal.value > top - 16);
    const left = rect.x.baseVal.value;
    rank?.[2].push([rect.getAttribute('class'), left, left + rect.width.baseVal.value,
                    rect.textContent.split('\\n')]);
  }
  return ranks.map(([name, , spans]) => [name, spans]);
})()"""


class Ranks(cli.Case):
    def trained(self, ranks=2):
        trained.train(self.folder / "t", ranks, steps=STEPS)
        return [self.folder / "t" / f"{rank}.db" for rank in range(ranks)]

    def page_of(self, *words):
        self.page = self.folder / "page.html"
        self.gpushim("report", *words, "--html", self.page)
        return self.page.read_text(encoding="utf-8")

    @staticmethod
    def on_another_host(trace):
        exporting.change(trace, """
            UPDATE meta SET value = 'another' WHERE key IN ('boot_id', 'host');
            UPDATE meta SET value = value + 5000000000 WHERE key = 'started_real_ns';""")


class AsText(Ranks):
    def test_the_clock_of_another_host_is_said_to_be_by_collectives(self):
        traces = self.trained()
        self.assertNotIn("Clocks of other hosts", self.page_of(*traces))
        self.on_another_host(traces[1])
        text = self.page_of(*traces)
        self.assertRegex(text, r"Clocks of other hosts \(another\) are aligned by collectives, to within \d")
        self.assertEqual(page_reader.faults(text), [])

    def test_where_no_ranks_could_be_compared_no_straggler_is_not_known_and_not_none(self):
        one, two = self.trained()
        card = '<dt>Straggler</dt><dd class="figure">'
        self.assertIn(f"{card}not known</dd>", self.page_of(one))
        self.assertIn("Which rank holds the others back is not known: 1 of 2 ranks", self.page.read_text())
        self.assertNotIn("not known</dd>", self.page_of(one, two))
        self.assertIn(card, self.page.read_text())

    def test_a_collective_says_what_it_is_where_its_kernel_does_not(self):
        run = self.folder / "run.db"
        self.gpushim("analyze", *self.trained(), "-o", run)
        exporting.change(run, "UPDATE kept_text SET text = 'ncclDevKernel_Generic' WHERE text LIKE 'nccl%'"
                              " AND text LIKE '%AllReduce\\_%' ESCAPE '\\'")
        titles = re.findall("<title>ncclDevKernel_Generic: ([^<]*)</title>", self.page_of(run))
        self.assertTrue([words for words in titles if words.endswith("\ncollective: allreduce, 4.00 MB")])

    def test_where_nothing_is_reduced_there_is_no_card_of_it(self):
        run, card = self.folder / "run.db", "<dt>AllReduce per step</dt><dd"
        self.gpushim("analyze", *self.trained(), "-o", run)
        self.assertIn(card, self.page_of(run))
        exporting.change(run, "UPDATE allreduce_check SET params_implied = NULL, bytes_per_step = NULL,"
                              " measured_ns = NULL, expected_ns = NULL, why = 'nobody knows how much'")
        untold = card + ' class="figure">not recorded</dd><dd[^>]*>nobody knows how'
        self.assertRegex(self.page_of(run), untold)
        exporting.change(run, "UPDATE OR REPLACE collective_stat SET op = 'broadcast'")
        self.assertNotIn(card, self.page_of(run))

    def test_a_rank_that_is_late_in_too_few_steps_is_not_known_to_be_one(self):
        trained.train(self.folder / "t", 4, "--slow-rank", 2, steps=5)
        text = self.page_of(*self.folder.glob("t/*.db"))
        self.assertIn('<dt>Straggler</dt><dd class="figure">not known</dd>', text)
        self.assertIn("Which rank holds the others back is not known: rank 2 has most own work", text)

    def test_hosts_that_never_met_are_said_to_be_placed_by_wall_clocks(self):
        traces = self.trained(3)
        for trace, host in zip(traces, ("first", "another", "other")):
            exporting.change(trace, "DELETE FROM collective; DELETE FROM communicator;"
                                    f"UPDATE meta SET value = '{host}' WHERE key IN ('boot_id', 'host');")
        text = self.page_of(*traces)
        self.assertIn("Of another, other no collective tells the clock beside the first rank", text)
        self.assertRegex(text, "placed by its host.{1,6}s wall clock")
        self.assertIn("Some ranks have no collective in common", text)
        # What they waited is not known, so their own work is not either.
        for words in ("own work,? [0-9]", 'id="own-work"', 'id="waits"'):
            self.assertNotRegex(text, words)
        self.assertIn("own work and waits: its collectives are not linked to calls of NCCL", text)

    def test_a_straggler_leads_to_the_ranks_under_each_other(self):
        trained.train(self.folder / "t", 4, "--slow-rank", 2, steps=25)
        text = self.page_of(*self.folder.glob("t/*.db"))
        self.assertIn('<section id="ranks"', text)
        finding = text[text.index("<h3>A rank that holds the others back: predicted gain"):]
        self.assertIn(" [straggler]<", finding[:finding.index("</li>")])
        links = re.findall(r'<a href="#(\w+)">([^<]+)</a>', finding[:finding.index("</li>")])
        self.assertEqual(links, [("ranks", "ranks"), ("timeline", "timeline: ranks under each other")])
        self.assertRegex(text, r'class="heading">rank 2 · the straggler · most own work, [\d.]+ ms<')

    def test_the_line_that_launched_a_kernel_is_told(self):
        """By samples; calls of 2 ms are seen on any machine."""
        program = box.ROOT / "test" / "e2e" / "program" / "python_lines" / "launches.py"
        self.traced(sys.executable, program, "400", GPUSHIM_PYTHON="auto", GPUSIM_LAUNCH_NS="2000000",
                    GPUSHIM_BUDGET="100%")
        text = self.page_of(*self.folder.glob("*.db"))
        self.assertRegex(text, r"first__1us: [^<]*\nPython: launches.py:17 \(launch\), \d+ of \d+ samples<")

    def test_redacted_it_names_no_range_and_no_line(self):
        traces = self.trained()
        run = self.folder / "run.db"
        self.gpushim("analyze", *traces, "-o", run)
        base = sqlite3.connect(run)
        base.execute("INSERT INTO kept_text SELECT rank_id, 90000, 'secret_range' FROM rank")
        base.execute("INSERT INTO kept_text SELECT rank_id, 90001, 'secret.py:31 (step), 2 of 3 samples'"
                     " FROM rank")
        base.execute("UPDATE kept_call SET range_id = 90000, line_id = 90001 WHERE kind = 'launch'")
        base.execute("INSERT INTO kept_call (rank_id, step, nth, kind, enter_ns, dur_ns, tid, flags, before)"
                     " SELECT rank_id, step, 1000000, 'range', enter_ns, 1, tid, 0, 0 FROM kept_call"
                     " WHERE nth = 0")
        base.commit()
        base.close()
        text = self.page_of(run)
        self.assertIn("range: secret_range", text)
        self.assertIn("Python: secret.py:31 (step), 2 of 3 samples", text)
        self.assertNotIn("secret", self.page_of(run, "--redact"))


@unittest.skipUnless(browser.program(), optional.lacks("browser"))
class InABrowser(Ranks):
    def test_ranks_of_two_hosts_stand_under_each_other_when_they_met(self):
        traces = self.trained()
        self.on_another_host(traces[1])
        self.page_of(*traces)
        with browser.Page(self.page) as page:
            ranks = page.ask(SPANS)
            self.assertEqual([re.sub(r" · .*", "", name) for name, _ in ranks], ["rank 0", "rank 1"])
            ends = [[right for look, _, right, lines in spans if look == "f5" and lines[0].startswith("nccl")]
                    for _, spans in ranks]
            self.assertGreater(len(ends[0]), 1)
            for one, other in pairs(*ends):
                self.assertAlmostEqual(one, other, delta=10)  # of 630, which are some milliseconds
            self.assertEqual(page.complaints, [])

    def test_a_rank_whose_clock_is_ahead_is_drawn_where_it_was(self):
        run = self.folder / "run.db"
        self.gpushim("analyze", *self.trained(), "-o", run)
        drawn = []
        for _ in range(2):
            self.page_of(run)
            with browser.Page(self.page) as page:
                drawn.append(page.ask(SPANS))
            with contextlib.closing(sqlite3.connect(run)) as base, base:
                for table, column in (("step", "begin_ns"), ("kept_call", "enter_ns"),
                                      ("kept_call", "start_ns"), ("collective_instance", "start_ns")):
                    base.execute(f"UPDATE {table} SET {column} = {column} + 7000000000 WHERE rank_id = 1")
                base.execute("UPDATE gap SET longest_from_ns = longest_from_ns + 7000000000 WHERE gpu_id IN"
                             " (SELECT gpu_id FROM gpu WHERE rank_id = 1)")
                base.execute("UPDATE together_step SET offset_ns = -7000000000, clock = 'collectives'"
                             " WHERE rank_id = 1")
        self.assertGreater(len(drawn[0][1][1]), 50)
        self.assertEqual(drawn[0], drawn[1])

    def test_what_the_step_before_left_running_is_pale_and_says_so(self):
        self.page_of(*self.trained())
        with browser.Page(self.page) as page:
            for _, spans in page.ask(SPANS):
                before = [lines for look, _, _, lines in spans if look.endswith(" before") and len(lines) > 1]
                self.assertTrue(before)
                for lines in before:
                    self.assertRegex(lines[1], "of the step before$")
                own = [lines for look, _, _, lines in spans if not look.endswith(" before")]
                self.assertNotIn("of the step before", str(own))
            opacity = page.ask("getComputedStyle(document.querySelector('.moves .before')).opacity")
            self.assertLess(float(opacity), 1)

    def test_kernels_have_the_colour_of_their_family(self):
        self.page_of(*self.trained())
        with browser.Page(self.page) as page:
            looks = {}
            for _, spans in page.ask(SPANS):
                for look, _, _, lines in spans:
                    if len(lines) > 2:
                        looks.setdefault(lines[0].split(":")[0].split("__")[0], set()).add(look.split()[0])
            self.assertEqual(looks["gemm_fwd"], {"f0"})
            self.assertEqual(looks["sgd_update"], {"f8"})
            legend = page.ask("document.querySelector('#timeline .legend').textContent")
            for words in ("matrix product", "elementwise, optimizer", "collective", "copy to the device"):
                self.assertIn(words, legend)

    def test_a_click_tells_where_a_span_comes_from(self):
        self.page_of(*self.trained())
        with browser.Page(self.page) as page:
            rect = ("Array.from(document.querySelectorAll('svg.moves rect')).find(e => !e.matches('.before')"
                    " && e.textContent.startsWith('gemm_fwd') && e.textContent.includes('called'))")
            page.ask(f"{rect}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
            said = page.ask("document.querySelector('.says').textContent").split("\n")
            self.assertRegex(said[0], r"^gemm_fwd__\w+: [\d.]+ us, from [\d.]+ [mu]s on$")
            self.assertRegex(said[1], r"^rank \d, GPU \d, stream \d+$")
            self.assertRegex(said[2], r"^called by cuLaunchKernel [\d.]+ [mu]s into the step, which took "
                                      r"[\d.]+ us; began [\d.]+ [mu]s after the call did")
            self.assertEqual(said[3:], ["range: not recorded", "Python: not recorded"])
            self.assertGreater(page.ask("document.querySelector('.says').getClientRects()[0].height"), 80)

    def test_on_paper_it_is_light_and_a_drawing_is_on_one_page(self):
        """Of somebody who looks at it in the dark; without what only a pointer can use."""
        trained.train(self.folder / "t", 8, steps=STEPS)
        self.page_of(*(self.folder / "t" / f"{rank}.db" for rank in range(8)))
        with browser.Page(self.page, dark=True) as page:
            look = "getComputedStyle(document.querySelector('.moves .f0')).fill"
            of_screen = page.ask(look)
            dark = [{"name": "prefers-color-scheme", "value": "dark"}]
            page.do("Emulation.setEmulatedMedia", media="print", features=dark)
            page.do("Emulation.setDeviceMetricsOverride", width=718, height=1046, deviceScaleFactor=1,
                    mobile=False)  # A4 within Chromium's margins
            ground = page.ask("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(ground, "rgb(255, 255, 255)")
            self.assertNotEqual(page.ask(look), of_screen)
            shown = "Array.from(document.querySelectorAll('{}'), e => e.getClientRects().length > 0)"
            for what in ("nav", ".zoom", ".says", ".see", "details:not([open])", "#text"):
                self.assertNotIn(True, page.ask(shown.format(what)), what)
            heights = page.ask("Array.from(document.querySelectorAll('figure'),"
                               " e => e.getBoundingClientRect().height)")
            self.assertLess(max(heights), 1046)
            self.assertGreater(max(heights), 700)  # eight ranks
            self.assertLessEqual(page.ask("document.documentElement.scrollWidth"), 718)
            self.assertTrue(page.do("Page.printToPDF")["data"])
