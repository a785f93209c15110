"""The page as people see it, in Chromium: on a desk and a telephone, light, dark and on paper, every word can
be read, nothing is there twice; a timeline's marks, rules and names go with what they belong to."""
import unittest

import box
import browser
import cli
import exporting
import in_memory
import optional
import trained
from pairs import pairs

LEAST_CONTRAST = 4.5  # of WCAG 2, level AA

# [contrast, words] of all that is not readable. What a text in a drawing stands on: the bar that it names (it
# follows that), else the paper.
UNREADABLE = """(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    const rgb = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return Array.from(canvas.getImageData(0, 0, 1, 1).data);
    };
    const light = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const weights = [0.2126, 0.7152, 0.0722];
    const luminance = (colour) => weights.reduce((sum, w, i) => sum + w * light(colour[i] / 255), 0);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const c = rgb(getComputedStyle(e).backgroundColor);
            if (c[3] > 250) return c;
        }
        return [255, 255, 255, 255];
    };
    const faded = (e) => e ? getComputedStyle(e).opacity * faded(e.parentElement) : 1;
    const found = [];
    const look = (e, colour, below) => {
        const part = faded(e);
        const seen = rgb(colour).map((each, i) => part * each + (1 - part) * below[i]);
        const [a, b] = [luminance(seen), luminance(below)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < LEAST) found.push([contrast, e.textContent.slice(0, 60)]);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const done = new Set();
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement;
        if (done.has(e) || !walker.currentNode.data.trim() || !e.getClientRects().length) continue;
        if (e.matches('title, desc, style, script')) continue;
        done.add(e);
        if (!e.matches('svg text')) look(e, getComputedStyle(e).color, ground(e));
        else if (!e.matches('.inside')) look(e, getComputedStyle(e).fill, ground(e));
        else {
            const bar = e.previousElementSibling, fill = rgb(getComputedStyle(bar).fill), paper = ground(e);
            const share = getComputedStyle(bar).opacity * fill[3] / 255;
            look(e, getComputedStyle(e).fill, fill.map((each, i) => share * each + (1 - share) * paper[i]));
        }
    }
    return [done.size, found];
})()""".replace("LEAST", str(LEAST_CONTRAST))

# What hides the end of its own words: those of a table of kernels show all of it on a click.
CUT = """Array.from(document.querySelectorAll('body *')).filter(e => !e.matches('.full, .skip, svg *') &&
    e.getClientRects().length && ['hidden', 'clip'].includes(getComputedStyle(e).overflowX) &&
    e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"""

# Of drawings that are there for a desk and for a telephone, how many of each are shown.
TWICE = """Array.from(document.querySelectorAll('.chart.desk'), e => Array.from(e.parentNode.children)
    .filter(o => o.matches('.chart') && o.getClientRects().length).length)"""
ONLY_FOR_SCREENS = "nav, .filter, .skip, .zoom, .says, .see"
CENTIMETRE = 96 / 2.54  # in px


def page_of(run):
    place = run.with_suffix(".html")
    done = box.run([cli.GPUSHIM, "report", run, "--html", place], sim=False)
    assert done.returncode == 0, done.stderr
    return place


@unittest.skipUnless(browser.program(), optional.lacks("browser"))
class Looks(cli.Case):
    """Two ranks, and all kinds of parts."""

    @classmethod
    def setUpClass(cls):
        cls.run_of_two = in_memory.folder_of(cls) / "run"
        trained.train(cls.run_of_two, 2, steps=20)
        exporting.change(cls.analysed(), "INSERT INTO kernel (gpu_id, name, launches, timed, sum_ns)"
                         " WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)"
                         " SELECT min(gpu_id), 'a_kernel_' || i, 1, 1, 1000000 - i FROM n, gpu GROUP BY i")
        cls.place = page_of(cls.analysed())

    @classmethod
    def analysed(cls):
        run = cls.run_of_two.parent / "run.db"
        if not run.exists():
            done = box.run([cli.GPUSHIM, "analyze", cls.run_of_two, "-o", run], sim=False)
            assert done.returncode == 0, done.stderr
        return run

    def looks(self, check):
        """check(the page, whether it is on paper)"""
        for width, dark, paper in ((1440, False, False), (1440, True, False), (390, False, False),
                                   (390, True, False), (720, False, True), (720, True, True)):
            with self.subTest(width=width, dark=dark, paper=paper), \
                    browser.Page(self.place, width=width, dark=dark) as page:
                if paper:
                    page.do("Emulation.setEmulatedMedia", media="print")
                check(page, paper)

    def test_every_word_stands_out_from_what_is_behind_it(self):
        def check(page, _):
            looked_at, unreadable = page.ask(UNREADABLE)
            self.assertGreater(looked_at, 100)
            self.assertEqual(unreadable, [])
        self.looks(check)

    def test_no_words_are_hidden_and_no_drawing_is_there_twice(self):
        def check(page, _):
            page.ask("document.querySelector('h1').append('_'.repeat(300))")  # a program's name may be long
            self.assertEqual(page.ask(CUT), [])
            lines = page.ask("Array.from(document.querySelectorAll('.option'),"
                             " e => e.getClientRects().length)")
            self.assertEqual(set(lines), {1})
            shown = page.ask(TWICE)
            self.assertGreater(len(shown), 3)
            self.assertEqual(set(shown), {1})
        self.looks(check)

    def test_on_paper_is_nothing_that_only_a_pointer_can_use(self):
        def check(page, paper):
            shown = page.ask(f"Array.from(document.querySelectorAll('{ONLY_FOR_SCREENS}')).filter("
                             "e => e.getClientRects().length && !e.matches('.skip')).length")
            self.assertEqual(shown == 0, paper, shown)
            if not paper:
                return
            page.ask("document.querySelector('.chart > svg').setAttribute('viewBox', '0 0 900 9000')")
            tallest = page.ask("Math.max(...Array.from(document.querySelectorAll('.chart > svg'),"
                               " e => e.getBoundingClientRect().height))")
            self.assertLess(tallest, 19.1 * CENTIMETRE)
            whole = page.ask("Array.from(document.querySelectorAll('figure, .card, tbody tr'),"
                             " e => getComputedStyle(e).breakInside)")
            self.assertEqual(set(whole), {"avoid"})
        self.looks(check)

    def test_a_filter_leaves_the_rows_that_have_the_words(self):
        with browser.Page(self.place) as page:
            page.ask("document.querySelector('#kernels details').open = true")
            page.ask("document.querySelector('#kernels .filter input').focus()")
            page.type("A_kernel_1")
            rows = page.ask("Array.from(document.querySelector('#kernels .filter + .table tbody').rows,"
                            " e => [e.getClientRects().length > 0, e.textContent])")
            self.assertEqual([shown for shown, _ in rows], ["a_kernel_1" in words for _, words in rows])
            self.assertGreater([shown for shown, _ in rows].count(True), 5)
            self.assertGreater([shown for shown, _ in rows].count(False), 5)


MOVES = """(() => { const all = Array.from(document.querySelectorAll('svg.moves'));
    return all.find(e => e.closest('.chart').clientWidth > 0); })()"""


@unittest.skipUnless(browser.program(), optional.lacks("browser"))
class Zoomed(cli.Case):
    """What stands in a timeline moves with its spans."""

    @classmethod
    def setUpClass(cls):
        run = in_memory.folder_of(cls) / "run"
        trained.train(run, 2, steps=20)
        cls.place = page_of(run)

    def opened(self):
        return browser.Page(self.place, width=1440)

    def spans(self, page):
        """[[x, width], …]"""
        return page.ask(f"Array.from({MOVES}.querySelectorAll('rect'),"
                        " e => [e.x.baseVal.value, e.width.baseVal.value])")

    def view(self, page):
        """left, width, ns, and the marks: [x, ns] each."""
        units = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}
        left, width, length_ns, marks = page.ask(
            f"(e => [e.x.baseVal.value, e.width.baseVal.value, Number(e.dataset.ns),"
            " Array.from(e.parentNode.querySelectorAll(':scope > .tick'),"
            " t => [t.x.baseVal[0].value, t.textContent])])(" + MOVES + ")")
        told = [(x, words.split()) for x, words in marks if words]
        return left, width, length_ns, [(x, float(figure) * units[unit]) for x, (figure, unit) in told]

    def check_marks(self, page, before):
        """They tell the time of where they stand: by where one span was in the whole step, and is now."""
        left, width, length_ns, marks = self.view(page)
        now = self.spans(page)
        wide = max(range(len(before)), key=lambda i: before[i][1])
        zoom = now[wide][1] / before[wide][1]
        self.assertGreater(len(marks), 3)
        for x, ns in marks:
            was = before[wide][0] + (x - now[wide][0]) / zoom
            self.assertAlmostEqual((was - left) / width * length_ns, ns, delta=0.004 * length_ns / zoom)
        return zoom

    def test_marks_tell_the_time_of_where_they_stand(self):
        with self.opened() as page:
            before = self.spans(page)
            page.ask(f"{MOVES}.closest('.chart').focus()")
            self.assertAlmostEqual(self.check_marks(page, before), 1, delta=0.001)
            for keys, zoom in (("+", 1.5), ("+", 2.25), (["ArrowRight"], 2.25), (["ArrowLeft"], 2.25)):
                for key in keys:
                    page.press(key)
                self.assertAlmostEqual(self.check_marks(page, before), zoom, delta=0.01)
            steps = [b - a for (_, a), (_, b) in pairs(self.view(page)[3][:-1], self.view(page)[3][1:])]
            first = f"{steps[0]:.0f}".rstrip("0")
            self.assertIn(first, ("1", "2", "5"))

    def test_the_arrows_go_there_and_back(self):
        with self.opened() as page:
            page.ask(f"{MOVES}.closest('.chart').focus()")
            page.press("+")
            at = [x for x, _ in self.spans(page)]
            page.press("ArrowRight")
            self.assertLess(self.spans(page)[0][0], at[0])
            page.press("ArrowLeft")
            for was, now in pairs(at, (x for x, _ in self.spans(page))):
                self.assertAlmostEqual(was, now, delta=0.05)

    def test_rules_and_names_go_with_their_spans(self):
        look = ("Array.from(" + MOVES + ".querySelectorAll('.rule'), e => e.x1.baseVal.value)")
        names = ("Array.from(" + MOVES + ".querySelectorAll('rect + text')).filter(e => e.textContent).map("
                 "e => [e.x.baseVal[0].value, e.textContent, e.previousElementSibling.x.baseVal.value,"
                 " e.previousElementSibling.width.baseVal.value])")
        with self.opened() as page:
            before, rules = self.spans(page), page.ask(look)
            left, width, *_ = self.view(page)
            page.ask(f"{MOVES}.closest('.chart').focus()")
            few = len(page.ask(names))
            for _ in range(4):
                page.press("+")
            now = self.spans(page)
            wide = max(range(len(before)), key=lambda i: before[i][1])
            zoom = now[wide][1] / before[wide][1]
            for was, is_now in pairs(rules, page.ask(look)):
                self.assertAlmostEqual(is_now, now[wide][0] + (was - before[wide][0]) * zoom, delta=0.5)
            self.assertTrue(rules)
            told = page.ask(names)
            self.assertGreater(len(told), 0.5 * few)
            for x, words, begin, length in told:
                middle = (max(begin, left) + min(begin + length, left + width)) / 2
                self.assertAlmostEqual(x, middle, delta=0.5, msg=words)
                self.assertLess(6.6 * len(words), min(begin + length, left + width) - max(begin, left))

    def middle_of(self, page):
        page.ask(f"{MOVES}.scrollIntoView({{block: 'center'}})")
        return page.ask(f"(r => [r.x, r.y + r.height / 2, r.width])({MOVES}.getBoundingClientRect())")

    def test_the_wheel_zooms_about_the_pointer_and_only_once_it_was_clicked(self):
        with self.opened() as page:
            x, y, room = self.middle_of(page)
            left, width, *_ = self.view(page)
            before = self.spans(page)
            at = x + 0.25 * room
            page.mouse("mouseWheel", at, y, deltaX=0, deltaY=-100)
            page.ask_later("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")
            self.assertEqual(self.spans(page), before)
            self.middle_of(page)
            page.ask(f"{MOVES}.closest('.chart').focus({{preventScroll: true}})")
            for down, zoom in ((-100, 1.25), (100, 1), (-100, 1.25), (-100, 1.5625)):
                page.mouse("mouseWheel", at, y, deltaX=0, deltaY=down)
                page.ask_later("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")
                pointed = left + 0.25 * width
                for (was, length), (now, is_wide) in pairs(before, self.spans(page)):
                    self.assertAlmostEqual(now, pointed + (was - pointed) * zoom, delta=1)

    def test_a_drag_moves_it_as_far_as_the_pointer(self):
        with self.opened() as page:
            x, y, room = self.middle_of(page)
            _, width, *_ = self.view(page)
            page.ask(f"{MOVES}.closest('.chart').focus({{preventScroll: true}})")
            for _ in range(3):
                page.press("+")
            before = self.spans(page)
            held = {"button": "left", "buttons": 1, "clickCount": 1}
            page.mouse("mousePressed", x + room / 2, y, **held)
            page.mouse("mouseMoved", x + room / 2 + 60, y, **held)
            page.mouse("mouseReleased", x + room / 2 + 60, y, **held)
            for (was, _), (now, _) in pairs(before, self.spans(page)):
                self.assertAlmostEqual(now - was, 60 * width / room, delta=0.5)
            page.mouse("mouseMoved", x + room / 2 - 60, y, button="none", buttons=0)
            self.assertAlmostEqual(self.spans(page)[0][0] - before[0][0], 60 * width / room, delta=0.5)

    def test_what_is_searched_is_counted_and_gone_through(self):
        with self.opened() as page:
            figure = f"{MOVES}.closest('figure')"
            page.ask(f"{figure}.querySelector('.zoom input').focus()")
            page.type("gemm")
            hits = page.ask(f"Array.from({MOVES}.querySelectorAll('rect')).filter(e => "
                            "e.textContent.toLowerCase().includes('gemm')).map(e => e.textContent)")
            self.assertGreater(len(hits), 3)
            self.assertEqual(page.ask(f"{figure}.querySelector('.zoom output').textContent"),
                             f"{len(hits)} found")
            faded, clear = (page.ask(f"Array.from({MOVES}.querySelectorAll('rect{which}'),"
                                     " e => Number(getComputedStyle(e).opacity))")
                            for which in (".faded", ":not(.faded, .before)"))
            self.assertLess(max(faded), 0.5 * min(clear))
            left, width, *_ = self.view(page)
            for nth in range(3):
                page.press("Enter")
                self.assertEqual(page.ask(f"{figure}.querySelector('.says').textContent"), hits[nth])
                begin, length = page.ask(
                    f"(e => [e.x.baseVal.value, e.width.baseVal.value])(Array.from({MOVES}.querySelectorAll("
                    f"'rect')).filter(e => e.textContent.toLowerCase().includes('gemm'))[{nth}])")
                self.assertGreater(length, 0.15 * width)
                self.assertGreaterEqual(begin, left - 1)
                self.assertLessEqual(begin + length, left + width + 1)
