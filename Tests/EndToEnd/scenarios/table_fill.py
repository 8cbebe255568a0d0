"""A table that is larger than what is read into memory at once, killed while it is filled and afterwards. Part of `store`."""

import random
import uuid

from generator.inputs import subscription, unsubscription
from harness.daemon import wait_for_daemons
from harness.scenario import scenario
from harness.waiting import pause, wait_for
from harness.world import check
from model.report import Report

# With tokens of so many bytes: three runs of 32 MB.
DEVICES, TOKEN = 90_000, 900
# The store is written in parts; a kill at any of these is a kill in the middle.
FAULTS = ("kill@in-catch-up:1/8", "kill@before-table-commit:1/3", "kill@after-table-commit:1/1")


def pretend_other_boot(folder):
    """The marker of a table that was not closed says then that the machine has gone down since."""
    marker = folder / "in-use"
    count, _ = marker.read_text().split()
    marker.write_text(f"{count} {uuid.uuid4()}")


def subscriptions(chance):
    """Each device, some of them twice and some of them gone again."""
    for number in range(DEVICES):
        place, token = f"p{number % 30_000}", f"{number:08}-" + chance.randbytes(TOKEN // 2).hex()
        yield subscription(place, token, environment="production", locale="en")
        if number % 10 == 0:
            yield subscription(place, token, environment="production", locale="de")
        if number % 15 == 0:
            yield unsubscription(place, token)


def check_table(world, folder):
    """The table is the fold of its topic, whoever has computed it."""
    report = Report()
    world.check_tables({"a": folder}, report)
    check(report)


@scenario("a table that is killed while it is filled begins again, and after that and any kill it is the fold of its topic")
def killed_fill(harness):
    chance = random.Random(f"killed fill {harness.seed}")
    world = harness.make_world("killed-fill").create_topics()
    world.cluster.produce(world.topics["subscriptions"], subscriptions(chance))
    folder = world.folder / "a"
    if harness.debug_carillon:
        faulty = world.daemon("a", binary=harness.debug_carillon)
        for number, fault in enumerate(FAULTS):
            faulty.variables = {"CARILLON_FAULT": fault, "CARILLON_FAULT_SEED": str(harness.seed + number)}
            faulty.start()
            # By chance it may visit none of the points that kill it.
            wait_for("it is dead, or the table full", lambda: not faulty.is_running or len(world.committed) == world.partitions, 60)
            faulty.kill_if_running()
    daemon = world.daemon("a")
    for number in range(6):
        daemon.start()
        for _ in range(chance.randrange(2, 12)):
            pause(0.1)
        daemon.expect_running()
        daemon.kill()
        if number == 3:
            pretend_other_boot(folder / "subscriptions")
    daemon.start()
    wait_for_daemons("every partition has a committed offset", lambda: len(world.committed) == world.partitions, [daemon])
    world.produce(300)
    world.wait_until_done()
    daemon.kill()
    check_table(world, folder)
    daemon.start()
    world.produce(300)
    world.wait_until_done()
    daemon.stop()
    check_table(world, folder)
