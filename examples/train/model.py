"""What is learned: softmax regression on synthetic points, in plain Python.

Small on purpose: the arithmetic of a step is about a millisecond, so it hides behind the kernels. Everything
is fixed by the seed, so two runs that move the same bytes end in the same bits.
"""
import math
import random
from array import array
from operator import mul

CLASSES = 10
FEATURES = 16
ROW = FEATURES + 1  # a sample is its features and its label; a class's weights are one per feature and a bias
WEIGHTS = CLASSES * ROW
_SAMPLES = 2048
_NOISE = 0.9
_LEARNING_RATE = 0.25


class Dataset:
    """Noisy points around one centre per class, as rows of floats."""

    def __init__(self, seed):
        generator = random.Random(seed)
        centres = [[generator.uniform(-1, 1) for _ in range(FEATURES)] for _ in range(CLASSES)]
        self._rows = array("f")
        for _ in range(_SAMPLES):
            label = generator.randrange(CLASSES)
            self._rows.extend(generator.gauss(x, _NOISE) for x in centres[label])
            self._rows.append(label)

    def batch(self, first, count):
        """`count` samples from number `first` on; after the last comes the first again."""
        picked = array("f")
        while count > 0:
            first %= _SAMPLES
            taken = min(count, _SAMPLES - first)
            picked.extend(self._rows[first * ROW:(first + taken) * ROW])
            first, count = first + taken, count - taken
        return picked


def initial_weights(seed):
    generator = random.Random(seed + 1)
    return array("f", [generator.uniform(-0.05, 0.05) for _ in range(WEIGHTS)])


def loss_and_gradient(rows, weights):
    """Summed over the samples in `rows`; `weights` and the gradient have one row per class."""
    by_class = [weights[c * ROW:(c + 1) * ROW].tolist() for c in range(CLASSES)]
    gradient = [[0.0] * ROW for _ in range(CLASSES)]
    loss = 0.0
    for first in range(0, len(rows), ROW):
        row = rows[first:first + ROW].tolist()
        label, row[FEATURES] = int(row[FEATURES]), 1.0
        # fsum: the plain sum rounds differently from Python 3.12 on.
        scores = [math.fsum(map(mul, row, weight)) for weight in by_class]
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        total = math.fsum(powers)
        loss += math.log(total) + top - scores[label]
        for c, power in enumerate(powers):
            error = power / total - (c == label)
            gradient[c] = [g + error * x for g, x in zip(gradient[c], row)]
    return loss, array("f", [g for row in gradient for g in row])


def descend(weights, gradient, samples):
    """The weights after one step along a gradient summed over `samples` samples."""
    rate = _LEARNING_RATE / samples
    return array("f", [w - rate * g for w, g in zip(weights, gradient)])
