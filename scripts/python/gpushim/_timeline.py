"""A typical step as a timeline, or an excerpt of a run without steps: what the streams of each rank ran, and
the ranges that a thread was in, from the calls that a run's database keeps."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Set, Tuple

from ._drawing import LABEL, WIDTH, box, drawing, duration, legend, paragraph, text

Rows = Callable[..., List[Any]]  # answers a query, as Run.rows does


class Span(NamedTuple):
    """An operation, or several that are too near to each other to be told apart."""

    begin_ns: float
    end_ns: float
    kind: str
    name: str
    operations: int = 1


MOST_RANKS, MOST_STREAMS, MOST_LANES, BAR, ROW = 4, 3, 2, 12, 17
COLOURS = {"launch": ("kernel", "#3f87d9"), "collective": ("collective", "#d8615b"),
           "copy": ("copy", "#9a7bd0"), "memset": ("memset", "#b08a5e"), "graph": ("graph", "#2e9c9c"),
           "range": ("range of the program", "#a8b4cc"), "several": ("several", "#7f9bb5")}

STEPS = """
    SELECT t.rank_id, t.step, s.number, d.begin_ns, d.end_ns, t.offset_ns,
      t.of_ranks, t.clock, k.left_out, t.why = 'excerpt' AS is_excerpt,
      coalesce('rank ' || r.rank, 'process ' || r.pid) AS rank
    FROM together_step t JOIN v_drawn_step d ON d.why = t.why AND d.rank_id = t.rank_id
      JOIN step s ON s.rank_id = t.rank_id AND s.step = t.step
      JOIN kept_step k ON k.rank_id = t.rank_id AND k.step = t.step JOIN rank r ON r.rank_id = t.rank_id
    WHERE t.why IN ('typical', 'excerpt') ORDER BY t.rank_id LIMIT :most"""
OPERATIONS = """
    SELECT c.device_id, c.stream, CASE WHEN c.group_id IS NULL THEN c.kind ELSE 'collective' END AS kind,
      c.start_ns, c.ran_ns, coalesce(w.text, a.text, c.kind) AS name
    FROM kept_call c LEFT JOIN kept_text a ON a.rank_id = c.rank_id AND a.id = c.name_id
      LEFT JOIN kept_text w ON w.rank_id = c.rank_id AND w.id = c.what_id AND c.kind = 'launch'
    WHERE c.rank_id = :rank_id AND c.step = :step AND c.start_ns IS NOT NULL AND c.ran_ns IS NOT NULL
    ORDER BY c.device_id, c.stream, c.start_ns"""
RANGES = """
    SELECT c.tid, c.enter_ns, c.dur_ns, coalesce(t.text, '') AS name
    FROM kept_call c LEFT JOIN kept_text t ON t.rank_id = c.rank_id AND t.id = c.name_id
    WHERE c.rank_id = :rank_id AND c.step = :step AND c.kind = 'range' AND c.before = 0
      AND c.dur_ns IS NOT NULL
    ORDER BY c.enter_ns, c.dur_ns DESC, c.nth"""


def timeline(rows: Rows) -> str:
    """The drawing, or a line that says why there is none."""
    steps = rows(STEPS, most=MOST_RANKS)
    if not steps:
        return paragraph("A timeline: no calls are kept in this run.")
    begin_ns, end_ns = min(step["begin_ns"] for step in steps), max(step["end_ns"] for step in steps)
    scale = (WIDTH - LABEL) / max(end_ns - begin_ns, 1)
    parts: List[str] = []
    kinds: Set[str] = set()
    y = 0.0
    for step in steps:
        for label, spans in (*_streams(rows, step, 1 / scale), *_ranges(rows, step, 1 / scale)):
            parts.append(text(0, y + BAR - 2, label))
            drawn = [span for span in spans if span.begin_ns < end_ns and span.end_ns > begin_ns]
            parts += [_drawn(span, begin_ns, end_ns, scale, y) for span in drawn]
            kinds.update(span.kind for span in drawn)
            y += ROW
    length = duration(end_ns - begin_ns)
    title = (f"An excerpt of the run, in which no steps were found: {length}" if steps[0]["is_excerpt"] else
             f"A typical step: number {steps[0]['number']}, {length}")
    return (paragraph(title, "font-weight: 600; margin-top: 1em")
            + legend([COLOURS[kind] for kind in COLOURS if kind in kinds])
            + drawing(max(y, ROW), title, parts) + _notes(steps))


def _notes(steps: List[Any]) -> str:
    notes = ["Operations without device times are not drawn."]
    if steps[0]["of_ranks"] > len(steps):
        notes.append(f"{len(steps)} of {steps[0]['of_ranks']} ranks are drawn.")
    if any(step["clock"] in ("wall", "none") for step in steps):
        notes.append("How the clocks of these hosts stand to each other is not known exactly.")
    left_out = sum(step["left_out"] for step in steps)
    if left_out and not steps[0]["is_excerpt"]:
        notes.append(f"{left_out} more calls of this step are not in the run's database.")
    return paragraph(" ".join(notes), "font-size: .85em; opacity: .8")


def _streams(rows: Rows, step: Any, near_ns: float) -> Iterable[Tuple[str, List[Span]]]:
    """Of each stream its name and what it ran; those with most to do."""
    found: Dict[Tuple[int, int], List[Span]] = {}
    for row in rows(OPERATIONS, rank_id=step["rank_id"], step=step["step"]):
        begin_ns = row["start_ns"] + step["offset_ns"]
        kind = row["kind"] if row["kind"] in COLOURS else "several"
        found.setdefault((row["device_id"], row["stream"]), []).append(
            Span(begin_ns, begin_ns + row["ran_ns"], kind, row["name"]))
    busiest = sorted(found.items(), key=lambda item: -sum(span.end_ns - span.begin_ns for span in item[1]))
    for (_, stream), spans in busiest[:MOST_STREAMS]:
        yield f"{step['rank']}, stream {stream}", _merged(spans, near_ns)


def _ranges(rows: Rows, step: Any, near_ns: float) -> Iterable[Tuple[str, List[Span]]]:
    """Those of the thread that was in ranges for longest: what is nested in a lane below."""
    threads: Dict[int, List[List[Span]]] = {}
    for row in rows(RANGES, rank_id=step["rank_id"], step=step["step"]):
        begin_ns = row["enter_ns"] + step["offset_ns"]
        lanes = threads.setdefault(row["tid"], [])
        free = (i for i, lane in enumerate(lanes) if lane[-1].end_ns <= begin_ns)
        lane = next(free, len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append(Span(begin_ns, begin_ns + row["dur_ns"], "range", row["name"]))
    none: List[List[Span]] = []
    longest = max(threads.values(), key=lambda lanes: sum(span.end_ns - span.begin_ns for span in lanes[0]),
                  default=none)
    for nth, spans in enumerate(longest[:MOST_LANES]):
        yield f"{step['rank']}, ranges" if nth == 0 else "", _merged(spans, near_ns)


def _merged(spans: List[Span], near_ns: float) -> List[Span]:
    """Those that are narrower than can be seen, with what is beside them."""
    merged: List[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        is_small = span.end_ns - span.begin_ns < near_ns
        if last is not None and is_small and span.begin_ns - last.end_ns < near_ns and (
                last.operations > 1 or last.end_ns - last.begin_ns < near_ns):
            merged[-1] = last._replace(end_ns=max(last.end_ns, span.end_ns), operations=last.operations + 1,
                                       kind=last.kind if last.kind == span.kind else "several")
        else:
            merged.append(span)
    return merged


def _drawn(span: Span, begin_ns: float, end_ns: float, scale: float, y: float) -> str:
    begin, end = max(span.begin_ns, begin_ns), min(span.end_ns, end_ns)
    name = span.name if span.operations == 1 else f"{span.operations} operations, the first is {span.name}"
    words = (f"{name}: {duration(span.end_ns - span.begin_ns)}, "
             f"{duration(max(span.begin_ns - begin_ns, 0))} into the step")
    return box(LABEL + (begin - begin_ns) * scale, y, (end - begin) * scale, BAR,
                     COLOURS[span.kind][1], words)
