"""Disk and files."""
import os
import pathlib
import random
import subprocess
import tempfile

import box
import optional
import errors
import power_loss
import preload
from odd_places import interposed, mounted, usual
from row import C, FORK, SPAWN, NotTried, Row

def injected(scene, subject, most):
    with tempfile.TemporaryDirectory(prefix="gpushim-errors-", dir=errors.MEMORY) as folder:
        bench = subject(pathlib.Path(folder))
        injections = list(bench.plan(most, random.Random(1)))
        scene.assertEqual(bench.complaints_of(injections), {})


D1 = Row("D1", "no space, errors and short writes at the n-th call")
D1.proven_by([C], "test_disk.Disk.test_full_after_a_while", "test_own_files.Tmpfs.test_full",
             "test_attacks.Attacks.test_a_limit_of_file_sizes_sends_no_signal",
             "unit: a batch that is in although its commit failed comes again, and is in once")


@D1.tried_on(C)
def every_call_fails_once_and_for_ever(scene):
    injected(scene, errors.Life, scene.pick(5, None))


@D1.tried_on(C)
def every_call_of_a_recovery_fails(scene):
    injected(scene, errors.Recovery, scene.pick(3, None))


D2 = Row("D2", "sparse pages, truncated files: SIGBUS")
D2.proven_by([C], "test_own_files.Tmpfs.test_full")


@D2.tried_on(C, FORK, SPAWN)
def no_room_behind_the_pages(scene):
    """Stores into them would be SIGBUS."""
    folder = f"/dev/shm/gpushim-{os.geteuid()}"
    mounts = (f"mount -t tmpfs none /dev/shm && mkdir -m 700 {folder} && "
              f"mount -t tmpfs -o size=40k,mode=700 none {folder}")
    _, ledger = mounted(scene, mounts, *usual(scene), LD_PRELOAD=interposed(scene, "sparse"))
    scene.assertGreater(ledger.dropped, 0)


D3 = Row("D3", "a folder that is read-only, absent or unwritable")
D3.proven_by([C], "test_disk.Disk.test_read_only", "test_own_files.Output.test_a_folder_that_cannot_be_made")


@D3.tried_on(C, FORK)
def no_home_and_no_folder(scene):
    scene.same(*usual(scene), GPUSHIM_OUT="/proc/nowhere/%p.db", HOME="", says="not tracing", traces=0)


D4 = Row("D4", "network file systems")


@D4.tried_on(C, FORK, SPAWN)
def no_shared_memory_and_no_locks(scene):
    """By a rollback journal: no memory shared through files, no lock of their bytes. A process that writes
    only once leaves none, another leaves it empty."""
    _, ledger = scene.same(*usual(scene), LD_PRELOAD=interposed(scene, "network"))
    scene.assertGreater(ledger.recorded, 0)
    scene.assertEqual(ledger.dropped, 0)
    beside = [file for file in scene.out.iterdir() if file.suffix != ".db"]
    scene.assertTrue(all(file.name.endswith("-journal") for file in beside), beside)
    scene.assertEqual(sum(file.stat().st_size for file in beside), 0)


D5 = Row("D5", "the output exists, process ids come again")
D5.proven_by([C], "test_own_files.Output.test_taken_names")


@D5.tried_on(C, FORK, SPAWN)
def every_rank_is_process_1(scene):
    if not optional.may_unshare("-p", "-f", "true"):
        raise NotTried("namespaces")
    for traces in range(1, 4):
        made = 2 if scene.host == SPAWN else 1
        scene.same_command(["unshare", "-p", "-f", *scene.command(*usual(scene))], traces=made)
        scene.assertEqual(len(scene.traces()), traces * made)


D6 = Row("D6", "eight ranks at once")


@D6.tried_on(C)
def eight_of_them(scene):
    milliseconds = scene.pick(1500, 60_000)
    scene.out.mkdir()
    ranks = [subprocess.Popen(scene.command("beats", str(milliseconds)), cwd=scene.folder, text=True,
                              env=box.environment({**preload.variables(scene.out), "RANK": rank,
                                                   "WORLD_SIZE": 8}),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(8)]
    scene.assertEqual([rank.communicate()[0] for rank in ranks], ["over\n"] * 8)
    ledger = scene.ledger()
    scene.assertEqual((len(scene.traces()), ledger.dropped), (8, 0))
    scene.assertEqual(scene.count("SELECT count(DISTINCT rank) FROM process"), 8)


D7 = Row("D7", "power loss")


@D7.tried_on(C)
def the_power_goes_after_any_operation(scene):
    with tempfile.TemporaryDirectory(prefix="gpushim-power-", dir=errors.MEMORY) as folder:
        replay = power_loss.Replay(pathlib.Path(folder), scene.pick(2500, 12_000))
        losses = replay.run(every=scene.pick(25, 1), report_every=scene.pick(50, 100))
    scene.assertEqual(losses.complaints, [])
    scene.assertGreater(losses.disks, scene.pick(60, 6000))
    print(losses)


@D7.tried_on(C)
def the_power_goes_in_a_short_life(scene):
    with tempfile.TemporaryDirectory(prefix="gpushim-power-", dir=errors.MEMORY) as folder:
        losses = power_loss.Replay(pathlib.Path(folder), 20).run(every=1, report_every=50)
    scene.assertEqual(losses.complaints, [])
    scene.assertGreater(losses.disks, 100)
    print(losses)


D8 = Row("D8", "the program closes our descriptors")
D8.proven_by([C], "test_own_files.Descriptors.test_a_program_that_closes_everything",
             "test_own_files.NewRings.test_what_the_program_has_under_their_number_is_left_alone",
             "test_own_files.SharedDescriptors.test_not_a_byte_at_the_end_either",
             "test_own_files.SharedDescriptors.test_not_a_byte_in_the_programs_files",
             "test_own_files.SharedDescriptors."
             "test_what_the_rings_cannot_hold_then_is_counted_with_its_reason")

D9 = Row("D9", "a small /dev/shm")
D9.proven_by([C], "test_own_files.Tmpfs.test_small", "test_own_files.Tmpfs.test_none")


@D9.tried_on(C, FORK, SPAWN)
def sixteen_mebibytes_of_it(scene):
    _, ledger = mounted(scene, "mount -t tmpfs -o size=16m none /dev/shm", *usual(scene))
    scene.assertEqual(ledger.dropped, 0)
