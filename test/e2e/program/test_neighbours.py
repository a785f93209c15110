"""gpushim beside other preloads, and where something stands between the one who asks for it and the program:
what is seen, and what not. The table in analysis/manual.md is what these tests produce."""
import collections
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import tempfile

import box
import optional
import preload
from shim_host import LAUNCHES, SHIM, ShimTest

MANUAL = box.ROOT / "analysis" / "manual.md"
HEADING = "## Beside other tools\n"
HEAD = "| beside | seen, gpushim in front | seen, gpushim behind | the other |\n|---|---|---|---|\n"
WAYS = ("LINKED", "DLOPEN", "PROC2", "RUNTIME")  # how a program gets at the driver
LTTNG = ("libc-wrapper", "pthread-wrapper", "dl", "fork")

SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
"""
# As conda's own: PATH and its words, then what the packages of the environment have put into activate.d.
ACTIVATE = """
export PATH="{prefix}/bin:$PATH" CONDA_PREFIX="{prefix}" CONDA_DEFAULT_ENV=train CONDA_SHLVL=1
for script in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do . "$script"; done
"""


def library(name):
    """Where Debian has it, or None."""
    return next(iter(sorted(pathlib.Path("/usr/lib").glob(f"*/{name}"))), None)


class Table(ShimTest):
    """Each row is a list of cells; None where what stands beside is not on this machine. With GOLDEN=write
    the table is written."""

    def preloads(self):
        """{the name of a row: its libraries and variables}"""
        tools = {name: self.build(source, f"{source}.so", "-O2", *flags) for name, source, flags in (
            ("a profiler that injects itself, as Nsight Systems does", "injected.c", []),
            ("functions wrapped by their names, as Score-P does", "wrapped.c", []),
            ("a limit for containers that stands in for `dlsym` and `cuGetProcAddress`, as HAMi-core does",
             "limits.c", []))}
        faketime = {"FAKETIME": "-15d"}
        lttng = [library(f"liblttng-ust-{part}.so.1") for part in LTTNG]
        return {"jemalloc": ([library("libjemalloc.so.2")], {}),
                "tcmalloc": ([library("libtcmalloc_minimal.so.4")], {}),
                "libfaketime": ([library("faketime/libfaketimeMT.so.1")], faketime),
                "LTTng's wrappers of the C library, threads, `dlopen` and `fork`": (lttng, {}),
                **{name: ([tool], {}) for name, tool in tools.items()}}

    def host(self, way):
        """A program that does seven things."""
        if way == "RUNTIME":
            return self.build("runtime.c", "host_RUNTIME", *self.linked(":libcudart.so.13"))
        return self.build("host.c", f"host_{way}", f"-DWAY={way}", "-DLIMITED",
                          *(self.linked() if way == "LINKED" else []))

    def seen(self, way):
        """How many of those are in the traces that lie here, which are taken away."""
        found = 0
        for trace in self.folder.glob("*.db"):
            table = "copy" if way == "RUNTIME" else "launch"
            found += preload.query(trace, f"SELECT count(*) FROM {table}")[0][0]
            trace.unlink()
        return found

    def cell(self, found, most):
        return "all" if found == most else "nothing" if found == 0 else f"{found} of {most}"

    def beside(self, libraries, variables):
        """The cells of a preload: in all ways to the driver, in both orders."""
        if None in libraries:
            return None
        seen, same, did = [0, 0], True, 0
        for way in WAYS:
            command = ["sh", "-c", f"date +%Y-%m; exec {self.host(way)}"]
            alone = self.run_host(command, preload=libraries, **variables)
            did += alone.tool or 0
            for place, order in enumerate(([SHIM, *libraries], [*libraries, SHIM])):
                run = self.run_host(command, preload=order, **variables)
                seen[place] += self.seen(way)
                same = same and (run.seen, run.tool) == (alone.seen, alone.tool)
        self.assertTrue(did or alone.tool is None, "the other does nothing")
        cells = [self.cell(found, LAUNCHES * len(WAYS)) for found in seen]
        return [*cells, "as without gpushim" if same else "not as without gpushim"]

    def program(self):
        """A program that needs nothing of the environment."""
        host, script = self.build("host.c", "host", "-DWAY=LINKED", *self.linked()), self.folder / "program"
        script.write_text(f"#!/bin/sh\nexport LD_LIBRARY_PATH={box.SIM}\n"
                          f"export GPUSIM_BOX={os.environ['GPUSIM_BOX']}\nexec {host}\n", encoding="utf-8")
        script.chmod(0o755)
        return script

    def between(self, form):
        """The cells of something that starts the program: `form` has a place for the command. In front of it
        are the variables, behind it is `gpushim run`."""
        program = self.program()
        behind = f"{preload.ANALYZER} run -o {self.folder}/%p.db -- {program}"
        variables = {"LD_PRELOAD": SHIM, "GPUSHIM_OUT": f"{self.folder}/%p.db", "SHELL": "/bin/sh"}
        cells = []
        for command, given in ((program, variables), (behind, {"SHELL": "/bin/sh"})):
            done = self.shell(form.format(f"cd {self.folder} && {command}"), given)
            self.assertIn("7 launches, the bytes came back\n", done.stdout, done.stderr)
            cells.append(self.cell(self.seen("LINKED"), LAUNCHES))
        arrived = self.shell(form.format("printenv LD_PRELOAD"), variables).stdout.split("\n")[0]
        return [*cells, "hands `LD_PRELOAD` on" if arrived == str(SHIM) else
                "takes `LD_PRELOAD` away" if not arrived else "puts another `LD_PRELOAD` in its place"]

    def shell(self, command, variables):
        return box.run(["/bin/sh", "-c", command], variables, sim=False, cwd=self.folder)

    @contextlib.contextmanager
    def server(self):
        """The words that run a command by ssh on this machine: a server of the test's own."""
        sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin")
        if sshd is None or shutil.which("ssh") is None or os.geteuid() != 0:
            yield None
            return
        place = pathlib.Path(tempfile.mkdtemp(prefix="gpushim-ssh-"))
        self.addCleanup(shutil.rmtree, place)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / "key"], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (place / "config").write_text(SSHD.format(port=port, folder=place), encoding="utf-8")
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        server = subprocess.Popen([sshd, "-D", "-f", place / "config", "-E", place / "log"])
        try:
            yield (f"ssh -F none -i {place}/key -p {port} -o StrictHostKeyChecking=no -o BatchMode=yes "
                   f"-o UserKnownHostsFile={place}/known -o LogLevel=ERROR -o ConnectionAttempts=60 "
                   "127.0.0.1 {}")
        finally:
            server.terminate()
            server.wait()

    def activation(self, *lines):
        """conda's, of an environment with a script that has these lines."""
        prefix = self.folder / f"train{len(lines)}"
        scripts = prefix / "etc/conda/activate.d"
        scripts.mkdir(parents=True, exist_ok=True)
        (scripts / "package.sh").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for name in ("libstdc++.so.6", "libgcc_s.so.1"):  # an environment has its own, which come first
            (prefix / "lib").mkdir(exist_ok=True)
            shutil.copy(library(name), prefix / "lib" / name)
        (prefix / "activate").write_text(ACTIVATE.format(prefix=prefix), encoding="utf-8")
        return f"sh -c '. {prefix}/activate; {{}}'"

    def starters(self, ssh):
        """{the name of a row: a form of a command, or None}"""
        quoted = "sh -c '{}'"
        may_sudo = shutil.which("sudo") is not None and os.geteuid() == 0
        other = library("libjemalloc.so.2") or "/none.so"
        return {"`ssh HOST`": ssh and ssh.format(shlex.quote("{}")),
                "`sudo`": f"sudo -n {quoted}" if may_sudo else None,
                "`env -i`": f"env -i {quoted}",
                "conda's activation": self.activation("export LD_LIBRARY_PATH=\"$CONDA_PREFIX/lib\""),
                "conda's activation, with a package that sets `LD_PRELOAD`": self.activation(
                    "export TF_ENABLE=1", f"export LD_PRELOAD={other}")}

    def test_the_table_is_what_is_seen(self):
        rows = collections.OrderedDict()
        for name, (libraries, variables) in self.preloads().items():
            rows[name] = self.beside(libraries, variables)
        with self.server() as ssh:
            for name, form in self.starters(ssh).items():
                rows[name] = form and self.between(form)
        page = MANUAL.read_text(encoding="utf-8")
        before, heading, rest = page.partition(HEADING)
        self.assertTrue(heading)
        table = re.search(r"^\|.*?(?=^[^|])", rest, re.M | re.S)
        lacking = [name for name, cells in rows.items() if cells is None]
        made = {name: f"| {' | '.join([name, *cells])} |\n" for name, cells in rows.items() if cells}
        if os.environ.get("GOLDEN") == "write":
            self.assertEqual(lacking, [])
            rest = rest[:table.start()] + HEAD + "".join(made.values()) + rest[table.end():]
            MANUAL.write_text(before + heading + rest, encoding="utf-8")
            return
        lines = table[0][len(HEAD):].splitlines(keepends=True)
        self.assertEqual([line.split(" | ")[0][2:] for line in lines], list(rows))
        for line, name in zip(lines, rows):
            self.assertEqual(line, made.get(name, line))
        if lacking:
            self.skipTest(optional.lacks("neighbours", ", ".join(lacking)))
