"""How a row of the catalogue says what proves it. A row is a fault; for each kind of host program that it is
tried on it has proofs: functions here, or names of tests that are there anyway.

    F1 = Row("F1", "fork without exec: children are dark")
    F1.proven_by([C], "test_lifecycle.Children.test_fork")         a method of test/e2e
    F1.proven_by([C], "unit: a case's name", "check: a rule")      a unit case, a rule of make check
    F1.not_tried([SPAWN], "name in test/optional.list")

    @F1.tried_on(C, FORK)
    def children_under_load(scene):                                a Scene (oracle.py), which is a TestCase
        scene.same("children", scene.pick(quick=20, full=10000))

A function raises NotTried("name in test/optional.list") where this machine does not let it try.
test/e2e/project/test_faults.py makes a test of each function and host kind; a host kind of which a row says
nothing does not apply to it.
"""
from typing import Callable, List, NamedTuple, Union

import optional

C, FORK, SPAWN = "C", "Python fork", "Python spawn"
HOSTS = (C, FORK, SPAWN)
ALONE = C  # what has no host program, as the analyzer's rows, stands in the first column

ROWS = {}  # key -> Row: all of them, once catalogue.py has read the areas


class NotTried(Exception):
    """This machine lacks what test/optional.list has under that name."""

    def __init__(self, name, detail=""):
        super().__init__(optional.lacks(name, detail))


class Function(NamedTuple):
    """A proof that is written in the catalogue itself."""

    key: str
    host: str
    function: Callable

    @property
    def method(self):
        return f"test_{self.key}_{self.function.__name__}_on_{self.host.replace(' ', '_').lower()}"

    @property
    def test(self):
        return f"test_faults.Faults.{self.method}"


class Row:
    def __init__(self, key, fault):
        if key in ROWS:
            raise ValueError(f"row {key} is there twice")
        self.key, self.fault = key, fault
        self.functions: List[Function] = []
        self.cells = {host: [] for host in HOSTS}  # names of tests, or a NotTried
        ROWS[key] = self

    def proven_by(self, hosts, *tests):
        self._add(hosts, *tests)

    def not_tried(self, hosts, name, detail=""):
        self._add(hosts, NotTried(name, detail))

    def tried_on(self, *hosts):
        def declare(function):
            for host in hosts:
                self.functions.append(Function(self.key, host, function))
                self._add([host], self.functions[-1].test)
            return function
        return declare

    def _add(self, hosts, *proofs: Union[str, NotTried]):
        for host in hosts:
            self.cells[host].extend(proofs)
