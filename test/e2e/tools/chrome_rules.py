"""What an exported trace must be so that every reader of such files opens it: `complaints(read(path))` is
empty. Times are whole nanoseconds here."""
import collections
import decimal
import gzip
import json

LARGEST_ID = 1 << 53  # what a double still tells apart
OPERATIONS = ("kernel", "gpu_memcpy", "gpu_memset")


def _object(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice: {keys}")
    return dict(pairs)


def _no_number(text):
    raise ValueError(f"no JSON: {text}")


def read_text(path):
    opened = gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")
    with opened as file:
        return file.read().decode("utf-8")  # strict


def read(path):
    return json.loads(read_text(path), object_pairs_hook=_object, parse_constant=_no_number,
                      parse_float=decimal.Decimal)


def events(data, phase="X", *categories):
    return [event for event in data["traceEvents"]
            if event["ph"] == phase and (not categories or event.get("cat") in categories)]


def nanoseconds(number):
    return int(number * 1000)


def span(event):
    start = nanoseconds(event["ts"])
    return start, start + nanoseconds(event["dur"])


def complaints(data):
    for rule in (_times, _nesting, _ids, _flows, _asynchronous, _names, _queues, _busy):
        yield from rule(data)


def _times(data):
    if not isinstance(data["baseTimeNanoseconds"], int):
        yield "the base time is no integer"
    for event in data["traceEvents"]:
        if not isinstance(event["pid"], int) or not isinstance(event["tid"], int):
            yield f"no numbers: {event}"
        for key in ("ts", "dur") if event["ph"] == "X" else ("ts",):
            number = event[key]
            if not isinstance(number, decimal.Decimal) or number.as_tuple().exponent != -3:
                yield f"{key} is not in whole nanoseconds: {event}"
            elif number < 0 or number > 10**12:
                yield f"{key} is not after the base: {event}"


def _nesting(data):
    rows = collections.defaultdict(list)
    for event in events(data):
        start, end = span(event)
        rows[event["pid"], event["tid"]].append((start, -end, event["name"]))
    for row, spans in rows.items():
        open_ends = []
        for start, minus_end, name in sorted(spans):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and -minus_end > open_ends[-1]:
                yield f"{name[:80]} crosses an end on {row} at {start}"
            open_ends.append(-minus_end)


def _ids(data):
    for event in data["traceEvents"]:
        for number in (event.get("id", 0), event.get("args", {}).get("correlation", 0)):
            if not isinstance(number, int) or not 0 <= number < LARGEST_ID:
                yield f"no id: {event}"
    for categories in (OPERATIONS, ("cuda_driver", "cuda_runtime")):
        ids = [event["args"]["correlation"] for event in events(data, "X", *categories)
               if "correlation" in event.get("args", {})]
        if len(set(ids)) != len(ids):
            yield f"a correlation twice in {categories}"


def _flows(data):
    ends = {phase: {event["id"]: event for event in events(data, phase)} for phase in "sf"}
    if ends["s"].keys() != ends["f"].keys():
        yield "an arrow without an end"
    for categories, end in ((("cuda_driver", "cuda_runtime", "nccl"), ends["s"]), (OPERATIONS, ends["f"])):
        slices = {event["args"]["correlation"]: event for event in events(data, "X", *categories)
                  if "correlation" in event.get("args", {})}
        for number, arrow in end.items():
            where = slices.get(number)
            if where is None or any(arrow[key] != where[key] for key in ("pid", "tid", "ts")):
                yield f"an arrow that is at no event: {arrow}"
    if any(arrow["bp"] != "e" for arrow in ends["f"].values()):
        yield "an arrow that ends at the next event"


def _asynchronous(data):
    for begin, end in zip(events(data, "b"), events(data, "e")):
        if (begin["id"], begin["cat"], begin["name"]) != (end["id"], end["cat"], end["name"]):
            yield f"a range without its end: {begin}"
    if len(events(data, "b")) != len(events(data, "e")):
        yield "ranges without ends"


def _names(data):
    names = [(event["pid"], event["tid"]) for event in events(data, "M") if event["name"] == "thread_name"]
    if len(set(names)) != len(names):
        yield "a row with two names"
    for row in {(event["pid"], event["tid"]) for event in events(data)} - set(names):
        yield f"a row without a name: {row}"


def counted(data, begin):
    """{(device, row): [(ns, value)]} of counters of that name."""
    values = collections.defaultdict(list)
    for event in events(data, "C"):
        if event["name"].startswith(begin):
            values[event["pid"], event["tid"]].append((nanoseconds(event["ts"]),
                                                       next(iter(event["args"].values()))))
    return values


def _queues(data):
    for row, values in counted(data, "queue").items():
        if [at for at, _ in values] != sorted(at for at, _ in values):
            yield f"the queue of {row} is not in order"
        if min(depth for _, depth in values) < 0 or values[-1][1] != 0:
            yield f"the queue of {row} does not empty"


def _busy(data):
    """The counter is the union of all that runs."""
    for (device, _), values in counted(data, "busy").items():
        union, end = 0, None
        for start, stop in sorted(span(event) for event in events(data, "X", *OPERATIONS)
                                  if event["pid"] == device):
            union += max(0, stop - (start if end is None else max(start, end)))
            end = stop if end is None else max(end, stop)
        if [value for _, value in values] != [1, 0] * (len(values) // 2):
            yield f"device {device} is busy twice"
        if sum(off - on for (on, _), (off, _) in zip(values[::2], values[1::2])) != union:
            yield f"device {device} is not as busy as its operations"
