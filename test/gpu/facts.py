"""What this machine is, as far as it tells within some seconds. Nothing in here stops the check: what cannot
be told is told as that. As a program: what the kernel can do of what the shim asks of it.
"""
import concurrent.futures
import ctypes
import mmap
import os
import pathlib
import platform
import shutil
import sqlite3
import subprocess
import sys

SECONDS = 5  # for all of them together
PROGRAMS = ("git", "nvcc", "cuda-gdb", "gdb", "nsys", "nvidia-smi")
LIBRARIES = ("libcuda", "libcud", "libcub", "libnccl", "libnvidia", "libcupti", "libc.so", "libstdc++")
SECRETS = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
NAMES = ("CUDA_", "NVIDIA_", "NCCL_", "LD_", "PYTORCH_", "TORCH_", "OMP_", "XLA_", "GPU_CHECK_")
WIPE_ON_FORK = 18            # of madvise
CLOSE_RANGE, UNSHARE = 436, 2


def command(*words):
    return lambda: subprocess.run(words, text=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.strip()


def file(path):
    return lambda: pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()


def linker():
    program = shutil.which("ldconfig") or "/sbin/ldconfig"  # which is on the path of root alone
    return "\n".join(line.strip() for line in command(program, "-p")().splitlines()
                     if line.strip().startswith(LIBRARIES))


def there():
    return ", ".join(f"{name}: {shutil.which(name) or 'none'}" for name in PROGRAMS)


def shared_memory():
    facts = os.statvfs("/dev/shm")
    return f"{facts.f_bavail * facts.f_frsize >> 20} of {facts.f_blocks * facts.f_frsize >> 20} MiB free"


def environment():
    return " ".join(f"{name}={text}" for name, text in sorted(os.environ.items())
                    if name.startswith(NAMES) and not any(word in name for word in SECRETS))


# What is asked, and how. In this order.
FACTS = {
    "kernel": platform.platform,
    "kernel_can": command(sys.executable, "-B", __file__),
    "clocksource": file("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    "libc": lambda: command("ldd", "--version")().splitlines()[0],
    "python": lambda: f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}",
    "programs": there,
    "shared_memory": shared_memory,
    "environment": environment,
    "libraries": linker,
    "driver_parameters": file("/proc/driver/nvidia/params"),
    "nvidia_smi": command("nvidia-smi", "-q"),
}


def told(facts=None, seconds=SECONDS):
    """{name: text}. All are asked at once; who is late is not waited for."""
    pool = concurrent.futures.ThreadPoolExecutor(len(facts or FACTS))
    asked = {name: pool.submit(how) for name, how in (facts or FACTS).items()}
    done, _ = concurrent.futures.wait(asked.values(), timeout=seconds)
    pool.shutdown(wait=False)
    return {name: _text(answer) if answer in done else "not told in time" for name, answer in asked.items()}


def _text(answer):
    try:
        return str(answer.result())
    except Exception as why:  # a fact that is not there is one, too
        return f"not told: {type(why).__name__} {why}"


def in_one_line(text):
    lines = text.splitlines() or [""]
    return lines[0] if len(lines) == 1 else f"{lines[0]} … {len(lines)} lines, in the results"


def kernel_can():
    """Each tried in this process, which then ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    wiped = libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), WIPE_ON_FORK)
    unshared = libc.syscall(CLOSE_RANGE, ctypes.c_uint(1 << 20), ctypes.c_uint(1 << 20), UNSHARE)
    return {"MADV_WIPEONFORK": wiped == 0, "close_range(UNSHARE)": unshared == 0}


if __name__ == "__main__":
    print(", ".join(f"{name}: {'yes' if can else 'no'}" for name, can in kernel_can().items()))
