"""The page of a run in a headless Chromium: it asks for nothing, complains of nothing, and works by keys."""
import re
import unittest

import box
import browser
import cli
import made_traces
import optional
from pairs import pairs

TABS = 20  # at most so many until something is reached

# Words that the edge of their drawing cuts off.
OUTSIDE = """Array.from(document.querySelectorAll('svg[role=img] text')).filter(e => {
    const box = e.getBoundingClientRect(), chart = e.closest('svg[role=img]').getBoundingClientRect();
    return box.width > 0 && (box.left < chart.left - 1 || box.right > chart.right + 1); })
    .map(e => e.textContent)"""


@unittest.skipUnless(browser.program(), optional.lacks("browser"))
class InABrowser(cli.Case):
    def setUp(self):
        super().setUp()
        trace = self.folder / "a.db"
        made_traces.make(trace)
        made_traces.add_device_times(trace)
        self.place = self.folder / "page.html"
        self.gpushim("report", trace, "--html", self.place)

    def go_to(self, page, what):
        """By Tab alone, to what that expression says of the focused element."""
        for _ in range(TABS):
            page.press("Tab")
            if page.ask(f"(e => {what})(document.activeElement)"):
                return
        self.fail(f"not reached by Tab: {what}")

    def test_it_asks_for_nothing_and_tables_are_sorted_by_keys(self):
        with browser.Page(self.place) as page:
            page.ask("location.hash = 'trust'")  # as a link of the contents does
            self.go_to(page, "e.tagName === 'BUTTON' && e.closest('#trust th.number') !== null")
            column = "Array.from(document.activeElement.closest('table').tBodies[0].rows," \
                     " row => Number(row.cells[1].dataset.by))"
            for order, reverse in (("descending", True), ("ascending", False)):
                page.press("Enter")
                self.assertEqual(page.ask("document.activeElement.closest('th').ariaSort"), order)
                values = page.ask(column)
                self.assertGreater(len(values), 2)
                self.assertEqual(values, sorted(values, reverse=reverse))
            self.go_to(page, "e.tagName === 'SUMMARY'")
            page.press("Enter")
            self.assertTrue(page.ask("document.activeElement.parentElement.open"))
            self.assertEqual(page.requests, [self.place.resolve().as_uri()])
            self.assertEqual(page.complaints, [])

    def test_dark_narrow_and_without_scripts(self):
        grounds = set()
        for dark, width, scripts in ((False, 1200, True), (True, 1200, True), (False, 360, False)):
            with self.subTest(dark=dark, width=width), \
                    browser.Page(self.place, width=width, dark=dark, scripts=scripts) as page:
                self.assertEqual(page.complaints, [])
                self.assertLessEqual(page.ask("document.documentElement.scrollWidth"), width)
                self.assertEqual(page.ask("document.querySelectorAll('th button').length > 0"), scripts)
                self.assertGreater(page.ask("document.querySelectorAll('section svg[role=img]').length"), 2)
                grounds.add(page.ask("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(grounds), 2)

    def test_no_word_is_cut_off_by_the_edge_of_its_drawing(self):
        """Names of kernels are long, and a mark may stand at the end of its axis."""
        trace = self.folder / "b.db"
        made_traces.make(trace, kernel="ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x1_tn_7")
        made_traces.add_device_times(trace)
        self.gpushim("report", trace, "--html", self.place)
        for width in (1200, 390):
            with self.subTest(width), browser.Page(self.place, width=width) as page:
                self.assertEqual(page.ask(OUTSIDE), [])

    def test_on_a_telephone_no_drawing_is_moved_below_its_window(self):
        for scripts in (True, False):
            with self.subTest(scripts=scripts), \
                    browser.Page(self.place, width=390, scripts=scripts) as page:
                moved, shown = (page.ask(
                    "Array.from(document.querySelectorAll('.chart')).filter(e => e.clientWidth > 0"
                    f" && {which}).map(e => e.querySelector('.moves') !== null)")
                    for which in ("e.scrollWidth > e.clientWidth + 1", "true"))
                self.assertEqual(moved, [])
                self.assertEqual(shown.count(True), 1)
                self.assertGreater(shown.count(False), 4)

    def test_on_paper_nothing_is_behind_an_edge(self):
        with browser.Page(self.place, width=720, dark=True) as page:
            page.do("Emulation.setEmulatedMedia", media="print")
            cut = page.ask("Array.from(document.querySelectorAll('pre, .chart, .table')).filter("
                           "e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)"
                           ".map(e => e.className || e.tagName)")
            self.assertEqual(cut, [])
            ground = page.ask("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(ground, "rgb(255, 255, 255)")
            self.assertEqual(page.ask("getComputedStyle(document.querySelector('.chart')).backgroundImage"),
                             "none")

    def test_what_the_policy_refuses_is_heard(self):
        """The test's own eyes: a page that does ask, and runs what it may not, is caught."""
        text = self.place.read_text(encoding="utf-8")
        self.place.write_text(text.replace("</main>", "<img src='file:///gpushim-is-not-there.png'>"
                                           "<p onclick='1'>x</p><script>document.title = 'owned'</script>"
                                           "</main>"), encoding="utf-8")
        with browser.Page(self.place) as page:
            self.assertTrue(page.complaints)
            self.assertNotEqual(page.ask("document.title"), "owned")


FIRST = "document.querySelector('svg.moves')"


@unittest.skipUnless(browser.program(), optional.lacks("browser"))
class Timeline(cli.Case):
    """The picture of a step can be zoomed, moved and searched, and says what was clicked."""

    def setUp(self):
        super().setUp()
        workloads = box.TOOLS / "answer/workloads.py"
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_BUDGET": "100%"}
        done = self.traced("python3", workloads, "input_wait", "12", **knobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.place = self.folder / "page.html"
        self.gpushim("report", *self.folder.glob("*.db"), "--html", self.place)

    def widths(self, page):
        return page.ask(f"Array.from({FIRST}.querySelectorAll('rect'), e => e.width.baseVal.value)")

    def lefts(self, page):
        return page.ask(f"Array.from({FIRST}.querySelectorAll('rect'), e => e.x.baseVal.value)")

    def test_keys_zoom_and_move_it(self):
        with browser.Page(self.place) as page:
            page.ask(f"{FIRST}.closest('.chart').focus()")
            widths, lefts = self.widths(page), self.lefts(page)
            longest = widths.index(max(widths))
            page.press("+")
            self.assertAlmostEqual(self.widths(page)[longest], 1.5 * widths[longest], delta=0.1)
            at = self.lefts(page)[longest]
            page.press("ArrowRight")
            room = page.ask(f"{FIRST}.width.baseVal.value")
            self.assertAlmostEqual(at - self.lefts(page)[longest], min(0.2, 0.5 - 0.25) * room, delta=1)
            page.press("-")
            self.assertAlmostEqual(self.widths(page)[longest], widths[longest], delta=0.1)
            page.press("+")
            page.press("0")
            for before, now in pairs(lefts, self.lefts(page)):
                self.assertAlmostEqual(before, now, delta=0.02)
            self.assertEqual(page.complaints, [])

    def test_wheel_drag_and_click(self):
        with browser.Page(self.place) as page:
            widths = self.widths(page)
            longest = widths.index(max(widths))
            page.ask(f"{FIRST}.scrollIntoView({{block: 'center'}})")
            x, y = page.ask(f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
                            f"({FIRST}.querySelectorAll('rect')[{longest}].getBoundingClientRect())")
            click = {"button": "left", "buttons": 1, "clickCount": 1}
            page.mouse("mousePressed", x, y, **click)
            page.mouse("mouseReleased", x, y, **click)
            words = page.ask(f"{FIRST}.querySelectorAll('rect')[{longest}].textContent")
            self.assertEqual(page.ask(f"{FIRST}.closest('figure').querySelector('.says').textContent"), words)
            page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
            page.ask("new Promise(requestAnimationFrame)")
            self.assertAlmostEqual(self.widths(page)[longest], 1.25 * widths[longest], delta=0.1)
            at = self.lefts(page)[longest]
            page.mouse("mousePressed", x, y, **click)
            page.mouse("mouseMoved", x + 20, y, **click)
            page.mouse("mouseReleased", x + 20, y, **click)
            self.assertGreater(self.lefts(page)[longest], at)

    def test_a_click_tells_the_whole_name_of_a_kernel_and_so_does_a_hint(self):
        trace, full = self.folder / "b.db", "void f<" + ", ".join(["half"] * 40) + ">(int)"
        made_traces.make(trace, kernel=full)
        made_traces.add_device_times(trace)
        self.gpushim("report", trace, "--html", self.place)
        for width in (1200, 390):
            with self.subTest(width), browser.Page(self.place, width=width) as page:
                shown = "(e => e.closest('.chart').clientWidth > 0)"
                words = page.ask(f"Array.from(document.querySelectorAll('rect[data-more]')).filter({shown})"
                                 ".map(e => e.querySelector('title').textContent)")
                self.assertTrue(words)
                for each in words:
                    self.assertIn(full, each)
                page.ask(f"Array.from(document.querySelectorAll('rect[data-more]')).find({shown})"
                         ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
                said = "Array.from(document.querySelectorAll('.says')).map(e => e.textContent).join()"
                self.assertIn(full, page.ask(said))
                # In its table it is one line, and all of it once it is clicked.
                page.ask("document.querySelector('.full').closest('details').open = true")
                lines = "document.querySelector('.full').getClientRects()[0].height"
                one = page.ask(lines)
                page.ask("document.querySelector('.full').focus()")
                self.assertGreater(page.ask(lines), 1.5 * one)

    def test_what_is_searched_stands_out(self):
        with browser.Page(self.place) as page:
            name = page.ask(f"{FIRST}.querySelector('rect').textContent.split(': ')[0]")
            page.ask(f"{FIRST}.closest('figure').querySelector('.zoom input').focus()")
            page.type(name)
            faded = page.ask(f"Array.from({FIRST}.querySelectorAll('rect'),"
                             " e => [e.matches('.faded'), e.textContent])")
            for is_faded, words in faded:
                self.assertEqual(is_faded, name.lower() not in words.lower())
            self.assertIn(True, [is_faded for is_faded, _ in faded])
            page.press("Enter")
            self.assertIn(name, page.ask(f"{FIRST}.closest('figure').querySelector('.says').textContent"))

    def test_a_finding_leads_to_its_evidence(self):
        with browser.Page(self.place) as page:
            links = page.ask("Array.from(document.querySelectorAll('#findings .see a'),"
                             " e => [e.getAttribute('href'), e.dataset.find ?? null, e.hidden])")
            self.assertIn(["#gpus", None, False], links)
            self.assertIn(["#timeline", "input_wait", False], links)
            page.ask("document.querySelector('a[data-find=input_wait]').click()")
            said = page.ask("document.activeElement.closest('figure').querySelector('.zoom input').value")
            self.assertEqual(said, "input_wait")
            seen = page.ask("(r => [r.x, r.right, innerWidth])(Array.from(document.activeElement"
                            ".querySelectorAll('rect')).find(e => e.textContent.startsWith('input_wait'))"
                            ".getBoundingClientRect())")
            self.assertTrue(seen[0] < seen[2] and seen[1] > 0, seen)
            self.assertEqual(page.complaints, [])

    def test_a_link_leads_to_the_worst_step_that_has_it_and_one_to_nothing_is_hidden(self):
        text = self.place.read_text(encoding="utf-8")
        link = re.search('<a href="#timeline" data-find="input_wait">[^<]*</a>', text)[0]
        self.place.write_text(text.replace(link, link + link.replace("input_wait", "nothing like this")),
                              encoding="utf-8")
        with browser.Page(self.place) as page:
            hidden = page.ask("Array.from(document.querySelectorAll('#findings .see a[data-find]'),"
                              " e => [e.dataset.find, e.getClientRects().length === 0])")
            self.assertIn(["input_wait", False], hidden)
            self.assertIn(["nothing like this", True], hidden)
            having = page.ask(f"{self.SHOWN}.map(e => Array.from(e.querySelectorAll('rect')).some("
                              "rect => rect.textContent.includes('input_wait')))")
            self.assertEqual(having, [True, True])
            page.ask("document.querySelector('a[data-find=input_wait]').click()")
            self.assertEqual(page.ask(f"{self.SHOWN}.findIndex(e => e.closest('.chart') ==="
                                      " document.activeElement)"), 1)
            begin, end, left, right = page.ask(
                "(chart => (r => (m => [r.x, r.right, m.x, m.right])(chart.querySelector('.moves')"
                ".getBoundingClientRect()))(Array.from(chart.querySelectorAll('rect')).find(e =>"
                " e.textContent.includes('input_wait')).getBoundingClientRect()))(document.activeElement)")
            self.assertGreater(end - begin, 0.15 * (right - left))
            self.assertLess(abs((begin + end) / 2 - (left + right) / 2), 0.4 * (right - left))
            thin = f"Array.from({self.SHOWN}[1].querySelectorAll('rect')).find(e =>" \
                   " e.width.baseVal.value > 1 && e.width.baseVal.value < 50)"
            page.press("0")
            page.ask(f"window.thin = {thin}; document.querySelector('a[data-find=input_wait]').dataset.find"
                     " = thin.textContent.split('\\n')[0]")
            look = "[thin.x.baseVal.value, thin.width.baseVal.value]"
            _, width = page.ask(look)
            page.ask("document.querySelector('#findings .see a[data-find]:not([hidden])').click()")
            at, wide = page.ask(look)
            left, room = page.ask(f"(e => [e.x.baseVal.value, e.width.baseVal.value])({self.SHOWN}[1])")
            self.assertGreater(wide, 2 * width)
            self.assertTrue(left <= at <= left + room, (left, at, room))

    SHOWN = "Array.from(document.querySelectorAll('.chart svg.moves')).filter(" \
            "e => e.closest('.chart').clientWidth > 0)"

    def test_on_a_telephone_it_is_zoomed_by_buttons_and_told_by_a_touch_beside_a_span(self):
        with browser.Page(self.place, width=390) as page:
            self.assertEqual(page.ask("Array.from(document.querySelectorAll('.zoom, .says')).filter("
                                      "e => e.clientWidth > 0).length"), 2 * page.ask(f"{self.SHOWN}.length"))
            page.ask(f"{self.SHOWN}[0].scrollIntoView({{block: 'center'}})")
            x, y, words = page.ask(
                f"(r => [r.x + r.width + 3, r.y + r.height / 2, r.words])(Array.from({self.SHOWN}[0]"
                ".querySelectorAll('rect'), e => Object.assign(e.getBoundingClientRect(),"
                " {words: e.textContent})).filter((r, i, all) => r.right < innerWidth - 50 && all.every("
                "o => o === r || o.bottom < r.top || o.top > r.bottom || o.right < r.right - 1"
                " || o.left > r.right + 9))[0])")
            click = {"button": "left", "buttons": 1, "clickCount": 1}
            page.mouse("mousePressed", x, y, **click)
            page.mouse("mouseReleased", x, y, **click)
            said = "closest('figure').querySelector('.says.telephone').textContent"
            self.assertEqual(page.ask(f"{self.SHOWN}[0].{said}"), words)
            widths = f"Array.from({self.SHOWN}[0].querySelectorAll('rect'), e => e.width.baseVal.value)"
            before = page.ask(widths)
            page.ask(f"{self.SHOWN}[0].closest('figure').querySelector('.zoom.telephone button:nth-child(2)')"
                     ".click()")
            longest = before.index(max(before))
            self.assertAlmostEqual(page.ask(widths)[longest], 1.5 * before[longest], delta=0.1)
            page.ask("document.querySelector('a[data-find=input_wait]').click()")
            self.assertTrue(page.ask("document.activeElement.matches('.telephone[role=group]')"))
            self.assertIn("step", page.ask("document.activeElement.ariaLabel"))
            self.assertEqual(page.complaints, [])

    def test_without_scripts_it_is_a_picture(self):
        with browser.Page(self.place, scripts=False) as page:
            self.assertTrue(max(self.widths(page)) > 10)
            self.assertEqual(page.ask("document.querySelectorAll('.zoom').length"), 0)
