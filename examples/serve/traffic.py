"""Requests as they come from outside: when, how long their prompts are, how long their answers become.

All of it from a seed, so a run can be repeated. Arrivals are a Poisson process, as calls of many people are.
"""
import dataclasses
import random

PROMPTS = (128, 512, 2048)  # tokens; what lies between is padded to the next of them
_WEIGHTS = (6, 3, 1)


@dataclasses.dataclass
class Request:
    number: int
    arrives_ns: int
    prompt: int  # tokens
    answer: int
    made: int = 0  # tokens of the answer so far
    started_ns: int = 0
    first_token_ns: int = 0
    ended_ns: int = 0
    end_range: object = None  # tells a tracer


def arrivals(count, per_second, answer, seed):
    """`answer`: how many tokens answers have on average; lengths lie between half and one and a half of it.
    All come at once where `per_second` is 0."""
    chance, at_ns, requests = random.Random(seed), 0, []
    for number in range(count):
        if per_second:
            at_ns += int(chance.expovariate(per_second) * 1e9)
        length = chance.randint(max(1, answer // 2), max(1, answer + answer // 2))
        requests.append(Request(number, at_ns, chance.choices(PROMPTS, _WEIGHTS)[0], length))
    return requests
