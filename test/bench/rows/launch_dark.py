"""A launch while nothing is recorded, against two time stamps: what a hook costs where the shim is idle."""
from measure import SHIM, Figure, added_ns, run


def measure():
    printed = run("call_cost", "dark", preload=SHIM)
    added, floor = added_ns(printed, "through"), added_ns(printed, "stamped")
    yield Figure("dark launch / 2 stamps", added / floor, "x", at_most=0.5, why=f"{added:.1f} ns added")
