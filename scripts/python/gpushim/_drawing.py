"""What drawings of a notebook consist of. All words are given as they are: they may hold anything."""
import html
import re
from typing import Optional, Sequence, Tuple

WIDTH, LABEL = 900, 150  # of a drawing, and of the words at its left
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns"))


def escaped(words: str) -> str:
    """As text of HTML. Signs that end a line or steer a terminal are none of it."""
    return html.escape(re.sub(r"[\x00-\x1f\x7f-\x9f]", "\ufffd", words))


def paragraph(words: str, style: str = "") -> str:
    """Of words."""
    return f'<p style="margin: .3em 0; {style}">{escaped(words)}</p>'


def duration(ns: float) -> str:
    """With three digits: 4.17 ms."""
    size, unit = next((entry for entry in UNITS if abs(ns) >= entry[0]), UNITS[-1])
    return f"{ns / size:.3g} {unit}" if abs(ns) / size < 999.5 else f"{ns / size:.0f} {unit}"


def share(part: Optional[float]) -> str:
    """Of 1, in percent."""
    return "not recorded" if part is None else f"{100 * part:.1f} %"


def legend(parts: Sequence[Tuple[str, str]]) -> str:
    """(words, colour) of each part of a drawing."""
    return "<p style=\"margin: .3em 0\">" + " ".join(
        f'<span style="white-space: nowrap; margin-right: 1em"><span style="color: {colour}">&#9632;</span> '
        f"{escaped(words)}</span>" for words, colour in parts) + "</p>"


def drawing(height: float, words: str, parts: Sequence[str]) -> str:
    """As wide as there is room; everything in it is in units of 1/900 of that."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height:g}" '
            f'style="width: 100%; max-width: {WIDTH}px; display: block" fill="currentColor" '
            f'font-family="system-ui, sans-serif" font-size="12"><title>{escaped(words)}</title>'
            + "".join(parts) + "</svg>")


def text(x: float, y: float, words: str, more: str = "") -> str:
    """Words of a drawing."""
    return f'<text x="{x:g}" y="{y:g}" {more}>{escaped(words)}</text>'


def box(x: float, y: float, width: float, height: float, colour: str, words: str) -> str:
    """A bar of a drawing, and what a pointer on it shows."""
    return (f'<rect x="{x:.1f}" y="{y:g}" width="{max(width, 0.5):.1f}" height="{height:g}" '
            f'fill="{colour}"><title>{escaped(words)}</title></rect>')
