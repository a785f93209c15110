"""examples/recipes: the commands of each README, run as they stand there, with the real launcher and four
ranks on the box."""
import json
import os
import shutil
import subprocess
import unittest

import box
import launching
import optional
import recipe_launchers
import slurm_node

RECIPES = box.ROOT / "examples" / "recipes"
# Debian's torchrun 1.13 does not understand its own defaults of these two under Python 3.11.
TORCHRUN = """#!/bin/sh
exec "{real}" -r 1 -t 1 "$@"
"""


def python_of(name):
    """A Python that somebody names."""
    return os.environ.get(f"GPUSHIM_{name.upper()}_PYTHON", "")


class Recipes(launching.Job):
    def commands(self, name):
        block, = launching.FENCE.findall((RECIPES / name / "README.md").read_text(encoding="utf-8"))
        return block

    def check(self, name, traces="traces", **more):
        said = self.run_in_job(self.commands(name), **more)
        self.assertRegex(said, r"\bran +train\.py +4 of 4 ranks +4 x Simulated GPU\n")
        self.assert_four_ranks(self.job / traces)

    def assert_four_ranks(self, folder):
        report = json.loads(self.gpushim("report", folder, "--json").stdout)
        self.assertEqual((report["ledger"]["ranks_seen"], report["ledger"]["ranks_expected"]), (4, 4))
        self.assertEqual(sorted(gpu["rank"] for gpu in report["gpus"]), [0, 1, 2, 3])
        self.assertEqual(len({gpu["gpu"] for gpu in report["gpus"]}), 4, "each has a GPU of its own")
        self.assertEqual(len(list(folder.glob("gpushim.*.db"))), 5, "four traces and their run")

    def test_plain(self):
        self.check("plain")

    @unittest.skipUnless(shutil.which("torchrun"), optional.lacks("launchers"))
    def test_torchrun(self):
        wrapper = self.folder / "bin" / "torchrun"
        wrapper.write_text(TORCHRUN.format(real=shutil.which("torchrun")), encoding="utf-8")
        wrapper.chmod(0o755)
        self.check("torchrun")

    @unittest.skipUnless(shutil.which("mpirun"), optional.lacks("launchers"))
    def test_mpirun(self):
        self.check("mpirun")

    @unittest.skipUnless(all(map(shutil.which, slurm_node.PROGRAMS)) and os.geteuid() == 0,
                         optional.lacks("launchers"))
    def test_srun(self):
        node = slurm_node.Node(self.folder / "slurm")
        self.addCleanup(node.end)
        shutil.copy(RECIPES / "srun" / "job.sh", self.job)
        self.check("srun", traces="traces.1", SLURM_CONF=str(node.conf))

    def test_cron(self):
        """The line is run as cron runs it, with the environment that the file gives."""
        settings, line = (RECIPES / "cron" / "crontab").read_text(encoding="utf-8").splitlines()
        command = line.split(None, 5)[5]
        shutil.copy(RECIPES / "cron" / "night.sh", self.job)
        name, _, places = settings.partition("=")
        env = {"HOME": str(self.folder), "LOGNAME": "user", "SHELL": "/bin/sh",
               name: places.replace("/usr/local/bin", f"{self.folder}/bin"),
               "LD_LIBRARY_PATH": f"{box.SIM}:{box.BUILD}", "GPUSIM_DEVICES": "4"}
        done = subprocess.run(["/bin/sh", "-c", command], env=env, timeout=200, check=False, text=True,
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        night, = (place for place in self.job.iterdir() if place.is_dir())
        self.assertRegex(night.name, r"\d{4}-\d\d-\d\d$")
        self.assert_four_ranks(night)
        self.assertGreater((self.job / f"{night.name}.html").stat().st_size, 10_000)

    @unittest.skipUnless(python_of("recipes"), optional.lacks("recipes"))
    def test_accelerate(self):
        recipe_launchers.accelerate(self.folder / "bin", python_of("recipes"))
        self.check("accelerate")

    @unittest.skipUnless(python_of("recipes"), optional.lacks("recipes"))
    def test_deepspeed(self):
        recipe_launchers.deepspeed(self.folder / "bin", python_of("recipes"))
        self.check("deepspeed")

    @unittest.skipUnless(python_of("ray"), optional.lacks("ray"))
    def test_ray(self):
        """A worker stays what it is: the program that it runs has the ranks' GPUs in a process of its own."""
        shutil.copy(RECIPES / "ray" / "train_on_ray.py", self.job)
        text = launching.TRAIN.replace("import os,", "import os, subprocess,")
        text = text.replace("os.execv(sys.executable, [", "subprocess.run([")
        (self.job / "train.py").write_text(text.rstrip()[:-1] + ", check=True)\n", encoding="utf-8")
        recipe_launchers.write(self.folder / "bin", "python3", f'#!/bin/sh\nexec {python_of("ray")} "$@"\n')
        self.check("ray", RAY_TMPDIR=str(self.folder), RAY_OVERRIDE_RESOURCES='{"CPU": 8}',
                   RAY_USAGE_STATS_ENABLED="0")

    @unittest.skipUnless(python_of("recipes"), optional.lacks("recipes"))
    def test_kubernetes(self):
        """The manifests are what Kubernetes takes; what stands in them is run by a stand-in for a cluster."""
        for name in ("job.yaml", "report.yaml"):
            shutil.copy(RECIPES / "kubernetes" / name, self.job)
            done = subprocess.run([os.path.join(os.path.dirname(python_of("recipes")), "kubernetes-validate"),
                                   "--strict", self.job / name], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
        recipe_launchers.kubectl(self.folder / "bin", python_of("recipes"), self.job)
        self.check("kubernetes", traces="train")

    def test_docker(self):
        why = recipe_launchers.no_containers()
        if why:
            self.skipTest(optional.lacks("containers", why))
        recipe_launchers.docker(self.folder / "bin", self.folder, "image")
        commands = self.commands("docker").replace("IMAGE", "image")
        said = self.run_in_job(commands.replace("/usr/lib/libgpushim.so:", f"{box.BUILD}/libgpushim.so:"))
        self.assertRegex(said, r"\bran +train\.py +4 of 4 ranks +4 x Simulated GPU\n")
        self.assert_four_ranks(self.job / "traces")

    @unittest.skipIf(shutil.which("systemd-analyze") is None, optional.lacks("systemd"))
    def test_systemd(self):
        """The unit is what systemd takes; its lines are run with the environment that it gives."""
        unit = RECIPES / "systemd" / "train.service"
        done = subprocess.run(["systemd-analyze", "verify", unit], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        variables, folder, *commands = recipe_launchers.service(unit)
        self.assertEqual(variables["GPUSHIM_OUT"], f"{folder}/traces/")
        env = {"PATH": f"{self.folder}/bin:/usr/bin", "LD_LIBRARY_PATH": f"{box.SIM}:{box.BUILD}",
               "GPUSIM_DEVICES": "4", "GPUSIM_BOX": os.environ["GPUSIM_BOX"],
               **{name: value.replace(folder, str(self.job)) for name, value in variables.items()}}
        for command in commands:
            done = subprocess.run(["/bin/sh", "-c", command], cwd=self.job, env=env, timeout=200, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("4 of 4 ranks", (self.job / "report.txt").read_text(encoding="utf-8"))
        self.assert_four_ranks(self.job / "traces")

    def test_each_recipe_is_listed_short_and_run(self):
        listed = (RECIPES / "README.md").read_text(encoding="utf-8")
        names = {folder.name for folder in RECIPES.iterdir() if folder.is_dir()}
        self.assertEqual(names, {test.removeprefix("test_") for test in dir(self)
                                 if test.startswith("test_")} & names)
        for name in names:
            text = (RECIPES / name / "README.md").read_text(encoding="utf-8")
            self.assertLessEqual(text.count("\n"), 40, name)
            self.assertIn(f"[{name}/]({name}/README.md)", listed)
            for says in ("**Traces**", "**Ranks and nodes**", "**/dev/shm**", "**The report**"):
                self.assertIn(says, text, name)
