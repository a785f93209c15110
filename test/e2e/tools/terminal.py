"""A terminal for programs: what they write to it, when, and what is left to see of it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import box

STYLE = re.compile(r"\033\[[0-9;]*m")
ESCAPE = re.compile(r"\033\[[0-9;]*([A-Za-z])")
PATIENCE = 100  # seconds, for what is certain to come


def without_styles(text):
    return STYLE.sub("", text)


def shown(text, columns=None):
    """The lines that a person sees when all of it is written. It knows the sequences that we use."""
    lines, at, i = [[]], 0, 0
    while i < len(text):
        escape = ESCAPE.match(text, i)
        if escape:
            if escape.group() == "\033[K":
                del lines[-1][at:]
            elif escape.group(1) != "m":
                raise ValueError(f"an unknown sequence: {escape.group()!r}")
            i = escape.end()
            continue
        character = text[i]
        i += 1
        if character == "\r":
            at = 0
        elif character == "\n":
            lines.append([])
            at = 0
        else:
            lines[-1][at:at + 1] = [character]
            at += 1
            if columns and at > columns:
                raise ValueError(f"wider than the terminal: {''.join(lines[-1])!r}")
    return ["".join(line).rstrip() for line in lines]


class Terminal:
    """A program with its stdout, its stderr or both on a terminal; what is not there goes to a pipe."""

    def __init__(self, words, on=("stdout", "stderr"), knobs=None, columns=100, controls=False):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.columns, self.read, self.first_s = columns, b"", None
        env = box.environment({"TERM": "xterm", **(knobs or {})}, sim=False)
        for name in ("NO_COLOR",) if "NO_COLOR" not in (knobs or {}) else ():
            env.pop(name, None)
        ends = {name: slave if name in on else subprocess.PIPE for name in ("stdout", "stderr")}
        self.begin_s = time.monotonic()
        self.process = subprocess.Popen([str(word) for word in words], env=env, start_new_session=True,
                                        stdin=slave if controls else subprocess.DEVNULL,
                                        preexec_fn=self.take_control if controls else None, **ends)
        os.close(slave)
        self.piped = {name: b"" for name in ends if name not in on}
        self.readers = [threading.Thread(target=self.read_terminal)]
        self.readers += [threading.Thread(target=self.read_pipe, args=(name,)) for name in self.piped]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def take_control():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def read_terminal(self):
        while True:
            select.select([self.master], [], [])
            try:
                got = os.read(self.master, 65536)
            except OSError:  # nobody has it open any more
                got = b""
            if not got:
                return
            if self.first_s is None:
                self.first_s = time.monotonic()
            self.read += got

    def read_pipe(self, name):
        with getattr(self.process, name) as pipe:
            self.piped[name] = pipe.read()

    @property
    def text(self):
        return self.read.decode("utf-8", "replace")

    def wait_for(self, pattern):
        """Until that has been written, however long it takes. The match."""
        until_s = time.monotonic() + PATIENCE
        while time.monotonic() < until_s:
            found = re.search(pattern, self.text)
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        self.kill()
        raise AssertionError(f"{pattern!r} did not come: {self.text!r}")

    def kill(self):
        """Also what it has started: a test that fails leaves nothing that runs on."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        """Its exit code, when it has ended and all is read."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        for reader in self.readers:
            reader.join(PATIENCE)
        os.close(self.master)
        self.lasted_s = time.monotonic() - self.begin_s
        return code

    def lines(self):
        return [line for line in shown(self.text, self.columns) if line]
