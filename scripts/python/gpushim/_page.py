"""A run as a notebook shows it: its verdict, what each GPU did with its time, and a typical step. HTML
without scripts, style sheets and links. Words have the colour of what is around them, and bars are readable
on light and dark ground: a notebook's theme need not be the system's."""
from __future__ import annotations

import typing
from typing import List, Optional

from ._drawing import LABEL, WIDTH, box, drawing, duration, legend, paragraph, share, text
from ._timeline import Rows, timeline

if typing.TYPE_CHECKING:
    from .figures import Gpu, Report

BAR, LINE = 16, 50
# What a step consists of: in words, the field of a GPU, and its colour. They add up to the step.
PARTS = (("productive", "productive_share", "#2e9c77"),
         ("waiting for peers", "waiting_for_peer_share", "#d6902f"),
         ("exposed communication", "exposed_comm_share", "#d8615b"), ("memory", "memory_share", "#9a7bd0"),
         ("idle", "idle_share", "#8791a0"))
MOST_GPUS, MOST_CAUSES = 8, 3


class Shown:
    """What a notebook shows of a report."""

    def _repr_html_(self) -> str:
        return of(typing.cast("Report", self))


def of(report: Report, rows: Optional[Rows] = None) -> str:
    """The page; the timeline only where there are rows to be asked for."""
    parts = [_verdict(report), *_doubts(report), _gpus(report)]
    if rows is not None:
        parts.append(timeline(rows))
    return ('<div class="gpushim" style="font: 14px/1.5 system-ui, sans-serif; max-width: 60rem">'
            + "".join(parts) + "</div>")


def _verdict(report: Report) -> str:
    verdict = report.verdict
    if verdict is None or verdict.text is None:
        why = (verdict and verdict.why) or "not recorded"
        return paragraph(f"No verdict: {why}", "font-weight: 600")
    level = f" ({verdict.level})" if verdict.level else ""
    word = f"{verdict.word}{level}: " if verdict.word else ""
    lines = [paragraph(f"{word}{verdict.text}", "font-size: 1.15em; font-weight: 600")]
    step = report.steps
    if step is not None and step.median_ns:
        lines.append(paragraph(f"{duration(step.median_ns)} a step, median of {step.count:g}"))
    return "".join(lines)


def _doubts(report: Report) -> List[str]:
    """What a reader has to know before any figure."""
    texts = []
    if report.hang is not None and report.hang.for_ns is not None:
        texts.append(f"The run hangs, for {duration(report.hang.for_ns)}.")
    if any(gpu.simulated for gpu in report.gpus or []):
        texts.append("SIMULATED: these are not GPU times.")
    trust = report.verdict.trust if report.verdict is not None else None
    evidence = report.verdict.evidence if report.verdict is not None else []
    texts.append(f"Trust: {trust or 'not known'}. " + " ".join(f"{text}." for text in evidence if text))
    texts += [f"Contradiction, {one.who}: {one.text}" for one in report.contradictions or []]
    texts += [f"Doubt, {one.who}: {one.text}" for one in report.doubts or []]
    return [paragraph(text) for text in texts]


def _gpus(report: Report) -> str:
    gpus = report.gpus
    if not gpus:
        return paragraph("What GPUs did is not recorded.")
    # Of too many those on which most is lost.
    by_loss = sorted(gpus, key=lambda gpu: 2 if gpu.productive_share is None else gpu.productive_share)
    drawn = gpus if len(gpus) <= MOST_GPUS else by_loss[:MOST_GPUS]
    lines = [_bar(gpu, number * LINE) for number, gpu in enumerate(drawn)]
    left_out = ("" if len(drawn) == len(gpus) else
                paragraph(f"The {len(drawn)} of {len(gpus)} GPUs that lose the most."))
    parts = [(words, colour) for words, _, colour in PARTS]
    return (paragraph("What each GPU did with its time", "font-weight: 600; margin-top: 1em") + legend(parts)
            + drawing(len(drawn) * LINE, "time of each GPU by what it did", lines) + left_out)


def _bar(gpu: Gpu, y: float) -> str:
    label = "rank not known" if gpu.rank is None else f"rank {gpu.rank:g}"
    parts = [text(0, y + BAR - 4, label)]
    if gpu.productive_share is None or gpu.idle_share is None:
        return "".join(parts) + text(LABEL, y + BAR - 4, f"not recorded: {gpu.why or 'no reason is said'}")
    at, said = float(LABEL), []
    for words, field, colour in PARTS:
        part = getattr(gpu, field)
        width = (part or 0.0) * (WIDTH - LABEL)
        if width > 0:
            parts.append(box(at, y, width, BAR, colour, f"{label}: {words} {share(part)}"))
        at += width
        said.append(f"{words} {share(part)}")
    more = 'font-size="11" opacity="0.8"'
    below = [text(LABEL, y + BAR + 12, " · ".join(said) + _likely(gpu), more),
             text(LABEL, y + BAR + 25, _causes(gpu), more)]
    return "".join(parts + below)


def _likely(gpu: Gpu) -> str:
    low, high = gpu.idle_share_likely_low, gpu.idle_share_likely_high
    return "" if low is None or high is None else f" (likely {100 * low:.1f} to {100 * high:.1f})"


def _causes(gpu: Gpu) -> str:
    """The largest of why it was idle."""
    causes = sorted(((ns, cause) for cause, ns in (gpu.idle_by_cause_ns or {}).items() if ns), reverse=True)
    named = ", ".join(f"{cause} {duration(ns)}" for ns, cause in causes[:MOST_CAUSES])
    return f"idle by cause: {named}" if named else "causes of idle time are not recorded"
