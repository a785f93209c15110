"""The eight variants: what each of them adds to the one before."""
from types import SimpleNamespace

BASELINE = {"workers": False, "pinned": False, "times_batch": 1, "bytes_on_wire": False, "set_to_none": False,
            "amp": False, "compiled": False}
# Name, and what changes. times_batch: of the first batch.
VARIANTS = (
    ("baseline", {}),
    ("workers", {"workers": True}),
    ("pinned", {"pinned": True}),
    ("large_batch", {"times_batch": 16}),
    ("bytes_on_wire", {"bytes_on_wire": True}),
    ("set_to_none", {"set_to_none": True}),
    ("amp", {"amp": True, "times_batch": 32}),
    ("compiled", {"compiled": True}),
)


def variant_options(number):
    """All that is in effect in that variant."""
    options = dict(BASELINE)
    for _, change in VARIANTS[:number + 1]:
        options.update(change)
    return SimpleNamespace(**options)
