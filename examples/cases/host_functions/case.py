"""In the middle of each step the stream calls a function of the host that takes 1 ms, such as a callback that
prints a value: what is behind it in the stream waits. `fixed` calls it on a stream of its own."""
import ctypes

from gpu import MS, advance, call


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def tell(_):
    advance(1 * MS)


def setup(job):
    job.made.update(stream=job.gpu.make_stream(), event=job.gpu.make_event())


def step(job):
    gpu, stream, event = job.gpu, job.made["stream"], job.made["event"]
    gpu.copy_in()
    gpu.layers(10, 200)
    if job.fixed:
        gpu.record(event)
        gpu.wait_for(event, stream)
    call("cuLaunchHostFunc", stream if job.fixed else gpu.stream, tell, None)
    gpu.layers(10, 200)
    gpu.update()
    if job.number % 10 == 9:
        gpu.wait()
