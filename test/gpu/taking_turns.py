"""Steps of one workload in processes that differ in one thing, all of them alive, one at work: what a step
costs in each of them, beside one that has nothing, round by round."""
import contextlib
import json
import os
import selectors
import signal
import statistics
import subprocess
import tempfile
import time
from typing import NamedTuple

from judging import OutOfTime, demand


class Mode(NamedTuple):
    shim: bool = False    # preloaded
    variables: dict = {}  # of the environment
    words: tuple = ()     # to the program


class Player:
    """A process that does as programs/turns.py says."""

    def __init__(self, machine, command, mode, folder):
        self.machine, self.folder = machine, folder
        variables = dict(mode.variables)
        if mode.shim:
            variables.update({"LD_PRELOAD": machine.library, "GPUSHIM_OUT": f"{folder}/trace.db"})
        with open(f"{folder}/stderr", "wb") as errors:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [str(word) for word in (*command, *mode.words)], env=machine.environment(variables),
                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                start_new_session=True)
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.process.stdout, selectors.EVENT_READ)

    def rest(self, is_resting):
        """Whoever is not on turn does nothing, nor does the shim in it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGSTOP if is_resting else signal.SIGCONT)

    def ask(self, line):
        with contextlib.suppress(BrokenPipeError):  # it is gone: what it last said is its answer
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()

    def answer(self):
        limit_s = self.machine.left_s()
        if limit_s < 1 or not self.ready.select(limit_s):
            raise OutOfTime("processes that take turns")
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        with open(f"{self.folder}/stderr", encoding="utf-8", errors="replace") as errors:
            raise AssertionError(f"a process that takes turns is gone: {errors.read()[-300:]}")

    def told(self, line):
        self.ask(line)
        return self.answer()

    def leave(self, patience_s=20):
        """As a program ends by itself, so that its trace is whole."""
        self.rest(False)
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=max(min(patience_s, self.machine.left_s()), 1))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.ready.close()


@contextlib.contextmanager
def players(machine, command, modes):
    """{mode: Player}, started together."""
    with tempfile.TemporaryDirectory(prefix="gpushim-turns-") as place, contextlib.ExitStack() as left:
        found = {}
        for index, (name, mode) in enumerate(modes.items()):
            folder = f"{place}/{index}"
            os.mkdir(folder)
            found[name] = Player(machine, command, mode, folder)
            left.callback(found[name].leave)
        yield found


def all_told(everyone, line):
    """Their answers; nobody waits for another."""
    for player in everyone.values():
        player.ask(line)
    return {name: player.answer() for name, player in everyone.items()}


def load(everyone, workload):
    """Those that have it ready; why others have not."""
    answers = all_told(everyone, f"load {workload}")
    missing = {name: answer["missing"] for name, answer in answers.items() if "missing" in answer}
    return {name: everyone[name] for name in everyone if name not in missing}, missing


def play(there, seconds, block_s=0.1, blocks=2, most=1000):
    """[{mode: ns a step}] of the rounds that fit, at most so many; each mode begins as often as any other.
    One at a time is awake; what it does first, after it woke, is not counted."""
    until_s = time.monotonic() + seconds
    first = statistics.median(there["bare"].told("go 3 3")["step_ns"])
    steps = max(int(block_s * 1e9 / first), 1)
    rounds = []
    for player in there.values():
        player.rest(True)
    while len(rounds) < 2 or (time.monotonic() < until_s and len(rounds) < most):
        turn = len(rounds) % len(there)
        order = [*there][turn:] + [*there][:turn]
        rounds.append({name: awake(there[name], f"go {steps} {blocks + 1}") for name in order})
    for player in there.values():
        player.rest(False)
    return rounds


def awake(player, line):
    player.rest(False)
    step_ns = player.told(line)["step_ns"][1:]
    player.rest(True)
    return statistics.mean(step_ns)


class Costs(NamedTuple):
    """What a mode's step takes more than the bare one's of the same round, as a share of that."""

    share: float   # the median
    low: float     # the median of such rounds lies between these in 95 of 100 cases
    high: float
    step_ns: float

    def __str__(self):
        return f"{100 * self.share:+.2f} % [{100 * self.low:+.2f}, {100 * self.high:+.2f}]"

    def against(self, goal):
        if self.high <= goal:
            return "met"
        return "not met" if self.low > goal else "within the spread"


# Of so many values in order, which one from each end bounds the median with at least 95 %: the binomial.
def _rank(count):
    below, chance, rank = 0.5 ** count, 0.5 ** count, 0
    while below <= 0.025:
        rank += 1
        chance *= (count - rank + 1) / rank
        below += chance
    return rank - 1  # fewer than six: no value does, the outermost are given


def costs(rounds, mode):
    shares = sorted(turn[mode] / turn["bare"] - 1 for turn in rounds)
    demand(shares, "no round of", mode)
    rank = max(_rank(len(shares)), 0)
    return Costs(statistics.median(shares), shares[rank], shares[-1 - rank],
                 statistics.median(turn[mode] for turn in rounds))
