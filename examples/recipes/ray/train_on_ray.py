"""Ray Train with four workers, of which gpushim traces each."""
import os
import runpy

import ray
from ray.train import ScalingConfig, get_context
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

JOB = os.getcwd()  # a worker is somewhere else


def loop():
    """In each worker. TorchTrainer sets the ranks itself; JOB_ID makes all workers one run."""
    context = get_context()
    os.environ.update(RANK=str(context.get_world_rank()), LOCAL_RANK=str(context.get_local_rank()),
                      WORLD_SIZE=str(context.get_world_size()), JOB_ID=context.get_experiment_name())
    os.chdir(JOB)
    runpy.run_path("train.py", run_name="__main__")


ray.init(runtime_env={"env_vars": {"LD_PRELOAD": "libgpushim.so", "GPUSHIM_OUT": f"{JOB}/traces/"}})
DataParallelTrainer(loop, scaling_config=ScalingConfig(num_workers=4)).fit()
