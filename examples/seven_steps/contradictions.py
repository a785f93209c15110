"""What a report says of a training, held against what the program says of itself, and against itself."""
import json

import gallery

AS_SAID = 0.02  # both sides take the same steps by the same clock
STEPS_SQL = ("SELECT count(*) AS steps, total(dur_ns) / 1e9 AS took_s, max(samples) AS batch FROM step "
             "WHERE left_out = 0")


def steps_of(place):
    """What the run database has of the steps: how many, their time together, and their samples."""
    return json.loads(gallery.run([gallery.BUILD / "gpushim", "sql", place, "--json", STEPS_SQL]))[0]


def contradictions(report, steps, told):
    """What cannot be so, as texts. steps: as `steps_of` has them."""
    if abs(steps["steps"] - told["steps"]) > 1:
        yield f"{steps['steps']} steps, the script took {told['steps']}"
    if steps["batch"] != told["batch"]:
        yield f"{steps['batch']} samples a step, the script has {told['batch']}"
    if "took_s" in told:
        rate, said = (side["steps"] / max(side["took_s"], 1e-9) for side in (steps, told))
        if abs(rate / said - 1) > AS_SAID:
            yield f"{rate:.3f} steps a second, by the script's own clock {said:.3f}"
    for gpu in report["gpus"]:
        yield from contradictions_of_gpu(gpu)


def contradictions_of_gpu(gpu):
    share, low, high, likely_low, likely_high = (
        gpu["busy_share" + name] for name in ("", "_low", "_high", "_likely_low", "_likely_high"))
    if share is None:
        return
    if not 0 <= low <= likely_low <= share <= likely_high <= high <= 1:
        yield (f"busy for {share}, likely between {likely_low} and {likely_high}, certainly between {low} and"
               f" {high}")
    causes = gpu["idle_by_cause_ns"]
    if causes and abs(sum(causes.values()) - gpu["idle_ns"]) > len(causes):
        yield f"idle for {gpu['idle_ns']} ns, its causes add up to {sum(causes.values())}"
