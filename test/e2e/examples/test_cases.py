"""The case gallery: of each training loop the report names first what is wrong with it, and what that costs;
of the same loop without it, it does not."""
import json
import pathlib
import re
import sys
import tempfile
import unittest

import box
import browser
import fits
import optional
import page_reader

CASES = box.ROOT / "examples" / "cases"
sys.path.insert(0, str(CASES))
import gallery  # noqa: E402
import report_schema  # noqa: E402

MS = 1_000_000
WITHIN = 0.1  # of what was put in, on both sides of a gain's range
SEEN = 0.5  # of what the case itself knows it cost: samples miss some
# What these are read from is of the whole run: NVML's samples, memory that grows, what was recorded at all.
IN_NO_STEP = {"hardly_used", "low_coverage", "memory_growth", "throttling", "unused_gpus"}
UNDRAWN = {"no_requests": {"prefill_stalls"}}  # the worst step waits for requests, the typical one decodes
README_SAYS = ("**What is wrong.**", "**How it shows.**", "**What to change.**")


def gains(report):
    return [finding for finding in report["findings"] if finding["kind"] == "gain"]


def serves(name):
    return "SERVES = True" in (CASES / name / "case.py").read_text(encoding="utf-8")


class Cases(unittest.TestCase):
    def report_of(self, name, fixed=False):
        return self.report_of_case(name, fixed)[0]

    def report_of_case(self, name, fixed=False):
        """The report, what the case knows that it cost, and the page."""
        with tempfile.TemporaryDirectory() as folder:
            cost = gallery.record(name, folder, fixed)
            report = json.loads(gallery.report(name, folder, "--json"))
            self.assertEqual(report_schema.complaints(report), [])
            fits.check(self, box.run([box.PROGRAM, "report", folder], sim=False).stdout)
            page = pathlib.Path(folder, "page.html")
            gallery.report(name, folder, "--html", page)
            return report, cost, page.read_text(encoding="utf-8")

    def check_program(self, name, report):
        self.assertEqual(report["serving"]["program"] == "serving", serves(name), report["serving"])

    def check_cost(self, found, cost):
        """No more is said than what the case knows it cost: what is in it that nobody put there is true."""
        for finding in found:
            if finding["id"] in cost:
                self.assertLessEqual(finding["gain_high_ns"], (1 + WITHIN) * cost[finding["id"]], cost)

    def check(self, name):
        expect, (report, cost, page) = gallery.expected(name), self.report_of_case(name)
        self.check_program(name, report)
        found = gains(report)
        said = json.dumps(found, indent=1)
        self.assertEqual(found[0]["id"] if found else None, expect["says"], said)
        others = {finding["id"] for finding in found[1:]}
        self.assertLessEqual(others, set(expect.get("may", [])), said)
        if "gain_ms" in expect:
            put_in = expect["gain_ms"] * MS
            self.assertLessEqual(found[0]["gain_low_ns"], (1 + WITHIN) * put_in, said)
            self.assertGreaterEqual(found[0]["gain_high_ns"], (1 - WITHIN) * put_in, said)
        self.check_cost(found, cost)
        if expect["says"] in cost:
            self.assertGreaterEqual(found[0]["gain_high_ns"], SEEN * cost[expect["says"]], said)
        all_ids = {finding["id"] for finding in report["findings"]}
        self.assertLessEqual(set(expect.get("also", [])), all_ids, said)
        if "title" in expect:
            self.assertIn(expect["title"], found[0]["title"])
        for finding in found:
            self.assertTrue(finding["evidence"], finding["id"])
            self.assertTrue(finding["try"], finding["id"])
        # What else a busy machine brings need not be in the steps that are drawn.
        is_in_real_time = expect.get("knobs", {}).get("GPUSIM_CLOCK") == "real"
        self.check_page(name, page, [finding for finding in report["findings"]
                                     if not is_in_real_time or finding["id"] == expect["says"]])

    def check_page(self, name, page, findings):
        """Each finding leads to where the page shows what it was read from, as a rule to what is drawn of a
        step."""
        self.assertEqual(page_reader.faults(page), [])
        listed, drawn = (page[page.index(f'<section id="{part}"'):] for part in ("findings", "timeline"))
        listed, drawn = (part[:part.index("</section>")] for part in (listed, drawn.lower()))
        items = {finding["id"]: item for item in listed.split("<li>")[1:] for finding in findings
                 if f"[{finding['id']}]" in item}
        for finding in findings:
            item = items[finding["id"]]
            self.assertIn('<p class="see">See <a href="#', item, finding["id"])
            places = re.findall('<a href="#(timeline|step-[a-z]+)"(?: data-find="([^"]*)")?', item)
            is_there = [f'id="{place}"' in page and find.lower() in drawn for place, find in places]
            self.assertNotEqual(finding["id"] in UNDRAWN.get(name, IN_NO_STEP), any(is_there),
                                (finding["id"], places))

    def check_fixed(self, name):
        expect, (report, cost, _) = gallery.expected(name), self.report_of_case(name, fixed=True)
        self.check_program(name, report)
        found = gains(report)
        self.check_cost(found, cost)
        self.assertLessEqual({finding["id"] for finding in found} - set(cost), set(expect["fixed"]), found)
        notes = {finding["id"] for finding in report["findings"]} & set(expect.get("also", []))
        self.assertEqual(notes - set(expect["fixed"]), set(), "still there")

    def test_the_count_of_small_multiplications_is_in_the_report(self):
        kernels = self.report_of("small_kernels")["kernels"]
        multiply, = (kernel for kernel in kernels if kernel["name"].startswith("Mul"))
        self.assertEqual(multiply["count"], 126_224)
        self.assertAlmostEqual(multiply["sum_ns"] / 126_224 / 21_900, 1, delta=0.05)

    def test_samples_of_slow_steps_are_beside_those_of_the_others(self):
        """A GPU that is too hot after four seconds: the slow steps are those with the lower clock."""
        with tempfile.TemporaryDirectory() as folder:
            gallery.record("throttling", folder)
            device, = json.loads(gallery.report("throttling", folder, "--json"))["devices"]
            text = " ".join(gallery.report("throttling", folder, "--all").split())
        slow, usual = device["slow_steps"], device["usual_steps"]
        self.assertEqual((slow["sm_mhz"], usual["sm_mhz"]), (1320, 1980))
        self.assertGreater(slow["temperature_c"], usual["temperature_c"])
        self.assertGreaterEqual(min(slow["samples"], usual["samples"]), 3)
        self.assertLess(slow["samples"] + usual["samples"], device["samples"], "the last is of no step")
        self.assertRegex(text, r"in slow steps \d+ samples, 1320 MHz, .*"
                               r"; in the others \d+ samples, 1980 MHz")

    def test_products_are_the_same_called_or_captured(self):
        """By hand: 80 products of 1024 x 1024 x 1024, 2 m n k each."""
        for fixed in (False, True):
            report = self.report_of("small_products", fixed)
            flops, by_hand = report["flops"], 80 * 2 * 1024 ** 3 / report["steps"]["mean_ns"] / 1e3
            self.assertAlmostEqual(flops["product_tflops_per_gpu"] / by_hand, 1, delta=1e-5)
            self.assertEqual(flops["product_covered_share"], 1)
            self.assertEqual(flops["precision"], "fp16")
            self.assertIsNone(flops["product_mfu"])
            self.assertIn("a simulated GPU has no peak", flops["why"])

    def test_in_a_timeline_rows_of_gpus_of_one_process_are_told_apart(self):
        page = self.report_of_case("first_gpu")[2]
        self.assertEqual(set(re.findall('class="name">(idle[^<]*)<', page)),
                         {f"idle, GPU {number}" for number in range(4)})

    @unittest.skipUnless(browser.program(), optional.lacks("browser"))
    def test_on_paper_a_table_of_many_columns_is_not_cut_off(self):
        """A4 without the margins that Chromium leaves."""
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            page.write_text(self.report_of_case("prefill_stalls")[2], encoding="utf-8")
            with browser.Page(page, width=718) as opened:
                opened.do("Emulation.setEmulatedMedia", media="print")
                wide = opened.ask("Array.from(document.querySelectorAll('.table'), e => [e.scrollWidth,"
                                  " e.clientWidth]).filter(([is, room]) => room > 0 && is > room + 1)")
        self.assertEqual(wide, [])

    def test_generation_tells_prompts_from_decodes(self):
        serving = self.report_of("generation")["serving"]
        self.assertEqual({kind["kind"]: kind["iterations"] for kind in serving["kinds"]},
                         {"decode": 144, "prefill": 4})
        decode = serving["kinds"][0]["length"]
        self.assertLess(serving["between_tokens"]["p99_ns"], 1.1 * decode["p50_ns"], "across no prompt")

    def test_each_folder_says_what_is_wrong_and_the_readme_lists_it(self):
        listed = (CASES / "README.md").read_text(encoding="utf-8")
        names = gallery.names()
        self.assertGreaterEqual(len(names), 20)
        for name in names:
            text = (CASES / name / "README.md").read_text(encoding="utf-8")
            for says in README_SAYS:
                self.assertIn(says, text, name)
            self.assertIn(f"[{name}]({name}/README.md)", listed)
            says = gallery.expected(name)["says"]
            self.assertIn(f"`{says}`" if says else "nothing", text, name)


def add_cases():
    for name in gallery.names():
        setattr(Cases, f"test_{name}", lambda self, name=name: self.check(name))
        if "fixed" in gallery.expected(name):
            setattr(Cases, f"test_{name}_fixed", lambda self, name=name: self.check_fixed(name))


add_cases()
