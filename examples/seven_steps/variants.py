"""The eight variants: what each of them adds to the one before, and what was published of it."""
from types import SimpleNamespace
from typing import NamedTuple, Optional

from next_change import Change

BASELINE = {"workers": False, "pinned": False, "times_batch": 1, "bytes_on_wire": False, "set_to_none": False,
            "amp": False, "compiled": False}


class Variant(NamedTuple):
    name: str
    adds: dict            # times_batch: of the first batch
    samples_per_s: float  # published, of a V100; of variant 1, its 37 ms a step
    busy: Optional[str]   # published: a share in %, or what was said instead
    named_by: Change      # which findings of the run before ask for it


VARIANTS = (
    Variant("baseline", {}, 400, "31.65 %", Change()),
    Variant("workers", {"workers": True}, 32 / 0.037, "72.81 %", Change(("input_bound",))),
    Variant("pinned", {"pinned": True}, 1200, "92.37 %", Change(("pageable_copies",))),
    Variant("large_batch", {"times_batch": 16}, 1584, "unchanged",
            Change(("larger_batch", "launch_bound"), "larger batch")),
    Variant("bytes_on_wire", {"bytes_on_wire": True}, 1670, "97.51 %", Change(("copy_volume",))),
    Variant("set_to_none", {"set_to_none": True}, 1670, "unchanged", Change(no_gain="memset")),
    Variant("amp", {"amp": True, "times_batch": 32}, 2477, "slightly less",
            Change(("no_tensor_cores",), "AMP")),
    Variant("compiled", {"compiled": True}, 3268, None,
            Change(("small_kernels", "launch_bound"))),
)


def variant_options(number):
    """All that is in effect in that variant."""
    options = dict(BASELINE)
    for variant in VARIANTS[:number + 1]:
        options.update(variant.adds)
    return SimpleNamespace(**options)
