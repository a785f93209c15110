"""Device times of ours beside those of PyTorch's profiler, of the same run: of a loop whose launches wait in
their queue and of one whose launches find it empty. What events of ours change, and what CUPTI tells us.

A device that was never calibrated is judged twice: by the gaps between stamps and kernels that the shim takes
for it, and, in a run of its own, by those that the first run has shown. Both are told, the second decides.

The box knows the truth, and stands for the profiler there.
"""
import json
import statistics

import beside
import gaps
import operations
from machine import BUILD, PROGRAMS, OutOfTime, Row, Skip, demand, printed_json, same

ORDER, LIMIT_S = 19, 85
LOOPS = ("queued", "unqueued")
PACE = {"queued": (3_000, 0, "busy__20us"), "unqueued": (3_000, 30_000)}
STEPS = {"queued": 600, "unqueued": 1000}
EVENTS = {"GPUSHIM_BUDGET": "100%"}
CUPTI = {"GPUSHIM_DEVICE_TIME": "cupti"}
KEEPS = True  # what it leaves, right or wrong: the pairs are to be looked at
MOSTLY_QUEUED = 0.95  # of a window's operations; then its busy share is within …
POINT = 0.01          # … this, else in its bounds
MOSTLY_TIMED = 0.95   # of the operations since CUPTI is on
NOT_PERMITTED = 35    # CUptiResult
MOST_LINES = 5        # of what a report says that went wrong
STRAY = 0.001         # of a window's operations may have no partner


def check(machine):
    """What is wrong is said at the end: it hides nothing that comes behind it."""
    wrong = []
    try:
        yield from judged_loops(machine, wrong)
    except (Skip, OutOfTime):
        demand(not wrong, " | ".join(wrong))
        raise
    demand(not wrong, " | ".join(wrong))


def judged_loops(machine, wrong):
    plain, learnt = {}, []
    for loop in LOOPS:
        plain[loop] = Run(machine, loop), Run(machine, loop, profiler=True)
        yield from by_events(machine, loop, wrong, learnt, *plain[loop])
    for loop in LOOPS:
        run = Run(machine, loop, CUPTI, profiler=machine.simulated)
        yield from unless_wrong(wrong, by_cupti, loop, run, *plain[loop])
        if run.theirs is not None:
            pairs, clock = laid_together(run.ours, run.theirs)
            yield from unless_wrong(wrong, times_row, loop, "CUPTI", run.ours, pairs, clock, True)


def unless_wrong(wrong, row, *about):
    try:
        yield row(*about)
    except AssertionError as why:
        wrong.append(f"{about[0]}: {why}")


class Run:
    """One run of a loop: what a step took, our trace, and what the profiler (or the box) says."""

    def __init__(self, machine, loop, ours=None, profiler=False):
        self.folder = machine.folder()
        self.profile = self.folder / "profile"
        variables, command = {}, [BUILD / "gpu" / "pace", *PACE[loop]]
        if ours is not None:
            variables = {"LD_PRELOAD": machine.library, "GPUSHIM_OUT": self.folder / "trace.db", **ours}
        if machine.simulated:
            variables.update({"GPUSIM_TRUTH": self.profile, **machine.undisturbed})
        else:
            command = [machine.python, "-B", PROGRAMS / "loops.py", loop, "--steps", STEPS[loop]]
            command += ["--profile", self.profile.with_suffix(".json")] if profiler else []
        done = machine.plain(command, **variables)
        self.step_ns = pace_step(done) if machine.simulated else loop_step(done)
        self.ours = operations.of_trace(self.folder / "trace.db") if ours is not None else None
        self.theirs = self.read_profile(machine) if profiler else None

    def read_profile(self, machine):
        if machine.simulated:
            return operations.of_truth(self.profile)
        return operations.of_profile(self.profile.with_suffix(".json"), self.folder,
                                     min(LIMIT_S, machine.left_s()))

    def report(self, machine):
        done = machine.report("--json", self.folder / "trace.db")
        demand(done.returncode == 0, f"gpushim report ended with {done.returncode}:", first_lines(done))
        return json.loads(done.stdout)


def first_lines(done):
    """What a report that did not end with 0 says: figures that contradict each other, and stderr."""
    try:
        said = json.loads(done.stdout).get("contradictions", [])
    except ValueError:
        said = []
    told = [f"{one['name']}, {one['who']}: {one['text']}" for one in said]
    return "; ".join([*told, *done.stderr.strip().splitlines()][:MOST_LINES]) or "and said nothing"


def loop_step(done):
    said = printed_json(done)
    if "missing" in said:
        raise Skip(said["missing"])
    return statistics.median(said["step_ns"])


def pace_step(done):
    words = done.stdout.split()
    return float(words[words.index("launch_ns") + 1])


def by_events(machine, loop, wrong, learnt, bare, profiled):
    """`learnt`: the gaps of this device, where a loop has shown them; this one may add them."""
    events = Run(machine, loop, EVENTS)
    both = Run(machine, loop, EVENTS, profiler=True)
    taken_for, first = gaps.assumed(both.folder / "trace.db"), []
    pairs, clock = yield from judged_run(machine, loop, first, both)
    found = gaps.measured(pairs.pairs, clock, taken_for)
    if found is not None:
        learnt.append(found)
        yield gaps_row(loop, machine.gpus[0], found, taken_for, clock)
    if taken_for is not None and not taken_for.calibrated and learnt:
        yield from judged_again(machine, loop, wrong, learnt[0], first)
    else:
        wrong += first
    yield distortion_row(loop, bare, events, profiled, both)


def judged_run(machine, what, wrong, run):
    """Its rows, and its operations beside the profiler's."""
    pairs, clock = laid_together(run.ours, run.theirs)
    machine.note(f"pairs-{what.replace(' ', '-')}.csv", beside.as_csv(pairs.pairs, clock))
    yield bias_row(what, pairs, clock)
    yield from unless_wrong(wrong, times_row, what, "events", run.ours, pairs, clock, machine.simulated)
    try:
        report = run.report(machine)
    except AssertionError as why:
        wrong.append(f"{what}: {why}")
    else:
        yield from unless_wrong(wrong, busy_row, what, report, run.ours, pairs, clock)
        yield from latency_rows(what, report["trust"], pairs, clock)
    return pairs, clock


def judged_again(machine, loop, wrong, found, first):
    """Another run, of which the shim knows the gaps: they were not learnt of what they are held against."""
    yield Row(f"{loop}: this device was never calibrated",
              f"by what is taken for its gaps: {' | '.join(first) or 'right'}", {"wrong": first})
    run = Run(machine, loop, {**EVENTS, **found.setting()}, profiler=True)
    taken_for = gaps.assumed(run.folder / "trace.db")
    told = gaps.Assumed(found.before_ns, found.after_ns, True)
    same(taken_for, told, "what its times were reckoned with")
    yield from judged_run(machine, f"{loop} learnt", wrong, run)


def bias_row(loop, pairs, clock):
    """Which way ours are off, and by how much, for operations of about one length."""
    classes = beside.biases(pairs.pairs, clock)
    said = [f"{one.count} of {one.what}: starts {one.starts}, durations {one.durations}" for one in classes]
    return Row(f"{loop}: ours less the profiler's", "; ".join(said) + " (ns: p5, median, p95)",
               {one.what: one._asdict() for one in classes})


def gaps_row(loop, device, found, taken_for, clock):
    """Ready to paste."""
    setting, = (f"{name}={text}" for name, text in found.setting().items())
    return Row(f"{loop}: line for shim/harvest/calibrated.def",
               f"{found.line(device)}, or {setting} (of {found.count} launches; taken for"
               f" {taken_for.before_ns} and {taken_for.after_ns} ns; clocks within {clock.error_ns} ns;"
               f" ours late by {found.late_ns} ns at least)",
               {**found._asdict(), "line": found.line(device), **found.setting(),
                "clock_error_ns": clock.error_ns})


def laid_together(ours, theirs):
    demand(ours and theirs, "operations: of ours", len(ours), "of the profiler's", len(theirs))
    pairs = beside.match(ours, theirs)
    demand(pairs.pairs, "of", pairs.ones, "operations of ours none is among the profiler's", pairs.others)
    clock = beside.clocks(pairs.pairs)
    if clock is None:
        raise Skip("this profiler does not say when calls began and ended")
    pairs = beside.completed(pairs, clock, ours, theirs)
    demand(pairs.share >= beside.MATCHED, f"only {len(pairs.pairs)} of {pairs.ones} operations of ours are "
           f"among {pairs.others} of the profiler's")
    return pairs, clock


def times_row(loop, by, ours, pairs, clock, exact):
    """`exact`: the other side is the truth, so that bounds have to hold."""
    timed = beside.timed(pairs.pairs)
    demand(timed, "no operation of ours has device times")
    queued = [pair for pair in timed if pair[0].queued]
    found = {"queued": beside.errors(queued, clock),
             "unqueued": beside.errors([pair for pair in timed if not pair[0].queued], clock)}
    text = "; ".join(f"{errors.starts.count} {kind}: starts off {errors.starts}, durations "
                     f"{errors.durations}, {errors.inside:.1%} in their bounds, {errors.likely:.1%} within "
                     "the stated error"
                     for kind, errors in found.items() if errors.starts.count)
    for kind, errors in found.items():
        demand(not exact or errors.starts.count == 0 or errors.inside == 1, kind, "operations out of their "
               "bounds:", text)
    figures = {kind: errors._asdict() for kind, errors in found.items()}
    return Row(f"{loop}: times by {by}",
               f"{len(timed)} of {len(ours)} timed; {text}; clocks within {clock.error_ns} ns by "
               f"{clock.agree:.0%} of the calls", {**figures, "clock_error_ns": clock.error_ns})


def busy_row(loop, report, ours, pairs, clock):
    """Every window whose operations the profiler has seen, too."""
    partners = {one.enter_ns: other for one, other in pairs.pairs if other.is_timed}
    spans = [(other.device, other.start_ns + clock.offset_ns, other.end_ns + clock.offset_ns)
             for other in partners.values()]
    said, figures = [], []
    for gpu, window in ((gpu, window) for gpu in report["windows"] for window in gpu["windows"]):
        begin, end = window["from_ns"], window["until_ns"]
        enters = [one.enter_ns for one in ours if begin <= one.enter_ns < end]
        strays = sum(enter not in partners for enter in enters)
        if window["refused"] or not enters or strays > STRAY * len(enters):
            continue
        there = [span for device, *span in spans if device == gpu["device"]]
        text, figure = judged(window, beside.union_ns(there, begin, end))
        said.append(text)
        figures.append(figure)
    demand(said, "no window of ours whose operations the profiler has seen, too")
    return Row(f"{loop}: busy share", "; ".join(said), {"windows": figures})


def judged(window, true_ns):
    """What is said of one window, by the rule: within a point where most was queued, else in the bounds."""
    length = window["until_ns"] - window["from_ns"]
    low, high, estimate = (window[f"as_it_ran_{end}ns"] / length for end in ("low_", "high_", ""))
    true = true_ns / length
    count = window["queued"] + window["unqueued"]
    queued = window["queued"] / count if count else 0.0
    text = (f"{estimate:.2%} [{low:.2%}, {high:.2%}], the profiler's {true:.2%}, {queued:.0%} of "
            f"{count} operations queued")
    if queued >= MOSTLY_QUEUED:
        demand(abs(estimate - true) <= POINT, "busy share off by more than a point:", text)
    else:
        demand(low <= true <= high, "busy share out of its bounds:", text)
    return text, {"ours": estimate, "low": low, "high": high, "profiler": true, "queued_share": queued}


def latency_rows(loop, trust, pairs, clock):
    """δ as it was calibrated, beside what the profiler saw of launches that found an empty queue."""
    launches = [pair for pair in pairs.pairs if pair[0].kind == "launch"]
    seen = beside.latencies(launches, clock)
    if len(seen) < 20:
        return
    middle = statistics.median(seen)
    ours = statistics.median(one.start_ns - one.enter_ns for one, _ in launches
                             if one.is_timed and not one.queued)
    calibrated = trust.get("latency_ns")
    told = "not calibrated" if calibrated is None else f"calibrated {calibrated / 1000:.2f} us"
    yield Row(f"{loop}: from call to start, empty queue", f"{told}; of {len(seen)} launches ours "
              f"{ours / 1000:.2f}, the profiler's {middle / 1000:.2f} us (medians; clocks within "
              f"{clock.error_ns} ns)",
              {"calibrated_ns": calibrated, "ours_ns": ours, "profiler_ns": middle})


def distortion_row(loop, bare, events, profiled, both):
    """A step bare, with events of ours, under the profiler; kernels with our events around them."""
    steps = {"events": events.step_ns, "profiler": profiled.step_ns, "both": both.step_ns}
    ratio, worst = lengthened(profiled.theirs, both.theirs)
    text = ", ".join(f"{name} {ns / bare.step_ns - 1:+.1%}" for name, ns in steps.items())
    return Row(f"{loop}: what events change", f"a step of {bare.step_ns / 1000:.1f} us: {text}; operations "
               f"with events around them take {ratio:.4f} times as long, at most {worst}",
               {"step_ns": {"bare": bare.step_ns, **steps}, "durations": ratio})


def lengthened(before, after):
    """How many times as long operations take in another run of the same work; the one that differs most."""
    rows = beside.longer(before, after)
    total = sum(row.count * row.before_ns for row in rows)
    demand(total, "no operation is timed in both runs")
    worst = max(rows, key=lambda row: abs(row.after_ns - row.before_ns))
    return (sum(row.count * row.after_ns for row in rows) / total,
            f"{worst.after_ns - worst.before_ns:+.0f} ns of {worst.before_ns:.0f} ({worst.name[:40]})")


def by_cupti(loop, run, bare, profiled):
    """Durations by CUPTI as we use it, against the profiler's of another run: one at a time can use it. The
    profiler could, so nothing but a lack of permission is an excuse."""
    source = operations.cupti_source(run.folder / "trace.db")
    told = all_timed(run.ours, source)
    ratio, worst = lengthened(profiled.theirs, run.ours)
    return Row(f"{loop}: by CUPTI, ourselves", f"{told}; {ratio:.4f} times as long "
               f"as the profiler says of another run, at most {worst}; a step "
               f"{run.step_ns / bare.step_ns - 1:+.1%}",
               {"durations": ratio, "step_ns": run.step_ns, "operations": len(run.ours),
                "timed": sum(one.is_timed for one in run.ours), **source._asdict()})


def all_timed(ours, source):
    """In words, where CUPTI gave times of what began after it was on."""
    if source.error == NOT_PERMITTED:
        raise Skip(f"GPUSHIM_DEVICE_TIME=cupti: {source.why}")
    demand(source.refused is None, "CUPTI was not to be had, though a profiler had it:", source.refused and
           source.why)
    since = [one for one in ours if source.since_ns is not None and one.enter_ns >= source.since_ns]
    timed = sum(one.is_timed and one.level == "cupti" for one in since)
    text = (f"{timed} of {len(since)} timed, {len(ours) - len(since)} before it was on; {source.unclaimed} "
            f"records unclaimed, {source.dropped} dropped")
    demand(since and timed >= MOSTLY_TIMED * len(since), "CUPTI gave too few times:", text)
    return text
