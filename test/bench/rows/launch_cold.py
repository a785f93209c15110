"""A launch while recording, against two time stamps around it; 256 KiB of other data touched before each."""
from measure import Figure, Trace, added_ns


def measure():
    printed = Trace("call_cost", "cold").printed
    added, floor = added_ns(printed, "through", "middle"), added_ns(printed, "stamped", "middle")
    yield Figure("cold launch / 2 stamps", added / floor, "x", at_most=2.5,
                 why=f"{added:.1f} ns added, {floor:.1f} ns floor")
