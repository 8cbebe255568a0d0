"""The store's faults: a full disk, a truncated file, kills and a restarted machine; and transactions upstream that nobody ends."""

import contextlib
import os
import random
import subprocess
import sys
import time

from generator.subscriptions import make_subscriptions
from harness.daemon import EXIT_DEFECT, wait_for_daemons
from harness.scenario import main, scenario
from harness.waiting import Failure, Skipped
from harness.world import check
from scenarios import subscriptions_topic, table_fill
from scenarios.table_fill import pretend_other_boot

MEGABYTE = 1 << 20


def table(world):
    """The folder of the table of the only instance."""
    return world.folder / "a" / "subscriptions"


def strangers(world, number):
    """Subscriptions of places that have no events: the table is written, and what is expected stays the same."""
    _, records = make_subscriptions(f"strangers {world.harness.seed} {number}", places=400, crowd=100)
    world.cluster.produce(world.topics["subscriptions"], [each for each in records if each.value is None or each.value[:1] == b"{"])


def killed(world, daemon, number, events=300):
    """Under load, with the table being written."""
    before = sum(world.committed.values())
    strangers(world, number)
    world.produce(events)
    wait_for_daemons("it commits", lambda: sum(world.committed.values()) > before, [daemon])
    daemon.kill()


def verify(world):
    """Every push follows from the table where the journal says it stood, and the table is the fold of its topic."""
    report = world.verify(max_table_age_ms=60_000)
    world.check_tables({"a": world.folder / "a"}, report)
    check(report)


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of so many bytes for a folder."""
    folder.mkdir(mode=0o700)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "carillon-test", folder], capture_output=True, text=True
    )
    if made.returncode:
        raise Skipped(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill_up(folder, leaving=0):
    """Leaves so many pages free on the file system of a folder; returns the file that takes the room."""
    filler = folder / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as out:
        while out.write(bytes(4096)):
            pass
    os.truncate(filler, filler.stat().st_size - leaving * 4096)
    return filler


@scenario(
    "a transaction upstream that nobody ends is reported once a minute, and the events after it are sent when it ends",
    background=True,
)
def hung_transaction(harness):
    world = harness.make_world("hung").create_topics()
    daemon = world.started()
    world.produce(100)
    world.wait_until_done()
    topic, opened_at = world.topics["events"], world.ends[0]
    upstream = world.cluster.producer(**{"transactional.id": world.name, "transaction.timeout.ms": 900_000})
    upstream.init_transactions(30)
    upstream.begin_transaction()
    began = time.monotonic()
    for _ in range(5):
        each = world.events.next()
        upstream.produce(topic, key=each.key, value=each.value, headers=list(each.headers), partition=0)
    upstream.flush(30)
    world.produce(100, partition=0)
    world.produce(100, partition=1)
    warning = ("a transaction upstream", f"{topic}/0", str(opened_at))
    wait_for_daemons("a line says that a transaction upstream is open", lambda: daemon.has_line(*warning), [daemon], 100)
    if time.monotonic() - began < 55:
        raise Failure("it was reported before a minute had passed")
    if world.committed != {0: opened_at, 1: world.ends[1]}:
        raise Failure(f"it stands at {world.committed}; partition 0 is open from {opened_at}, partition 1 ends at {world.ends[1]}")
    lines = daemon.log().splitlines()
    for word in ("recreates", "rebuilt", "waiting", "failed"):
        if found := [line for line in lines if word in line]:
            raise Failure(f"it did not just wait: {found[0]}")
    if len(lines) > 40:
        raise Failure(f"{len(lines)} lines:\n{daemon.last_lines()}")
    upstream.commit_transaction(30)
    # After the transaction's own marker, which takes an offset.
    world.produce(100, partition=0)
    world.wait_until_done()
    daemon.stop()
    check(world.verify())


@scenario("a full disk stops no event and loses no subscription: it is waited for, ends at SIGTERM with 0, and refuses a start")
def full_disk(harness):
    world = harness.make_world("full-disk").create_topics()
    folder = world.folder / "a"
    with small_disk(folder, 8 * MEGABYTE):
        daemon = world.daemon("a", world.settings("a") | {"subscriptions.max-lag": "2s"}).start()
        wait_for_daemons("every partition has a committed offset", lambda: len(world.committed) == world.partitions, [daemon])
        fill_up(folder)
        for number in range(4):
            strangers(world, number)
        world.produce(200)
        wait_for_daemons("a line says that the disk is full", lambda: daemon.has_line("no room", str(folder)), [daemon], 30)
        wait_for_daemons("fan-out pauses", lambda: daemon.has_line("fan-out pauses"), [daemon], 30)
        daemon.stop()
        filler = fill_up(folder)
        daemon.start().expect_exit(EXIT_DEFECT, "no room", str(folder), seconds=30)
        filler.unlink()
        daemon.start()
        # All events may be done already: the disk is not to be full before the table is open.
        wait_for_daemons("it has its partitions", lambda: daemon.has_line("assigned"), [daemon], 30)
        world.wait_until_done()

        filler = fill_up(folder)
        for number in range(4, 8):
            strangers(world, number)
        world.produce(200)
        wait_for_daemons("a line says that the disk is full", lambda: daemon.has_line("no room", str(folder)), [daemon], 30)
        wait_for_daemons("fan-out pauses", lambda: daemon.has_line("fan-out pauses"), [daemon], 30)
        filler.unlink()
        wait_for_daemons("fan-out continues", lambda: daemon.has_line("fan-out continues"), [daemon], 30)
        world.wait_until_done()
        daemon.stop()
        verify(world)


@scenario("a table that was truncated is read again, whether it was closed or not")
def cut_off(harness):
    chance = random.Random(f"cut off {harness.seed}")
    world = harness.make_world("cut-off").create_topics()
    daemon = world.started()
    for number in range(3):
        if number == 0:
            strangers(world, number)
            daemon.stop()
        else:
            killed(world, daemon, number)
        file = table(world) / "data.mdb"
        with open(file, "r+b") as data:
            data.truncate(chance.randrange(file.stat().st_size // 2))
        daemon.start()
        wait_for_daemons("a line says that it is rebuilt", lambda: daemon.has_line("table is rebuilt", "damaged"), [daemon], 30)
        world.produce(200)
        world.wait_until_done()
    daemon.stop()
    verify(world)


@scenario(
    "a table is used as it is after one kill and after two, and read again after three in a row, or when the machine went down"
)
def marked(harness):
    world = harness.make_world("marked").create_topics()
    daemon = world.started()

    def restart_after_kill(number, *words):
        killed(world, daemon, number)
        daemon.start()
        wait_for_daemons(f"a line says {words}", lambda: daemon.has_line(*words), [daemon], 30)

    continues = ("not closed", "up since; it continues")
    for number, words in enumerate((continues, continues, ("table is rebuilt", "3 times in a row"), continues)):
        restart_after_kill(number, *words)
    killed(world, daemon, 4)
    pretend_other_boot(table(world))
    daemon.start()
    wait_for_daemons("a line says why", lambda: daemon.has_line("table is rebuilt", "restarted since"), [daemon], 30)
    world.produce(200)
    world.wait_until_done()
    daemon.stop()
    if (table(world) / "in-use").exists():
        raise Failure("the marker is there after a clean end")
    verify(world)


if __name__ == "__main__":
    sys.exit(main("store", __doc__, globals() | vars(subscriptions_topic) | vars(table_fill)))
