"""Does the first finding of a run name what the next run changes? Reports are those of `gpushim report
--json`.

Whether it should have is told by what the change brought: on another GPU than the published one other things
are slow, so a change may bring nothing, and then it is right to name something else.
"""
from typing import NamedTuple

WORTH = 0.03  # of a step: the report says nothing of gains that are smaller


class Change(NamedTuple):
    """ids: of findings that ask for it, if what they say to try has the word in it. no_gain: of the finding
    that says that nothing is gained by it."""

    ids: tuple = ()
    word: str = ""
    no_gain: str = ""


class Answer(NamedTuple):
    is_first: bool  # the first finding asks for the change
    is_worth: bool  # the change brought what is worth saying
    text: str


def percent(share, form=".1f"):
    return f"{100 * share:{form}} %"


def findings(report, kind="gain"):
    return [finding for finding in report["findings"] if finding["kind"] == kind]


def is_asked_for(change, finding):
    return finding["id"] in change.ids and change.word in finding["try"]


def answer(report, change, gained):
    """Of the run before the change. gained: by the change, as a share of the rate before."""
    places = [number for number, finding in enumerate(findings(report), start=1)
              if is_asked_for(change, finding)]
    is_worth = gained >= WORTH
    said = "not named"
    if places:
        said = "named" if places[0] == 1 else f"named as number {places[0]}"
    elif change.no_gain in [finding["id"] for finding in findings(report, "no_gain")]:
        said = f"no gain expected ({change.no_gain})"
    rightly = "" if places or is_worth else ": rightly"
    return Answer(places[:1] == [1], is_worth, f"{said}, brought {percent(gained, '+.1f')}{rightly}")


def summary(answers):
    """answers: of each run but the last."""
    worth = [one for one in answers if one.is_worth]
    first = sum(one.is_first for one in worth)
    others = sum(one.is_first for one in answers) - first
    return (f"{len(worth)} of {len(answers)} changes brought {percent(WORTH, '.0f')} or more; the first "
            f"finding of the run before named {first} of them, and {others} of the others")
