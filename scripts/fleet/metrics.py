"""The metrics of analysis/metric as SELECTs for any engine. The files are the ones that gpushim is built
with, and no metric is known here by name: a file is its head, its SELECT, and what stands behind that
(ranges). The rows around a SELECT are those of analysis/run/sql/metric."""
import pathlib
import re
from typing import List, NamedTuple

ANALYSIS = pathlib.Path(__file__).resolve().parents[2] / "analysis"
METRIC_COLUMNS = ("name", "scope", "id", "value", "unit", "kind", "definition", "level", "coverage",
                  "timed_share", "clock_error_ns", "why")
INTERVAL_COLUMNS = ("name", "scope", "id", "low", "high", "likely_low", "likely_high")
# Views that metrics read and that are of all ranks together: they are asked again of a summary's tables.
VIEWS = ("v_step_place", "v_step_length", "v_token_place", "v_busiest_stream", "v_most_lost", "v_model_rate",
         "v_product_rate", "v_gpu_energy", "v_unknown_energy")
KEPT = {"step_sum": "v_step_sum"}  # a table of a run that says what a view says: here it is that view
NO_UNKNOWN = "(SELECT NULL AS gpu_id, NULL AS why)"


class Metric(NamedTuple):
    """One file: its rows are those of `rows`, and the rows of metric_interval those of `ranges`."""

    name: str
    subject: str  # gpu, steps, ranks
    head: dict
    rows: str
    ranges: List[str]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def head_of(text):
    head = dict(pair.split(": ", 1) for pair in re.search(r"^-- (of: .*)$", text, re.M)[1].split(", "))
    head.update(re.findall(r"^-- (words|absent|unknown): (.*)$", text, re.M))
    return head


def without_remarks(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()


def read(path, templates):
    text = path.read_text(encoding="utf-8")
    head = head_of(text)
    select, more = re.split(r";$", text, maxsplit=1, flags=re.M)
    rows = without_remarks(templates[head["of"]]).rstrip(";")
    rows = rows.replace("'@name'", quoted(path.stem)).replace("'@absent'", quoted(head["absent"]))
    if "unknown" in head:
        rows = rows.replace(NO_UNKNOWN, head["unknown"])
    ranges = [part.strip() for part in re.split(r"^INSERT INTO metric_interval$", without_remarks(more),
                                                flags=re.M)]
    return Metric(path.stem, head["of"], head,
                  f"WITH figure AS (\n{without_remarks(select)}\n)\n{rows}",
                  [part.rstrip(";") for part in ranges if part])


def all_metrics(analysis=ANALYSIS):
    templates = {path.stem: path.read_text(encoding="utf-8")
                 for path in (analysis / "run/sql/metric").glob("*.sql")}
    return [read(path, templates) for path in sorted((analysis / "metric").glob("*.sql"))]


def view_texts(analysis=ANALYSIS):
    """What stands behind CREATE VIEW name AS, for each of KEPT and VIEWS."""
    text = "\n".join(path.read_text(encoding="utf-8")
                     for path in sorted((analysis / "run/sql/views").glob("*.sql")))
    found = dict(re.findall(r"^CREATE VIEW (\w+) AS\n(.*?);$", text, re.M | re.S))
    return {**{name: found[view] for name, view in KEPT.items()}, **{name: found[name] for name in VIEWS}}


def named(select, columns):
    """The same rows with these names for the columns, on every engine."""
    return f"WITH named({', '.join(columns)}) AS (\n{select}\n)\nSELECT * FROM named"
