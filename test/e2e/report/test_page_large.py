"""The page of a run whose database has 100 MB: of a thousand ranks. When it is painted, `test/bench/run page`
says; that it is small, which is why, is held here."""

import browser
import cli
import large_run
import page_reader
import trained

MOST_BYTES, MOST_ELEMENTS = 2_000_000, 20_000


class Large(cli.Case):
    def test_it_is_small_and_says_what_it_leaves_out(self):
        run, page = self.folder / "run.db", self.folder / "page.html"
        trained.train(self.folder / "t", large_run.RANKS, "--slow-rank", 3, steps=large_run.STEPS)
        self.gpushim("analyze", *self.folder.glob("t/*.db"), "-o", run)
        large_run.grow(run)
        self.assertGreater(run.stat().st_size, 90_000_000)
        self.gpushim("report", run, "--html", page)
        text = page.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), MOST_BYTES)
        self.assertEqual(page_reader.faults(text), [])
        self.assertLess(len(page_reader.Reader(text).elements), MOST_ELEMENTS)
        self.assertIn("8 of 1,000 ranks are drawn", text)
        self.assertIn("aten::layer/nnn", text)  # names are as long as they are anywhere

        if browser.program():
            with browser.Page(page) as opened:
                self.assertEqual(opened.requests, [page.resolve().as_uri()])
                self.assertEqual(opened.complaints, [])
                self.assertLess(opened.ask("document.querySelectorAll('*').length"), MOST_ELEMENTS)
