"""What rows put a program into: interposers behind the shim, and file systems of its own."""
import subprocess

import box
import preload
from row import C, NotTried


def interposed(scene, name):
    """LD_PRELOAD with one of interposers/ behind the shim."""
    source = (box.ROOT / "test/faults/interposers" / f"{name}.c").read_text(encoding="utf-8")
    return f"{preload.SHIM}:{preload.compiled(source, scene.folder / f'{name}.so', '-shared', '-fPIC')}"


def mounted(scene, mounts, *words, **knobs):
    """The host with file systems of its own; `mounts` is what the shell does before."""
    allowed = subprocess.run(["unshare", "-m", "sh", "-c", mounts], check=False, capture_output=True,
                             text=True)
    if allowed.returncode != 0:
        raise NotTried(f"no such mounts here: {allowed.stderr.strip()}")
    command = ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh", *map(str, scene.command(*words))]
    return scene.same_command(command, **knobs)


def usual(scene):
    """What a host does that does nothing odd."""
    return ("brief",) if scene.host == C else ("end", "return")
