"""What bash, zsh and fish offer on the Tab key: the shells themselves are asked, each with the file that
`gpushim help --completions` prints for it."""
import os
import re
import shlex
import shutil
import subprocess

import box
import cli
import optional
import terminal

# Each key inserts all that is offered into the line, and shows the line instead of running it.
BASH = r"""
PS1='ready> '
source ./gpushim.bash
bind '"\C-xa": insert-completions'
bind -x '"\C-xp": printf "<<%s>>\n" "$READLINE_LINE"; READLINE_LINE='
"""
ZSH = r"""
PS1='ready> '
fpath=($PWD $fpath)
autoload -Uz compinit && compinit -u -D
show() { print -r -- "<<$BUFFER>>"; BUFFER= }
zle -N show
zle -C offers complete-word _generic
bindkey '^Xa' offers
bindkey '^Xp' show
zstyle ':completion:offers::::' completer _all_matches _complete
zstyle ':completion:offers:*' insert true
"""


class Interactive:
    """A shell on a terminal, asked with keys."""

    def __init__(self, words, folder):
        self.terminal = terminal.Terminal(words, knobs={"ZDOTDIR": folder, "HOME": folder}, controls=True)
        self.asked = 0
        self.terminal.wait_for("ready> ")

    def offered(self, line):
        os.write(self.terminal.master, f"{line}\x18a\x18p".encode())
        self.asked += 1
        self.terminal.wait_for(f"(?s)(<<.*?>>.*?){{{self.asked}}}")
        shown = re.findall(r"(?s)<<(.*?)>>", self.terminal.text)[-1]
        before = line.split(" ")[:-1]
        return {word.rstrip("/") for word in shlex.split(shown)[len(before):]}

    def end(self):
        self.terminal.kill()
        self.terminal.end()


class Fish:
    def __init__(self, folder):
        self.folder = folder

    def offered(self, line):
        asked = f"source ./gpushim.fish; complete -C {shlex.quote(line)}"
        done = subprocess.run(["fish", "--no-config", "-c", asked], cwd=self.folder, text=True, check=True,
                              stdout=subprocess.PIPE, env={**box.environment(sim=False), "HOME": self.folder})
        return {line.split("\t")[0].replace("\\ ", " ").rstrip("/") for line in done.stdout.splitlines()}

    def end(self):
        pass


class Completions(cli.Case):
    def started(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(optional.lacks("shells", shell))
        name = "_gpushim" if shell == "zsh" else f"gpushim.{shell}"
        text = self.gpushim("help", "--completions", shell).stdout
        (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / "traces").mkdir()
        (self.folder / "two words.db").touch()
        for name, text in (("bashrc", BASH), (".zshrc", ZSH)):
            (self.folder / name).write_text(f"cd {self.folder}\n{text}", encoding="utf-8")
        folder = str(self.folder)
        bash = ["bash", "--noprofile", "--rcfile", f"{folder}/bashrc", "-i"]
        words = ["zsh", "-i"] if shell == "zsh" else bash
        asked = Fish(folder) if shell == "fish" else Interactive(words, folder)
        self.addCleanup(asked.end)
        return asked

    def check(self, shell):
        asked, files = self.started(shell), {"traces", "two words.db"}
        self.assertEqual(asked.offered("gpushim re"), {"report"})
        self.assertLessEqual({"run", "report", "doctor", "help"}, asked.offered("gpushim "))
        self.assertLessEqual({"--json", "--html", "--params"},
                             {word.rstrip("=") for word in asked.offered("gpushim report --")})
        self.assertEqual(asked.offered("gpushim run --device-time "), {"auto", "off", "events", "cupti"})
        self.assertEqual({word.split("=")[-1] for word in asked.offered("gpushim run --python=o")}, {"off"})
        self.assertLessEqual({"kineto", "nsys", "xplane"} | files, asked.offered("gpushim import "))
        self.assertEqual(asked.offered("gpushim import kineto tr"), {"traces"})
        self.assertEqual(asked.offered("gpushim stats gpu_t"), {"gpu_time_util"})
        self.assertEqual(asked.offered("gpushim help GPUSHIM_MAX"), {"GPUSHIM_MAX_MB"})
        self.assertLessEqual(files, asked.offered("gpushim analyze -o "))
        self.assertLessEqual(files, asked.offered("gpushim report "))
        self.assertEqual(asked.offered("gpushim report tw"), {"two words.db"})
        self.assertFalse(asked.offered("gpushim report --params ") & files)
        self.assertIn("basename", asked.offered("gpushim run --max-mb 5 -- basena"))
        self.assertIn("traces", asked.offered("gpushim run -- cat --number tr"))

    def test_bash(self):
        self.check("bash")

    def test_zsh(self):
        self.check("zsh")

    def test_fish(self):
        self.check("fish")

    def test_another_shell_is_refused(self):
        said = self.gpushim("help", "--completions", "csh", expect=2).stderr
        self.assertIn("bash, zsh or fish", said)
