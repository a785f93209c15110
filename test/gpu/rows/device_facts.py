"""What this GPU and its driver do where our model of them has to know it: the grain of the clock, what lies
between kernels with and without events, what calls of ours take, which are dangerous. Told, not judged.
"""
import concurrent.futures
import json

from machine import BUILD, OutOfTime, Row, Skip

ORDER, LIMIT_S = 5, 15
PROGRAM = BUILD / "gpu" / "facts"
# What is asked, with which variables; in this order.
QUESTIONS = {
    "clock": ("stamps of 1,000 events back to back", {}),
    "chain": ("launch to launch, with 0, 1, 2 events between", {}),
    "programmatic": ("programmatic launches, one event between", {}),
    "calls": ("recording an event and asking for it", {}),
    "name": ("cuFuncGetName of a CUkernel", {}),
    "queues": ("one hardware queue: another stream behind an event", {"CUDA_DEVICE_MAX_CONNECTIONS": 1}),
    "create": ("8,192 events", {}),
    "anchors": ("recording until it is seen: least, median, p95", {}),
}


def check(machine):
    if not PROGRAM.exists():
        raise Skip(f"no {PROGRAM}")
    for question, (what, variables) in QUESTIONS.items():
        yield told(machine, question, what, variables)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        load = beside.submit(asked, machine, "load", {})
        yield told(machine, "anchors", "… beside another process that launches", {})
        load.result()


def asked(machine, question, variables):
    """Its answer; what it did instead is an answer, too."""
    try:
        done = machine.run([PROGRAM, question], variables)
    except OutOfTime as late:
        return {"hangs": str(late)}
    if done.returncode != 0:
        return {"ended_with": done.returncode}
    return json.loads(done.stdout)


def told(machine, question, what, variables):
    answer = asked(machine, question, variables)
    return Row(what, json.dumps(answer).strip("{}").replace('"', ""), {question: answer})
