"""What people read at once: a report has at most 45 lines, 60 where there is something to do or to mistrust,
and 110 columns."""

MOST, MOST_WITH_TROUBLE, WIDEST = 45, 60, 110
WIDEST_TABLE = 120  # of GPUs of one process whose shares are ranges
SIMULATED = "SIMULATED: these are not GPU times"


def check(test, text):
    """Returns the lines of the report."""
    lines = text.splitlines()
    test.assertTrue(lines and lines[0].startswith("VERDICT"), text)
    evidence = [line for line in lines if line.startswith("EVIDENCE")]
    is_troubled = any(line.startswith(" 1 ") for line in lines) or evidence not in ([], [
        f"EVIDENCE {SIMULATED}"])
    test.assertLessEqual(len(lines), MOST_WITH_TROUBLE if is_troubled else MOST, text)
    for line in lines:
        is_of_gpus = line.startswith(("GPU  ", "  process ", "  rank "))
        test.assertLessEqual(len(line), WIDEST_TABLE if is_of_gpus else WIDEST, line)
    return lines
