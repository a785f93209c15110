"""The one way to skip a test: it lacks something that test/optional.list lists. test/run fails a test that is
skipped for any other reason, so a core test runs everywhere or fails.

    @unittest.skipUnless(shutil.which("lintian"), optional.lacks("lintian"))
"""
import shutil
import subprocess

import box

TABLE = box.ROOT / "test" / "optional.list"
PREFIX = "optional: "


def known():
    """{name: what it is}"""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def lacks(name, detail=""):
    """The reason to skip by."""
    if name not in known():
        raise ValueError(f"{name} is not in {TABLE}")
    return f"{PREFIX}{name}{f' ({detail})' if detail else ''}"


def may_unshare(*words):
    """Whether this user may have mounts (-m) or processes (-p -f) of his own here, and do that there."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", *words], check=False, capture_output=True).returncode == 0


def may_mount():
    return may_unshare("-m", "sh", "-c", "mount -t tmpfs none /mnt")
