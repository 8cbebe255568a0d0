"""Whose journal it is, and of which log, on a real broker: several groups with one journal, entries of another version, topics
that were created again, and records that a mirror has copied."""

import json
import sys

from generator.inputs import Input
from harness.daemon import EXIT_DONE, EXIT_REFUSED, wait_for_daemons
from harness.redrive import dispatched, missed, order, subscribe
from harness.replaying import CONFIRMATION, documents
from harness.scenario import main, scenario
from harness.waiting import Failure, expect

EXIT_APPROXIMATE = 2
DEVICES = 2
REDRIVE = ("replay", "redrive", "--dry-run", "--subscriptions", "now")


def replay(world, settings, *words, expected=EXIT_DONE):
    """The document of `carillon replay … --json`."""
    return documents(world, "replay", *words, settings=settings, expected=expected)[0][0]


def expect_refused(world, settings, reason, *commands):
    """Each of the commands is refused for this reason."""
    for words in commands:
        said = world.harness.command(*words, settings=settings, expected=EXIT_REFUSED)
        if reason not in said:
            raise Failure(f"carillon {' '.join(words)} is refused, but says: {said}")


def small_world(harness, name, partitions=1):
    """A few devices, events that have no timers."""
    world = harness.make_world(name, partitions=partitions)
    world.subscriptions = []
    world.create_topics()
    subscribe(world, DEVICES)
    return world


def put(world, numbers):
    world.cluster.produce(world.topics["events"], [order(number) for number in numbers])


def beside(harness, name, has_dispatch=False):
    """A world in which a group on trial, with rules of its own, has read the same events as the live one; and their settings."""
    world = small_world(harness, name, partitions=2)
    live = world.settings("live", commit_interval="50ms")
    trial = world.settings("trial", group_id=f"{world.name}-trial", notification_ttl="30m")
    if has_dispatch:
        trial["topic.dispatch"] = f"{world.name}.trial"
        world.cluster.create_topics({trial["topic.dispatch"]: (2, {})})
    daemon = world.started("live", commit_interval="50ms")
    other = world.daemon("trial", trial).start()
    events = world.topics["events"]
    for first in range(0, 60, 10):
        put(world, range(first, first + 10))
        wait_for_daemons(
            "both groups have committed to the end",
            lambda: all(world.cluster.committed(each["group.id"], events) == world.ends for each in (live, trial)),
            [daemon, other],
        )
    daemon.stop()
    other.stop()
    return world, live, trial


def check_events(world, settings, count):
    """Each of these events is explained once."""
    for number in range(0, count, 7):
        said, _ = documents(world, "explain", "--order", f"o{number}", settings=settings)
        expect(f"what is explained of order o{number}", [(each["outcome"], each["devices"]) for each in said], [("sent", DEVICES)])


@scenario(
    "a group on trial with rules and a dispatch topic of its own: each of the two is explained by itself, and has no difference",
    background=True,
)
def trial(harness):
    world, live, other = beside(harness, "trial", has_dispatch=True)
    for settings in (live, other):
        found = replay(world, settings, "diff")
        expect("what is compared", (found["rendered"], found["equal"], found["extra"], found["duplicates"]), (120, 120, 0, 0))
        expect("what is said", (found["approximations"], found["notes"]), ([], []))
        check_events(world, settings, 60)
        expect("what would be sent", replay(world, settings, "redrive", "--dry-run")["left_out"], {"already_sent": 120})


@scenario(
    "groups with one dispatch topic: their pushes cannot be told apart, so they are neither compared nor sent again",
    background=True,
)
def shared(harness):
    world, live, trial = beside(harness, "shared")
    for settings in (live, trial):
        expect_refused(world, settings, f"wrote to {world.topics['dispatch']} for the same events", ("replay", "diff"), REDRIVE)
        check_events(world, settings, 60)
        expect("devices of the plan", replay(world, settings, "plan")["devices"], 120)
    check_another_version(world, live)


def check_another_version(world, live):
    """Entries of another version say nothing that this one knows: a replay of their journal is refused, and says what to do."""
    world.cluster.produce(world.topics["journal"], [Input(b"a-0", b'{"v":3}')])
    reason = "written by another version of carillon"
    expect_refused(world, live, reason, ("replay", "plan"), ("replay", "diff"), ("explain", "--order", "o1"), REDRIVE)
    if not replay(world, live, "plan", "--no-journal")["approximations"]:
        raise Failure("a plan without the journal is called exact")


@scenario("events in a topic that was deleted and created again are not taken for those that the journal means", background=True)
def created_again(harness):
    world = small_world(harness, "created-again")
    settings = world.settings("replay")
    daemon = world.started()
    put(world, range(30))
    world.wait_until_done()
    daemon.stop()
    journal = world.ends_of("journal")[0]
    world.cluster.delete_topic(world.topics["events"])
    world.cluster.create_topics({world.topics["events"]: (1, {"retention.ms": str(30 * 86_400_000)})})
    put(world, range(100, 140))
    reason = f"{world.topics['events']}/0: at offset 0 stands another record"
    looks = (
        ("replay", "plan"),
        ("replay", "diff"),
        ("explain", "--order", "o3"),
        ("replay", "write", "--output", "-"),
        ("explain", "--order", "o103"),
    )
    expect_refused(world, settings, reason, *looks)
    daemon = world.started("b")
    world.wait_until_done()
    daemon.stop()
    before = len(dispatched(world))
    expect_refused(world, settings, reason, *looks, REDRIVE, ("replay", "redrive", CONFIRMATION, "--confirm", "0"))
    expect("records of the dispatch topic", len(dispatched(world)), before)
    # What helps: to delete the entries of the other log.
    world.cluster.delete_records(world.topics["journal"], 0, journal)
    expect("devices of the plan", replay(world, settings, "plan")["devices"], 40 * DEVICES)
    found = replay(world, settings, "redrive", "--dry-run")
    expect("what is left to be sent", (found["plan"]["devices"], found["left_out"]), (0, {"already_sent": 40 * DEVICES}))


@scenario("a journal that was deleted and created again is not taken for whole", background=True)
def younger(harness):
    world = small_world(harness, "younger")
    settings = world.settings("replay")
    for numbers, topic in ((range(20), True), (range(20, 50), False)):
        daemon = world.started()
        put(world, numbers)
        world.wait_until_done()
        daemon.stop()
        if topic:
            world.cluster.delete_topic(world.topics["journal"])
            world.cluster.create_topics({world.topics["journal"]: (1, {})})
    found = replay(world, settings, "diff", expected=EXIT_APPROXIMATE)
    expect("what is compared", (found["equal"], found["missing"], found["extra"]), (30 * DEVICES, 0, 0))
    if not any("the journal begins at offset" in each for each in found["approximations"]):
        raise Failure(f"nothing is said about what is before the journal: {found['approximations']}")
    expect_refused(world, settings, "what was sent then is not known", REDRIVE, (*REDRIVE, "--offsets", "0..10"))
    first = 50 - found["offsets"]
    expect("the difference after it", replay(world, settings, "diff", "--offsets", f"{first}..")["approximations"], [])
    expect(
        "what is left to be sent", replay(world, settings, "redrive", "--dry-run", "--offsets", f"{first}..")["plan"]["devices"], 0
    )


@scenario("a push that a device has under another source, as in a log from a mirror, is not sent again", background=True)
def mirrored(harness):
    world = missed(harness.make_world("mirrored", partitions=2), 20, DEVICES)
    settings = world.settings("redrive")
    code, output, _ = harness.run("replay", "write", "--output", "-", "--subscriptions", "now", settings=settings)
    expect("the end of replay write", code, 0)
    pushes = [json.loads(line) for line in output.splitlines()]
    expect("pushes that were missed", len(pushes), 20 * DEVICES)
    copies = []
    for at, push in enumerate(pushes[:25]):
        headers = dict(zip(push["headers"][0::2], push["headers"][1::2]))
        headers["source"] = f"{'dc1.' if at % 2 else ''}{world.topics['events']}/0/{100_000 + at}"
        copies.append(
            Input(push["key"].encode(), push["payload"].encode(), tuple((name, text.encode()) for name, text in headers.items()))
        )
    world.cluster.produce(world.topics["dispatch"], copies)
    found = replay(world, settings, *REDRIVE[1:])
    expect("the plan", (found["plan"]["devices"], found["left_out"]), (15, {"other_source": 25}))
    replay(world, settings, "redrive", CONFIRMATION, "--subscriptions", "now", "--confirm", "15")
    records = dispatched(world)
    seen = {(dict(each.headers)["message-id"], each.key) for each in records}
    expect("pushes, each once to each device", (len(records), len(seen)), (40, 40))


if __name__ == "__main__":
    sys.exit(main("journal", __doc__, globals()))
