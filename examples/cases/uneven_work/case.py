"""Four ranks, and in each step the batch of another one is the longest: three chunks, where the others have
one. `fixed` makes batches of like length."""
RANKS, WEIGHTS = 4, 500_000


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    is_longest = job.number * 7 % 11 % job.ranks == job.rank
    chunks = 1.5 if job.fixed else 3 if is_longest else 1
    for _ in range(int(2 * chunks)):
        gpu.layers(5, 100)
    job.all_reduce(WEIGHTS)
    gpu.update()
    gpu.wait()
