"""Jobs as people have them, drawn from seeds: data-parallel training (examples/train) of 2 to 8 ranks, of
which one may be slow, and of which the whole, a part or what is left of it is recorded. Steps take
milliseconds, or as long as a large model's, and in some jobs they become longer or shorter on the way. The
same seed is the same job."""
import math
import random
from typing import NamedTuple, Optional, Tuple

# What becomes of the recording; seeds take them in turn.
KINDS = ("whole", "schedule", "alone", "killed", "whole", "range", "hung", "short", "capped", "sampled",
         "long", "paced")
AS_PEOPLE_START_THEM = ("long", "paced")  # no budget is asked for
NOISE = 0.05


class Job(NamedTuple):
    seed: int
    kind: str
    ranks: int
    slow: Optional[int]  # that rank's kernels take `factor` times as long
    factor: float
    noisy: bool
    steps: int
    options: Tuple[str, ...]  # of examples/train
    variables: dict           # of the shim
    other: int                # a rank: whose trace is left, or who hangs
    ends: dict                # how as_drawn.py is ended, if it is
    pace: dict                # how long its kernels take, if not as long as usual

    def __str__(self):
        slow = f"rank {self.slow} x{self.factor:.2f}" if self.slow is not None else "none slow"
        told = {**self.variables, **self.ends, **self.pace}
        words = " ".join([*self.options, *(f"{name}={value}" for name, value in told.items())])
        noise = ", noisy" if self.noisy else ""
        return f"{self.seed:4} {self.kind:8} {self.ranks} ranks, {slow}{noise} {words}"

    def knobs(self, is_slow=True):
        """Of the box. Without the slow rank it is the same job, noise included."""
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": self.ranks, "GPUSIM_SEED": self.seed}
        if self.noisy:
            knobs["GPUSIM_JITTER"] = NOISE
        if is_slow and self.slow is not None:
            knobs["GPUSIM_SLOW"] = f"{self.slow}:{self.factor:.3f}"
        return knobs


def _options(chance):
    options = ["--bucket-mb", chance.choice(["0.5", "1", "2", "4"]),
               "--params", chance.choice(["1000000", "2000000", "4000000"]),
               "--loss-every", chance.choice(["5", "20", "1000"])]
    if chance.random() < 0.2:
        options.append("--no-overlap")
    if chance.random() < 0.2:
        options += ["--slow-input", f"{chance.uniform(1, 6):.1f}"]
    return tuple(options)


def _variables(kind, chance, steps):
    if kind == "schedule":
        schedule = f"{chance.randint(2, 6)}:2:{chance.randint(5, 8)}:0"
        return {"GPUSHIM_BUDGET": "100%", "GPUSHIM_SCHEDULE": schedule}
    if kind == "range":
        first = chance.randint(5, steps // 2)
        return {"GPUSHIM_BUDGET": "100%", "GPUSHIM_STEPS": f"{first}:{first + chance.randint(8, 18)}"}
    if kind == "capped":
        return {"GPUSHIM_BUDGET": "0.3%", "GPUSHIM_MAX_MB": "2"}
    if kind in AS_PEOPLE_START_THEM:
        return {}
    return {"GPUSHIM_BUDGET": "0.5%" if kind in ("sampled", "killed") else "100%"}


def _pace(kind, chance, steps):
    if kind == "long":  # 0.5 to 28 s a step
        return {"TIMES": round(math.exp(chance.uniform(math.log(100), math.log(6000))))}
    if kind == "killed":  # a kill takes the times of the last two seconds with it
        return {"TIMES": 10}
    if kind == "paced":  # windows of ten seconds see some of both
        return {"TIMES": chance.randint(5, 60),
                "PACE": f"{chance.randint(steps // 8, steps * 7 // 8)}:{chance.choice([0.4, 0.7, 1.4, 2.5])}"}
    return {}


def job_of(seed):
    chance = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    ranks = {"capped": 2, "sampled": 2, "killed": 2, "paced": 2, "whole": chance.randint(2, 8)}.get(
        kind, chance.randint(2, 4))
    steps = {"short": chance.randint(4, 9), "capped": 400, "sampled": 120, "killed": 120, "paced": 300}.get(
        kind, chance.randint(30, 50))
    has_slow = kind == "whole" or chance.random() < 0.6
    slow, factor = chance.randrange(ranks) if has_slow else None, chance.uniform(1.1, 1.5)
    noisy, options = chance.random() < 0.5, _options(chance)
    variables = _variables(kind, chance, steps)
    ends = {"KILLED_AT": chance.randint(steps // 2, steps - 2)} if kind == "killed" else {}
    other = chance.randrange(ranks)
    return Job(seed, kind, ranks, slow, factor, noisy, steps, options, variables, other, ends,
               _pace(kind, chance, steps))
