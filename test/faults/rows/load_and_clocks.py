"""Load and clocks."""
import json
import os
import re
import resource
import subprocess

import box
import made_traces
import preload
from odd_places import interposed, mounted, usual
from row import ALONE, C, FORK, SPAWN, Row

LOAD = box.BUILD / "bench" / "load"
MEBIBYTE_KB = 1024
SUMS = ("sum_ns", "_p50_ns", "calls", "bytes")  # keys of what is never negative
# Of these rows with what cannot be are counted: what can be, from and until.
TOLD = {"launch.dur_ns": (0, 1 << 53), "copy.dur_ns": (0, 1 << 53), "sync.dur_ns": (0, 1 << 53),
        "sync.calls": (1, 1 << 32), "collective.dur_ns": (0, 1 << 53)}
# Of each table that has one: what a column may say that is no time, no size and no count.
EXTREMES = (0, 1, -1, 1 << 31, 1 << 32, 1 << 53, (1 << 63) - 1, -(1 << 63))
COLUMNS = ("launch.dur_ns", "copy.dur_ns", "copy.bytes", "sync.dur_ns", "sync.calls", "collective.dur_ns",
           "collective.bytes", "memory.bytes", "clock.real_ns", "rollup.sum_ns", "rollup.events")


def under_load(scene, threads, rate, seconds, **knobs):
    """(launches, ledger) of the driver that does nothing; it, too, is opened by name."""
    scene.out.mkdir(exist_ok=True)
    knobs = {**preload.variables(scene.out), "LD_LIBRARY_PATH": LOAD.parent / "null",
             "GPUSHIM_MIN_FREE_MB": 0, "GPUSHIM_DEVICE_TIME": "off", **knobs}
    done = box.run([LOAD, threads, rate, seconds], knobs, sim=False, timeout=3600)
    scene.assertEqual((done.returncode, done.stderr), (0, ""))
    return int(re.search(r"launches (\d+)", done.stdout).group(1)), scene.ledger()


C1 = Row("C1", "a writer slower than the program")
C1.proven_by([C], "test_recovery.Trouble.test_no_room_until_there_is_again")


@C1.tried_on(C)
def more_than_it_can_write(scene):
    """What is not recorded is counted, to the last one: the load's launches and six calls before them."""
    launches, ledger = under_load(scene, 2, 0, scene.pick(1, 20), GPUSHIM_MAX_MB=0)
    scene.assertIn(ledger.produced - launches, range(10), ledger)
    scene.assertEqual(ledger.recovered, 0)
    print(f"{launches:,} launches, {ledger.dropped:,} dropped")


@C1.tried_on(C)
def two_hundred_thousand_a_second(scene):
    """On the defaults. Whether nothing is dropped is for a machine that has time: what is, is counted."""
    launches, ledger = under_load(scene, 1, 200_000, scene.pick(1, 30))
    scene.assertIn(ledger.produced - launches, range(10), ledger)
    print(f"{launches:,} launches, {ledger.dropped:,} dropped")


@C1.tried_on(C)
def up_to_a_million_a_second(scene):
    """One thread, no limit of size: which rate is held is for the machine; what is dropped is counted."""
    seconds = scene.pick(1, 30)
    for rate in scene.pick((300_000,), (200_000, 400_000, 600_000, 800_000, 1_000_000)):
        launches, ledger = under_load(scene, 1, rate, seconds, GPUSHIM_MAX_MB=0, GPUSHIM_BUDGET="100%")
        scene.assertIn(ledger.produced - launches, range(10), ledger)
        print(f"asked for {rate:,} launches a second: {launches / seconds:,.0f}; "
              f"{ledger.dropped / ledger.produced:.1%} dropped")
        for trace in scene.traces():
            trace.unlink()


@C1.tried_on(FORK, SPAWN)
def a_disk_that_takes_its_time(scene):
    _, ledger = scene.same("end", "return", LD_PRELOAD=interposed(scene, "slow_disk"))
    scene.assertEqual(ledger.dropped, 0)


C2 = Row("C2", "rings of ten thousand threads")
C2.proven_by([C], "test_lifecycle.Threads.test_50000_short_ones")


@C2.tried_on(C)
def all_alive_at_once(scene):
    """For each a ring, or counted drops; memory is what rings may take."""
    threads = scene.pick(1000, 10_000)
    _, ledger = scene.same("crowd", threads, traces=1, timeout=1200)
    scene.assertIn(ledger.produced - 8 * threads, range(10), ledger)  # each: its context, and seven copies
    most_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    scene.assertLess(most_kb, (256 + 64 * threads // 1000) * MEBIBYTE_KB)


def peak_kb(scene, program, threads):
    """The most memory that it had with so many threads, one after the other."""
    env = box.environment({**preload.variables(scene.out), **preload.QUICK})
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        running = subprocess.Popen([program, "threads", str(threads)], env=env, stdout=nowhere)
        _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    scene.assertEqual(running.returncode, 0)
    return used.ru_maxrss


@C2.tried_on(C)
def short_ones_leave_no_memory_behind(scene):
    """It has what rings may take, 64 MiB, and half of that; once these are there it hardly grows."""
    scene.out.mkdir()
    source = (box.ROOT / "test/e2e/tools/lifecycle/host.c").read_text(encoding="utf-8")
    program = preload.compiled(source, scene.folder / "host")
    few, many = (peak_kb(scene, program, threads) for threads in scene.pick((500, 2000), (20_000, 50_000)))
    print(f"{few:,} kB, {many:,} kB")
    scene.assertLess(many, 96 * MEBIBYTE_KB)
    scene.assertLess(many - few, scene.pick(64, 24) * MEBIBYTE_KB)
    scene.ledger()


@C2.tried_on(FORK, SPAWN)
def threads_that_come_and_go(scene):
    _, ledger = scene.same("threads", scene.pick(50, 2000), timeout=1200)
    scene.assertEqual(ledger.dropped, 0)


C3 = Row("C3", "millions of names")


@C3.tried_on(C)
def more_names_than_are_kept(scene):
    """Of all lengths up to 64 KiB and of any bytes; the rest is "(other)", and counted."""
    names = scene.pick(3000, 500_000)
    _, ledger = scene.same("functions", names, traces=1, timeout=3600)
    launches = scene.count("SELECT sum(launches) FROM v_kernel_total")
    scene.assertIn(names, range(launches, launches + ledger.dropped + 1))
    kept, bytes_kept = preload.query(scene.traces()[0], "SELECT count(*), sum(length(text)) FROM name")[0]
    scene.assertLessEqual(kept, 65_536 + 100)
    scene.assertLessEqual(bytes_kept, 9 << 20)
    scene.assertGreater(scene.count("SELECT value FROM meta WHERE key = 'names_left_out'"), 0)


C4 = Row("C4", "clocks that jump")


@C4.tried_on(C, FORK, SPAWN)
def an_hour_forth_and_back(scene):
    """Durations and order are those of CLOCK_MONOTONIC."""
    _, ledger = scene.same(*usual(scene), LD_PRELOAD=interposed(scene, "clock_jumps"))
    scene.assertEqual((ledger.dropped, ledger.unfinished), (0, 0))
    for table in ("launch", "copy", "memory", "call"):
        for trace in scene.traces():
            worst = preload.query(trace, f"SELECT coalesce(min(dur_ns), 0), coalesce(max(dur_ns), 0), "
                                         f"coalesce(max(enter_ns) - min(enter_ns), 0) FROM {table}")[0]
            scene.assertGreaterEqual(worst[0], 0, table)
            scene.assertLess(max(worst), 600e9, table)


C5 = Row("C5", "an unsteady time stamp counter")


@C5.tried_on(C, FORK, SPAWN)
def the_kernel_does_not_trust_it(scene):
    source = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    (scene.folder / "hpet").write_text("hpet\n", encoding="utf-8")
    mounted(scene, f"mount --bind {scene.folder}/hpet {source}", *usual(scene))
    for trace in scene.traces():
        clock = preload.query(trace, "SELECT value FROM meta WHERE key = 'clock'")
        scene.assertEqual(clock, [("monotonic",)])


C6 = Row("C6", "negative, overflowing and zero times")


def refuse_constant(text):
    raise ValueError(f"{text} in the JSON")


@C6.tried_on(ALONE)
def extremes_in_every_column(scene):
    """No NaN, no infinity, nothing negative that cannot be, in text and in JSON; what is refused names the
    file in a line."""
    columns = COLUMNS if scene.pick(0, 1) else COLUMNS[::2]
    scene.out.mkdir()
    for column in columns:
        table, name = column.split(".")
        for extreme in EXTREMES:
            trace = scene.out / "trace.odd.db"
            made_traces.make(trace)
            base = scene.writable(trace)
            base.execute(f'UPDATE "{table}" SET {name} = ?', (extreme,))
            base.commit()
            base.close()
            with scene.subTest(column=column, value=extreme):
                check_report(scene, trace, column, extreme)
            for file in scene.out.iterdir():
                file.unlink()


def figures(node, key=""):
    """Every number of a JSON text, with the key that it or its list has."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from figures(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from figures(value, key)
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield key, node


def check_report(scene, trace, column, value):
    done = box.run([preload.ANALYZER, "report", "--json", trace], sim=False, timeout=60)
    scene.assertIn(done.returncode, (0, 2, 3), done.stderr)
    if done.returncode == 2:
        scene.assertIn(str(trace), done.stderr)
        return
    report = json.loads(done.stdout, parse_constant=refuse_constant)
    scene.assertIsNone(re.search(r"\b(nan|inf|infinity)\b", done.stdout, re.IGNORECASE), done.stdout)
    negative = [(key, value) for key, value in figures(report) if value < 0 and key.endswith(SUMS)]
    scene.assertEqual(negative, [])
    if column not in TOLD:
        return
    least, most = TOLD[column]
    shown = box.run([preload.ANALYZER, "report", "--all", trace], sim=False, timeout=60).stdout
    scene.assertNotRegex(shown, r"(^|\s)-\d[\d.,]* (ns|us|ms|s|B|kB|MB|GB)\b")
    scene.assertEqual("are impossible" in shown, not least <= value <= most, shown)
