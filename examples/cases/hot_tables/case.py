"""A recommender on four ranks: each looks its own tables up, an all-to-all hands the rows out, another one
their gradients back, and an AllReduce adds up those of the dense part. The tables of rank 1 are asked for
four times as often as those of the others. `fixed` shares them out evenly."""
from communicator import all_to_all

RANKS, ROWS, DENSE, HOT = 4, 200_000, 2_000_000, 1


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    lookup_us = 875 if job.fixed else 2000 if job.rank == HOT else 500
    gpu.launch(f"split_embedding_codegen_forward__{lookup_us}us")
    all_to_all(gpu, job.comm, job.ranks, ROWS)
    gpu.layers(4, 350)
    all_to_all(gpu, job.comm, job.ranks, ROWS)
    gpu.launch("split_embedding_backward_codegen__600us")
    job.all_reduce(DENSE)
    gpu.update()
    gpu.wait()
