"""Launchers for the recipes that a test machine has not as people have them: Debian's PyTorch behind
Accelerate, Podman in the place of Docker, and a stand-in for kubectl. Each is a program in the folder
`bin`."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import box

# Debian's PyTorch 1.13 does not understand its own words for "no redirection" under Python 3.11.
ACCELERATE = """#!{python}
import sys
import torch.distributed.elastic.multiprocessing.api as api
from accelerate.commands import accelerate_cli
api.Std.from_str = classmethod(lambda kind, text: kind.NONE)
accelerate_cli.main()
"""
# There is no GPU for PyTorch here: DeepSpeed counts four processors instead.
DEEPSPEED = """#!/bin/sh
exec env DS_ACCELERATOR=cpu LOCAL_SIZE=4 "{beside}/deepspeed" "$@"
"""
# Docker's words, but for --gpus, which is the box's here; its libraries come as NVIDIA's runtime brings a
# driver's. The rest is for a machine that is a container itself.
DOCKER = """#!/bin/sh
[ "$1" = run ] && shift
for word; do
    shift
    case $word in --gpus=*) ;; *) set -- "$@" "$word" ;; esac
done
exec unshare -m sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null
    exec podman {globals} run --network host --cgroups disabled --ulimit nofile=1024:1024 \\
        --ulimit nproc=1024:1024 -e LD_LIBRARY_PATH={sim} -e GPUSIM_DEVICES=4 -e GPUSIM_BOX="$GPUSIM_BOX" \\
        -v {root}:{root}:ro "$@"' sh "$@"
"""


def write(folder, name, text):
    program = folder / name
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def accelerate(folder, python):
    write(folder, "accelerate", ACCELERATE.format(python=python))


def deepspeed(folder, python):
    write(folder, "deepspeed", DEEPSPEED.format(beside=pathlib.Path(python).parent))


def no_containers():
    """Why containers cannot be run here, or nothing."""
    if shutil.which("podman") is None or shutil.which("crun") is None:
        return "no podman"
    return subprocess.run([box.ROOT / "test/bare/run", "--can"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip()


def docker(folder, place, image):
    """With an image of that name, which is a bare Debian with Python. `place`: for what Podman keeps."""
    root, words = place / "root", ["--root", place / "store", "--runroot", place / "run", "--storage-driver",
                                   "vfs", "--cgroup-manager", "cgroupfs"]
    subprocess.run([box.ROOT / "test/bare/run", "true"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "BARE_ROOT": str(root), "BARE_PACKAGES": "git,python3"})
    subprocess.run(["tar", "-C", root, "--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./dev/*", "-cf",
                    place / "root.tar", "."], check=True)
    subprocess.run(["podman", *words, "import", "-q", place / "root.tar", image], check=True,
                   stdout=subprocess.DEVNULL)
    write(folder, "docker", DOCKER.format(globals=" ".join(map(str, words)), sim=box.SIM, root=box.ROOT))


# As Kubernetes does it, on one machine: a pod is a process with a host name of its own, where the test may
# give it one, and with the variables that its container has.
KUBECTL = """#!{python}
import os, pathlib, re, subprocess, sys
import yaml
verb, words = sys.argv[1], sys.argv[2:]
log = pathlib.Path("pods.log")

FIELDS = {{"metadata.name": "train-{{index}}",
          "metadata.annotations['batch.kubernetes.io/job-completion-index']": "{{index}}",
          "metadata.labels['batch.kubernetes.io/controller-uid']": "5a0c5b8e-one-job"}}
OWN_NAME = ["unshare", "-u", "sh", "-c", 'hostname "$0" && exec "$@"'] if os.geteuid() == 0 else []

def variables(container, index):
    for entry in container.get("env", []):
        if "value" in entry:
            yield entry["name"], entry["value"]
        else:
            field = entry["valueFrom"]["fieldRef"]["fieldPath"]
            yield entry["name"], FIELDS[field].format(index=index)

def here(text, places):
    for mounted, place in places.items():
        text = re.sub(f"^{{mounted}}(?=/)", place, text)
    return text

def pod(spec, index):
    places = {places}
    container, = spec["containers"]
    volumes = {{one["name"] for one in spec["volumes"]}}
    assert {{mount["name"] for mount in container["volumeMounts"]}} <= volumes
    env = {{name: here(value, places) for name, value in variables(container, index)}}
    env["CUDA_VISIBLE_DEVICES"] = str(index)  # the device plugin's
    command = [here(word, places) for word in container["command"]]
    if OWN_NAME:
        command = [*OWN_NAME, f"train-{{index}}", *command]
    return subprocess.Popen(command, env={{**os.environ, **env}}, stdout=log.open("a"),
                            stderr=subprocess.STDOUT)

if verb == "apply":
    for job in yaml.safe_load_all(pathlib.Path(words[1]).read_text()):
        log.unlink(missing_ok=True)
        spec = job["spec"]
        pods = [pod(spec["template"]["spec"], i) for i in range(spec.get("completions", 1))]
        if any([one.wait() for one in pods]):
            sys.exit(log.read_text())
elif verb == "logs":
    print(log.read_text())
else:
    assert verb == "wait", verb
"""


def kubectl(folder, python, traces):
    places = {"/gpushim": str(box.BUILD), "/traces": str(traces)}
    write(folder, "kubectl", KUBECTL.format(python=python, places=json.dumps(places)))


def service(unit):
    """(variables, folder, command, command after it) of a systemd unit."""
    text = pathlib.Path(unit).read_text(encoding="utf-8")
    of = {key: re.findall(rf"^{key}=(.*)$", text, re.M)
          for key in ("Environment", "WorkingDirectory", "ExecStart", "ExecStopPost")}
    variables = dict(line.split("=", 1) for line in of["Environment"])
    return (variables, *(value for (value,) in list(of.values())[1:]))
