"""A launch while recording, against two time stamps around it and against reads of data that are not near;
256 KiB of other data touched before each."""
from measure import Figure, Trace, added_ns

WALK = 16  # as in ways.h


def measure():
    printed = Trace("call_cost", "cold").printed
    added, floor = added_ns(printed, "through", "middle"), added_ns(printed, "stamped", "middle")
    read = (added_ns(printed, "walked", "middle") - floor) / WALK
    why = f"{added:.1f} ns added, {floor:.1f} ns floor"
    yield Figure("cold launch / 2 stamps", added / floor, "x", at_most=2.5, why=why)
    yield Figure("cold launch / far read", (added - floor) / read, "x", at_most=24, aim=8,
                 why=f"{read:.1f} ns a read")
