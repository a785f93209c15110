"""Jobs as people have them, drawn from seeds: data-parallel training (examples/train) of 2 to 8 ranks, of
which one may be slow, and of which the whole, a part or what is left of it is recorded. The same seed is the
same job."""
import random
from typing import NamedTuple, Optional, Tuple

# What becomes of the recording; seeds take them in turn.
KINDS = ("whole", "schedule", "alone", "killed", "whole", "range", "hung", "short", "capped", "sampled")
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
    ends_at: Optional[int]    # killed at the end of that step
    other: int                # a rank: whose trace is left, or who hangs

    def __str__(self):
        slow = f"rank {self.slow} x{self.factor:.2f}" if self.slow is not None else "none slow"
        words = " ".join([*self.options, *(f"{name}={value}" for name, value in self.variables.items())])
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
    return {"GPUSHIM_BUDGET": "0.5%" if kind in ("sampled", "killed") else "100%"}


def job_of(seed):
    chance = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    ranks = {"capped": 2, "sampled": 2, "killed": 2, "whole": chance.randint(2, 8)}.get(
        kind, chance.randint(2, 4))
    steps = {"short": chance.randint(4, 9), "capped": 400, "sampled": 120, "killed": 120}.get(
        kind, chance.randint(30, 50))
    has_slow = kind == "whole" or chance.random() < 0.6
    return Job(seed, kind, ranks, chance.randrange(ranks) if has_slow else None, chance.uniform(1.1, 1.5),
               chance.random() < 0.5, steps, _options(chance), _variables(kind, chance, steps),
               chance.randint(steps // 2, steps - 2) if kind == "killed" else None, chance.randrange(ranks))
