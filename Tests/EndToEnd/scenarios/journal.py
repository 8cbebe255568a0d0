"""Whose journal it is, and of which log, on a real broker: several groups with one journal, entries of its first version, topics
that were created again, and what a mirror leaves behind."""

import json
import sys

from generator.inputs import Input, compact
from harness import scenario as scenarios
from harness.cluster import Failure
from harness.daemon import run, wait_for_daemons
from harness.redrive import FLAG, REFUSED, dispatched, expect, missed, order, subscribe
from harness.scenario import make_world, scenario, started

APPROXIMATE = 2
DEVICES = 2


def carillon(settings, *words, expected=0):
    """A command's documents and what it said on standard error; no token may be in either."""
    code, output, errors = run(*words, settings=settings, timeout=120)
    if code != expected:
        raise Failure(f"carillon {' '.join(words)} ended with {code}, expected {expected}: {output[-800:]}{errors[-800:]}")
    if "-device-" in errors:
        raise Failure(f"a device's token is shown: {errors}")
    return [json.loads(line) for line in output.splitlines()] if code in (0, 1, APPROXIMATE) else errors


def replay(settings, *words, expected=0):
    found = carillon(settings, "replay", *words, "--json", expected=expected)
    return found[0] if isinstance(found, list) else found


def refused(settings, reason, *commands):
    """Each of these is refused for this reason."""
    for words in commands:
        said = carillon(settings, *words, expected=REFUSED)
        if reason not in said:
            raise Failure(f"carillon {' '.join(words)} is refused, but says: {said}")


REDRIVE = ("replay", "redrive", "--dry-run", "--subscriptions", "now")


def small_world(name, partitions=1):
    """A few devices, events that have no timers."""
    world = make_world(name, partitions=partitions)
    world.subscriptions = []
    world.create_topics()
    subscribe(world, DEVICES)
    return world


def put(world, numbers):
    world.cluster.produce(world.topics["events"], [order(number) for number in numbers])


def beside(name, has_dispatch=False):
    """A world where a group on trial, with rules of its own, has read the same events beside the live one; the settings of both."""
    world = small_world(name, partitions=2)
    live = world.settings("live", commit_interval="50ms")
    trial = world.settings("trial", group_id=f"{world.name}-trial", notification_ttl="30m")
    if has_dispatch:
        trial["topic.dispatch"] = f"{world.name}.trial"
        world.cluster.create_topics({trial["topic.dispatch"]: (2, {})})
    daemon = started(world, "live", commit_interval="50ms")
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


def check_events(settings, count):
    """Each of these events is told once."""
    for number in range(0, count, 7):
        said = carillon(settings, "explain", "--order", f"o{number}", "--json")
        expect(f"what is told of order o{number}", [(each["outcome"], each["devices"]) for each in said], [("sent", DEVICES)])


@scenario(
    "a group on trial with rules and a dispatch topic of its own: each of the two is told by itself, and has no difference",
    background=True,
)
def trial():
    world, live, other = beside("trial", has_dispatch=True)
    for settings in (live, other):
        found = replay(settings, "diff")
        expect("what is compared", (found["rendered"], found["equal"], found["extra"], found["duplicates"]), (120, 120, 0, 0))
        expect("what is said", (found["approximations"], found["notes"]), ([], []))
        check_events(settings, 60)
        expect("what would be sent", replay(settings, "redrive", "--dry-run")["left_out"], {"already_sent": 120})


@scenario(
    "groups with one dispatch topic: what is there cannot be told apart, so it is neither compared nor sent again", background=True
)
def shared():
    world, live, trial = beside("shared")
    for settings in (live, trial):
        refused(settings, f"wrote to {world.topics['dispatch']} for the same events", ("replay", "diff"), REDRIVE)
        check_events(settings, 60)
        expect("devices of the plan", replay(settings, "plan")["devices"], 120)
    check_first_version(world, live, trial)


def first_version(value):
    """An entry as the first version of the journal has it."""
    entry = json.loads(value)
    ranges = [{name: each[name] for name in ("topic", "partition", "from", "to")} for each in entry["ranges"]]
    marks = [{name: each[name] for name in ("partition", "before", "after")} for each in entry["watermarks"]]
    return {"ranges": ranges, "watermarks": marks} | {name: entry[name] for name in ("clock", "table", "rules")}


def check_first_version(world, live, trial):
    """Entries without a group: of one group they are its own, of two they want a word."""
    records = world.cluster.read(world.topics["journal"])
    own = [each for each in records if json.loads(each.value)["group"] == live["group.id"]]
    for name, chosen in (("alone", own), ("both", records)):
        topic = f"{world.name}.journal.{name}"
        world.cluster.create_topics({topic: (1, {})})
        world.cluster.produce(topic, [Input(each.key, compact(first_version(each.value))) for each in chosen])
    alone = live | {"topic.journal": f"{world.name}.journal.alone"}
    found = replay(alone, "plan")
    expect("a plan by entries of one group", (found["devices"], found["approximations"]), (120, []))
    if not any("have no fingerprint" in note for note in found["notes"]):
        raise Failure(f"nothing is said of entries without a fingerprint: {found['notes']}")
    both = live | {"topic.journal": f"{world.name}.journal.both"}
    refused(both, "--journal-v1 mine", ("replay", "plan"), ("replay", "diff"), ("explain", "--order", "o1"), REDRIVE)
    left = replay(both, "plan", "--journal-v1", "skip")
    if not left["approximations"] or left["transactions"] != 0:
        raise Failure(f"without the entries that name no group it says: {left}")
    taken = replay(both, "plan", "--journal-v1", "mine")
    expect(
        "transactions of both", taken["transactions"], replay(live, "plan")["transactions"] + replay(trial, "plan")["transactions"]
    )
    world.cluster.produce(alone["topic.journal"], [Input(b"a-0", b'{"v":3}')])
    found = replay(alone, "plan")
    if not any("newer version" in each for each in found["approximations"]):
        raise Failure(f"nothing is said of a newer version's entry: {found['approximations']}")
    refused(alone, "newer version", REDRIVE)


@scenario("events in a topic that was deleted and created again are not taken for those that the journal means", background=True)
def created_again():
    world = small_world("created-again")
    settings = world.settings("replay")
    daemon = started(world)
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
    refused(settings, reason, *looks)
    daemon = started(world, "b")
    world.wait_until_done()
    daemon.stop()
    before = len(dispatched(world))
    refused(settings, reason, *looks, REDRIVE, ("replay", "redrive", FLAG, "--confirm-devices", "0"))
    expect("records of the dispatch topic", len(dispatched(world)), before)
    # The way on: without the entries of the other log.
    world.cluster.delete_records(world.topics["journal"], 0, journal)
    expect("devices of the plan", replay(settings, "plan")["devices"], 40 * DEVICES)
    found = replay(settings, "redrive", "--dry-run")
    expect("what is left to be sent", (found["plan"]["devices"], found["left_out"]), (0, {"already_sent": 40 * DEVICES}))


@scenario("a journal that was deleted and created again is not taken for whole", background=True)
def younger():
    world = small_world("younger")
    settings = world.settings("replay")
    for numbers, topic in ((range(20), True), (range(20, 50), False)):
        daemon = started(world)
        put(world, numbers)
        world.wait_until_done()
        daemon.stop()
        if topic:
            world.cluster.delete_topic(world.topics["journal"])
            world.cluster.create_topics({world.topics["journal"]: (1, {})})
    found = replay(settings, "diff", expected=APPROXIMATE)
    expect("what is compared", (found["equal"], found["missing"], found["extra"]), (30 * DEVICES, 0, 0))
    if not any("the journal begins at offset" in each for each in found["approximations"]):
        raise Failure(f"nothing is said of what is before the journal: {found['approximations']}")
    refused(settings, "what was sent then is not known", REDRIVE, (*REDRIVE, "--offsets", "0..10"))
    first = 50 - found["offsets"]
    expect("the difference behind it", replay(settings, "diff", "--offsets", f"{first}..")["approximations"], [])
    expect("what is left to be sent", replay(settings, "redrive", "--dry-run", "--offsets", f"{first}..")["plan"]["devices"], 0)


@scenario("a push that a device has under another source, as in a log from a mirror, is not sent again", background=True)
def mirrored():
    world = missed("mirrored", 20, DEVICES)
    settings = world.settings("redrive")
    code, output, errors = run("replay", "write", "--output", "-", "--subscriptions", "now", settings=settings)
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
    found = replay(settings, *REDRIVE[1:])
    expect("the plan", (found["plan"]["devices"], found["left_out"]), (15, {"other_source": 25}))
    carillon(settings, "replay", "redrive", FLAG, "--subscriptions", "now", "--confirm-devices", "15", "--json")
    records = dispatched(world)
    seen = {(dict(each.headers)["message-id"], each.key) for each in records}
    expect("pushes, each once to each device", (len(records), len(seen)), (40, 40))


if __name__ == "__main__":
    sys.exit(scenarios.main("journal.py", __doc__))
