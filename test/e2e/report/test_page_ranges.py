"""The program's own ranges in the timeline of a page: lanes that are nested, with what they launched."""
import contextlib
import html
import re
import sqlite3
import unittest

import browser
import optional
import page_reader
import preload
import stepped_program

BEFORE = r"""
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
void gpushim_step(const char*, long) __attribute__((weak));
void gpushim_range_push(const char*) __attribute__((weak));
void gpushim_range_pop(void) __attribute__((weak));
#define PUSH(name) (nvtxRangePushA(name), gpusim_advance_ns(1000))
#define POP (nvtxRangePop(), gpusim_advance_ns(1000))
static void* load(void* unused) {
    PUSH("decode");
    POP;
    return unused;
}
static void load_beside(void) {
    pthread_t loader;
    pthread_create(&loader, 0, load, 0);
    pthread_join(loader, 0);
}
"""
BODY = r"""
    for (int i = 0; i < 12; ++i) {
        gpushim_step(0, 0);
        nvtxRangeId_t whole = nvtxRangeStartA("batch");
        PUSH("forward");
        launch("own__50us", stream);
        PUSH("attention");
        launch("own__50us", stream);
        launch("own__50us", stream);
        PUSH("softmax"); PUSH("rows"); PUSH("deepest");
        POP; POP; POP; POP; POP;
        gpushim_range_push("<back>ward");
        launch("own__50us", stream);
        gpushim_range_pop();
        MUST(cuStreamSynchronize(stream));
        nvtxRangeEnd(whole);
        LOAD
        gpusim_advance_ns(100000);
    }
"""
# Of the first timeline: of each span its words, and its place from the top.
SPANS = """Array.from(document.querySelector('svg.moves').querySelectorAll('rect.f13'),
  rect => [rect.textContent.split('\\n'), rect.y.baseVal.value])"""


class OwnRanges(preload.PreloadCase):
    def page_of(self, body=BODY, load="", *words):
        source = stepped_program.HEAD + BEFORE + stepped_program.MAIN.replace("BODY", body)
        program = preload.compiled(source.replace("LOAD", load), self.folder / "program", "-l:libgpusim.so",
                                   "-lpthread")
        self.traced([program], GPUSHIM_BUDGET="100%", GPUSHIM_DEVICE_TIME="events", **stepped_program.STEPPED)
        self.page = self.folder / "page.html"
        return self.again(self.the_trace(), *words)

    def again(self, *words):
        done = preload.box.run([preload.ANALYZER, "report", "--html", self.page, *words], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = self.page.read_text(encoding="utf-8")
        self.assertEqual(page_reader.faults(text), [])
        return html.unescape(text)

    def test_they_say_what_they_are_and_what_they_launched(self):
        text = self.page_of()
        hint = r": [\d.]+ \w+, from [\d.]+ \w+ on\n[^\n<]*, thread program, a range\n"
        for name, words in (("forward", "launched 3 operations, which ran 150 us in all<"),
                            ("attention", "launched 2 operations, which ran 100 us in all\n"
                                          "nested in forward<"),
                            ("softmax", "launched nothing\nnested in attention<"),
                            ("<back>ward", "launched 1 operation, which ran 50.0 us in all<")):
            self.assertRegex(text, f"{re.escape(name)}{hint}{re.escape(words)}")
        self.assertRegex(text, r">batch: [^\n<]*\n[^\n<]*, a range that any thread may end<")
        self.assertNotIn(">deepest: ", text)  # too deep
        self.assertIn("range of the program", text)
        self.assertIn("Ranges of the program are those that lie in the step as a whole", text)

    def test_where_there_are_none_nothing_is_said_of_them(self):
        marks = r"PUSH[^;]*;|POP;|nvtxRangeId_t[^;]*;|nvtxRangeEnd[^;]*;|gpushim_range[^;]*;"
        text = self.page_of(re.sub(marks, "", BODY))
        for words in (">ranges<", "range of the program", "Ranges of the program"):
            self.assertNotIn(words, text)

    def test_of_several_threads_each_has_lanes(self):
        text = re.sub(r'<div class="chart telephone">.*?</div>', "", self.page_of(load="load_beside();"),
                      flags=re.S)
        labels = re.findall(r">ranges, (\w+)<", text)
        self.assertEqual(len(labels), 2 * 3)  # of a typical and of the worst step
        for of_step in (labels[:3], labels[3:]):
            self.assertEqual(len(set(of_step) - {"process"}), 2)

    def test_a_step_that_is_kept_in_part_says_at_least(self):
        self.page_of()
        run = self.folder / "run.db"
        done = preload.box.run([preload.ANALYZER, "analyze", self.the_trace(), "-o", run], sim=False)
        self.assertEqual(done.returncode, 0)
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.execute("UPDATE kept_step SET left_out = 1")
            base.execute("UPDATE kept_call SET ran_ns = NULL WHERE kind = 'launch' AND nth ="
                         " (SELECT min(nth) FROM kept_call k WHERE k.kind = 'launch' AND"
                         "  k.step = kept_call.step)")
        text = self.again(run)
        self.assertIn("launched at least 3 operations; the 2 with device times ran 100 us in all", text)
        self.assertNotIn("attention", self.again(run, "--redact"))

    @unittest.skipUnless(browser.program(), optional.lacks("browser"))
    def test_they_are_nested_and_found_and_said(self):
        self.page_of()
        with browser.Page(self.page) as page:
            tops = {lines[0].split(":")[0]: top for lines, top in page.ask(SPANS)}
            names = ("<back>ward", "attention", "softmax")
            self.assertEqual([tops[name] - tops["forward"] for name in names], [0, 24, 48])
            figure = "document.querySelector('svg.moves').closest('figure')"
            page.ask(f"{figure}.querySelector('.zoom input').focus()")
            page.type("attention: ")
            page.press("Enter")
            said = page.ask(f"{figure}.querySelector('.says').textContent")
            self.assertRegex(said, "^attention: ")
            self.assertIn("nested in forward", said)
            self.assertEqual(page.ask(f"{figure}.querySelector('output').textContent"), "1 found")
            self.assertEqual(page.complaints, [])
