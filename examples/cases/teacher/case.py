"""A teacher on GPU 1 works on the batch first, and the student on GPU 0 waits for what it says; `fixed` lets
the teacher work on the next batch meanwhile."""
from gpu import HALF_GEMM, MB

OUTPUT_BYTES = 2 * MB


def setup(job):
    job.gpus[1].use()
    job.made["done"] = job.gpus[1].make_event()
    job.gpu.use()
    if job.fixed:
        teach(job)


def teach(job):
    teacher = job.gpus[1]
    teacher.use()
    teacher.copy_in()
    for layer in range(10):
        teacher.launch(f"{HALF_GEMM}_{layer}__200us")
    teacher.record(job.made["done"])
    job.gpu.use()


def step(job):
    student, teacher = job.gpus
    if not job.fixed:
        teach(job)
    student.use()
    student.copy_in()
    for layer in range(10):
        student.launch(f"{HALF_GEMM}_fwd_{layer}__100us")
    student.wait_for(job.made["done"])
    student.copy_from(teacher, OUTPUT_BYTES)
    if job.fixed:  # the next batch's
        teach(job)
    student.launch("softmax_kl_div_loss__50us")
    for layer in range(10):
        student.launch(f"{HALF_GEMM}_wgrad_{layer}__200us")
    student.update()
    student.wait()
