"""The page of a run in a headless Chromium: it asks for nothing, complains of nothing, and works by keys."""
import unittest

import browser
import cli
import made_traces
import optional

TABS = 20  # at most so many until something is reached


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

    def test_what_the_policy_refuses_is_heard(self):
        """The test's own eyes: a page that does ask, and runs what it may not, is caught."""
        text = self.place.read_text(encoding="utf-8")
        self.place.write_text(text.replace("</main>", "<img src='file:///gpushim-is-not-there.png'>"
                                           "<p onclick='1'>x</p><script>document.title = 'owned'</script>"
                                           "</main>"), encoding="utf-8")
        with browser.Page(self.place) as page:
            self.assertTrue(page.complaints)
            self.assertNotEqual(page.ask("document.title"), "owned")


if __name__ == "__main__":
    unittest.main()
