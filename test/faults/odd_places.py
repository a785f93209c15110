"""What rows put a program into: interposers behind the shim, and file systems of its own."""
import shutil

import box
import optional
import preload
from row import C, NotTried


def public_libraries(scene):
    """A folder with copies of ours and the box's that every user can reach: the build may be root's alone."""
    place = scene.folder / "libraries"
    place.mkdir()
    for path in (scene.folder, place):
        path.chmod(0o755)
    for library in (preload.SHIM, *box.SIM.glob("lib*.so*")):
        shutil.copy(library, place, follow_symlinks=True)
    return place


def interposed(scene, name):
    """LD_PRELOAD with one of interposers/ behind the shim."""
    source = (box.ROOT / "test/faults/interposers" / f"{name}.c").read_text(encoding="utf-8")
    return f"{preload.SHIM}:{preload.compiled(source, scene.folder / f'{name}.so', '-shared', '-fPIC')}"


def mounted(scene, mounts, *words, **knobs):
    """The host with file systems of its own; `mounts` is what the shell does before."""
    if not optional.may_mount():
        raise NotTried("namespaces")
    command = ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh", *map(str, scene.command(*words))]
    return scene.same_command(command, **knobs)


def usual(scene):
    """What a host does that does nothing odd."""
    return ("brief",) if scene.host == C else ("end", "return")
