"""`carillon replay redrive` on a real broker: what was missed is sent once, over kills, a second start and the loss of the broker;
and nothing is sent without both confirmations."""

import collections
import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

from generator.inputs import Input
from harness.cluster import Cluster
from harness.daemon import EXIT_DONE, EXIT_IN_USE, EXIT_NOT_IN_TIME, EXIT_REFUSED, EXIT_USAGE, flags
from harness.redrive import (
    PLACES,
    check_once,
    dispatched,
    missed,
    order,
    redrive,
    redrive_beside,
    token,
    unsubscribe,
    wait_for_sent,
)
from harness.replaying import CONFIRMATION
from harness.scenario import main, scenario
from harness.waiting import PATIENCE, Failure, expect, wait_for


@scenario("nothing is sent without both confirmations, in too great a number, or from above the committed offsets")
def confirmations(harness):
    world = missed(harness.make_world("confirmations", partitions=2), 12, 4, updates=range(5))
    now = ("--subscriptions", "now")
    (plan,), _ = redrive(world, "--dry-run", *now)
    expect("the plan", (plan["plan"]["devices"], plan["plan"]["notifications"], plan["left_out"]), (48, 12, {"replaced": 20}))
    expect(
        "by type",
        {name: count["devices"] for name, count in plan["plan"]["by_type"].items()},
        {"event_order_created": 28, "event_order_status_changed": 20},
    )
    for words, code, reason in (
        (("--confirm", "48"), EXIT_USAGE, CONFIRMATION),
        ((CONFIRMATION,), EXIT_REFUSED, "--confirm 48"),
        ((CONFIRMATION, "--confirm", "47"), EXIT_REFUSED, "not the number of devices"),
        ((CONFIRMATION, "--confirm", "480"), EXIT_REFUSED, "not the number of devices"),
        ((CONFIRMATION, "--confirm", "48", "--most", "47"), EXIT_REFUSED, "--most"),
        ((CONFIRMATION, "--confirm", "48", "--no-journal"), EXIT_USAGE, "--no-journal"),
        ((CONFIRMATION, "--confirm", "48", "--id", "a/b"), EXIT_USAGE, "--id"),
    ):
        _, said = redrive(world, *now, *words, expected=code)
        if reason not in said:
            raise Failure(f"redrive {' '.join(words)} says: {said}")
    for typed, code, sent in (
        ("47\n", EXIT_REFUSED, 0),
        ("\n", EXIT_REFUSED, 0),
        ("\x04", EXIT_REFUSED, 0),
        ("\x03", EXIT_NOT_IN_TIME, 0),
        ("yes\n", EXIT_REFUSED, 0),
        ("48\n", 0, 48),
    ):
        expect(f"the end after {typed!r}", typing(world, typed, CONFIRMATION, *now), code)
        expect(f"what is sent after {typed!r}", len(dispatched(world)), sent)
    (again,), _ = redrive(world, "--dry-run", *now)
    expect("afterwards", (again["plan"]["devices"], again["left_out"]), (0, {"replaced": 20, "already_sent": 48}))
    # Events that are not processed yet are left to the pipeline.
    world.cluster.produce(world.topics["events"], [order(number) for number in range(100, 120)])
    (above,), _ = redrive(world, "--dry-run", *now)
    uncommitted = [note for note in above["plan"]["notes"] if "has not committed" in note]
    expect("above the committed offsets", (above["plan"]["devices"], len(uncommitted)), (0, 2))
    (more,), _ = redrive(world, "--dry-run", "--include-sent", *now)
    expect("with what was sent", more["plan"]["devices"], 48)
    (old,), _ = redrive(world, "--dry-run", "--include-sent", "--max-age", "1s", *now)
    expect("older than a second", (old["plan"]["devices"], old["left_out"]), (0, {"too_old": 68}))
    (both,), _ = redrive(world, "--dry-run")
    expect("who was subscribed then, too", both["plan"]["devices"], 0)
    check_gone(world)


def check_gone(world):
    """Refused where what was sent, or what was processed, is no longer known."""
    before = len(dispatched(world))
    for partition, end in world.ends_of("dispatch").items():
        world.cluster.delete_records(world.topics["dispatch"], partition, min(end, 2))
    _, said = redrive(world, CONFIRMATION, "--subscriptions", "now", expected=EXIT_REFUSED)
    if "no longer has its first records" not in said:
        raise Failure(f"after the first dispatch records are gone it says: {said}")
    left = len(dispatched(world))
    named = (CONFIRMATION, "--subscriptions", "now", "--include-sent", "--confirm", "48", "--id", "named")
    _, said = redrive(world, *named, expected=EXIT_REFUSED)
    if "what was sent then is not known" not in said or "another --id" not in said:
        raise Failure(f"where the records of an id may be gone it says: {said}")
    expect("what was sent by an id that may have sent before", len(dispatched(world)), left)
    _, _ = redrive(world, CONFIRMATION, "--subscriptions", "now", "--include-sent", "--confirm", "48")
    expect("what was sent again", len(dispatched(world)) - left, 48)
    world.cluster.delete_records(world.topics["journal"], 0, world.ends_of("journal")[0])
    _, said = redrive(world, CONFIRMATION, "--subscriptions", "now", "--include-sent", expected=EXIT_REFUSED)
    if "journal" not in said or not before > left:
        raise Failure(f"after the journal is gone it says: {said}")


def typing(world, text, *arguments):
    """The exit code of one that asks at a terminal and is answered with this."""
    ours, theirs = pty.openpty()
    output = tempfile.TemporaryFile()
    process = subprocess.Popen(
        [world.harness.carillon, "replay", "redrive", *arguments, *flags(world.settings("redrive"))],
        stdin=theirs,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    os.close(theirs)

    def is_asked():
        output.seek(0)
        return b"Type the number" in output.read() or process.poll() is not None

    wait_for("it asks for the number", is_asked, 30)
    if text == "\x03":
        # There is no controlling terminal that makes a signal of it.
        process.send_signal(signal.SIGINT)
    else:
        os.write(ours, text.encode())
    try:
        return process.wait(30 * PATIENCE)
    finally:
        os.close(ours)


@scenario("killed in the middle, again and again, and started again with its id, every push is sent exactly once", background=True)
def killed(harness):
    orders, devices = 120, 5
    world = missed(harness.make_world("killed", partitions=2), orders, devices)
    total = orders * devices
    words = (CONFIRMATION, "--subscriptions", "now", "--confirm", str(total), "--id", "after-a-kill")
    for point, rate in ((0, 40), (30, 40), (75, 40), (76, 40), (130, 20)):
        process = redrive_beside(world, *words, "--rate", str(rate))
        wait_for_sent(world, point, process)
        process.kill()
    (plan, outcome), _ = redrive(world, *words)
    expect("what is sent and what is left", plan["resumed"]["devices"], total)
    expect("what was left", plan["plan"]["devices"], total - plan["resumed"]["sent"])
    expect("the outcome", outcome, {"id": "after-a-kill", "devices": total, "sent": total, "refused": 0, "left_out": {}})
    records = check_once(world, ["after-a-kill"], total)
    if plan["resumed"]["sent"] < 130:
        raise Failure(f"only {plan['resumed']['sent']} were sent before the last start")
    check_bytes(world, records)
    finished, _ = redrive(world, *words)
    expect("an id that is finished", finished, [outcome])
    redrive(world, *words, "--place", "p1")
    expect("records at the end", len(dispatched(world)), total)
    code, output, _ = harness.run("replay", "diff", "--subscriptions", "now", "--json", settings=world.settings("redrive"))
    found = json.loads(output)
    expect(
        "the difference",
        (code, found["redriven"], found["redrives"], found["missing"], found["duplicates"], found["extra"]),
        (0, total, {"after-a-kill": total}, 0, 0, 0),
    )
    _, said, _ = harness.run("explain", "--order", "o7", settings=world.settings("redrive"))
    if "no_subscriber" not in said or f"re-driven    to {devices} devices by after-a-kill" not in said:
        raise Failure(f"carillon explain --order o7 says: {said}")
    check_no_group(world)
    check_writing(world)
    check_options(world, total)


def check_no_group(world):
    """Nothing but the log says how far an id came."""
    groups = {each.group_id for each in world.cluster.admin.list_consumer_groups().result(30).valid}
    expect("groups of re-drives", [name for name in groups if name.startswith("carillon-replay-")], [])


def check_writing(world):
    """No other command writes to the dispatch topic, by whatever name the settings call it."""
    live, before = world.topics["dispatch"], len(dispatched(world))
    world.cluster.create_topics({f"{world.name}.elsewhere": (1, {})})
    # A record that no replay has written, as in the topic of another pipeline.
    world.cluster.produce(live, [Input(b"x", b"{}")])
    for more in ({}, {"topic.dispatch": f"{world.name}.elsewhere"}):
        code, _, said = world.harness.run("replay", "write", "--output", f"topic:{live}", settings=world.settings("redrive") | more)
        if code != EXIT_REFUSED or "redrive" not in said:
            raise Failure(f"replay write to {live} ended with {code}: {said}")
    expect("records of the dispatch topic", len(dispatched(world)), before + 1)


def check_bytes(world, records):
    """But for the header that marks it, a record is what a replay renders."""
    _, output, _ = world.harness.run(
        "replay", "write", "--output", "-", "--subscriptions", "now", settings=world.settings("redrive")
    )
    lines = [json.loads(line) for line in output.splitlines()]
    rendered = {(line["key"], tuple(line["headers"][0::2]), tuple(line["headers"][1::2]), line["payload"]) for line in lines}
    sent = {
        (
            each.key.decode(),
            tuple(name for name, _ in each.headers[:-1]),
            tuple(value.decode() for _, value in each.headers[:-1]),
            each.value.decode(),
        )
        for each in records
    }
    expect("records that are not as they are rendered", len(rendered ^ sent), 0)


def check_options(world, total):
    """Where all is sent again, an id knows its own records by its header; and it never sends more than was confirmed."""
    words = (CONFIRMATION, "--subscriptions", "now", "--include-sent", "--confirm", str(total), "--id", "other")
    for point in (15, 60):
        process = redrive_beside(world, *words, "--rate", "35")
        wait_for_sent(world, total + 1 + point, process)
        process.kill()
    process = redrive_beside(world, *words, "--rate", "35")
    wait_for_sent(world, total + 1 + 100, process)
    process.process.send_signal(signal.SIGTERM)
    said = process.wait(EXIT_NOT_IN_TIME)
    if "--id other" not in said or f"of {total} devices were sent" not in said:
        raise Failure(f"after SIGTERM it says: {said}")
    before = len(dispatched(world))
    redrive(world, *words[:5], str(total - 1), *words[6:], expected=EXIT_REFUSED)
    expect("records after refusals", len(dispatched(world)), before)
    (_, outcome), _ = redrive(world, *words, "--rate", "10000")
    expect("the outcome of the second", (outcome["sent"], len(dispatched(world))), (total, 2 * total + 1))
    again = collections.Counter(
        (dict(each.headers)["source"], each.key) for each in dispatched(world) if dict(each.headers).get("replay") == b"other"
    )
    expect("pushes sent again", (len(again), set(again.values())), (total, {1}))


@scenario("a second start of an id fences the first one, which says so and sends nothing more", background=True)
def fenced(harness):
    world = missed(harness.make_world("fenced", partitions=2), 60, 5)
    words = (CONFIRMATION, "--subscriptions", "now", "--confirm", "300", "--id", "twice")
    # Slow, so that it has some left for as long as the second one takes to come.
    first = redrive_beside(world, *words, "--rate", "20")
    wait_for_sent(world, 50, first)
    second = redrive_beside(world, *words, "--rate", "100")
    said = first.wait(EXIT_IN_USE)
    if "in use" not in said:
        raise Failure(f"the first one says: {said}")
    second.wait(0)
    check_once(world, ["twice"], 300)


class Change(NamedTuple):
    # Of the last event of the order that got a newer one.
    source: bytes
    # The hash of the token of the device that unsubscribed.
    device: bytes


def change(world, process, point):
    """While it sends: a device unsubscribes, and the order that comes last gets a newer event, which is not processed yet."""
    wait_for_sent(world, point, process)
    last = max(world.cluster.read(world.topics["events"]), key=lambda each: (each.partition, each.offset))
    number = int(last.key[1:])
    gone = (number + 1) % PLACES
    unsubscribe(world, gone, 0)
    world.cluster.produce(world.topics["events"], [order(number, "picked", "n")])
    return Change(last.source.encode(), hashlib.sha256(token(world, gone, 0).encode()).hexdigest().encode())


def check_changed(world, orders, devices, changed, name):
    """Each push was sent once, but for those of the order that got a newer event, and the last ones of the device that
    unsubscribed. Returns how many of each are missing."""
    by_device = collections.Counter(each.key for each in check_once(world, [name], len(dispatched(world))))
    sources = collections.Counter(dict(each.headers)["source"] for each in dispatched(world))
    expect("pushes of the order that had a newer event", sources[changed.source], 0)
    expect("orders that some devices were told of", len(sources), orders - 1)
    short = {name: count for name, count in by_device.items() if count < orders // PLACES - 1}
    expect("devices that got less", set(short), {changed.device})
    return devices, orders // PLACES - short[changed.device]


@scenario(
    "what changes while it sends is left out and counted: a device that unsubscribes, and an order that gets a newer event",
    background=True,
)
def changed(harness):
    orders, devices = 120, 3
    world = missed(harness.make_world("changed", partitions=2), orders, devices)
    words = (CONFIRMATION, "--subscriptions", "now", "--confirm", "360", "--id", "changing")
    process = redrive_beside(world, *words, "--rate", "35")
    change_made = change(world, process, 20)
    process.wait(0)
    replaced, left = check_changed(world, orders, devices, change_made, "changing")
    for line in (
        f"Sent to {360 - replaced - left} of 360 devices, by changing.",
        f"left out when their turn came: {replaced} replaced by a later notification of their order",
        f"left out when their turn came: {left} whose device has unsubscribed",
    ):
        if line not in process.printed():
            raise Failure(f"it does not say '{line}': {process.printed()}")
    (plan, outcome), _ = redrive(world, *words)
    expect("once more", (plan["resumed"]["sent"], plan["plan"]["devices"]), (360 - replaced - left, replaced))
    expect("the outcome", (outcome["sent"], outcome["left_out"]), (360 - replaced - left, {"replaced": replaced}))


@scenario("killed after something has changed, it neither sends it nor counts it twice", background=True)
def changed_and_killed(harness):
    orders, devices = 120, 3
    world = missed(harness.make_world("changed-and-killed", partitions=2), orders, devices)
    words = (CONFIRMATION, "--subscriptions", "now", "--confirm", "360", "--id", "changing-killed")
    first = redrive_beside(world, *words, "--rate", "20")
    change_made = change(world, first, 20)
    wait_for_sent(world, 50, first)
    first.kill()
    second = redrive_beside(world, *words, "--rate", "20")
    wait_for_sent(world, 80, second)
    second.kill()
    (plan, outcome), _ = redrive(world, *words)
    replaced, left = check_changed(world, orders, devices, change_made, "changing-killed")
    expect("what was sent", outcome["sent"], 360 - replaced - left)
    # Who had unsubscribed is not in the plan any more.
    expect("what was left out", outcome["left_out"], {"replaced": replaced})
    expect("what is sent and what is left", plan["resumed"]["devices"], 360 - left)
    (_, again), _ = redrive(world, *words)
    expect("afterwards", again, outcome)


@scenario("where retention may have removed what an id has sent, the id is refused and sends nothing again", background=True)
def removed(harness):
    # More than are sent before it is killed.
    world = missed(harness.make_world("removed", partitions=2), 120, 3)
    words = (CONFIRMATION, "--subscriptions", "now", "--include-sent", "--confirm", "360", "--id", "removed")
    process = redrive_beside(world, *words, "--rate", "20")
    wait_for_sent(world, 30, process)
    process.kill()
    before = dispatched(world)
    for partition, end in world.ends_of("dispatch").items():
        world.cluster.delete_records(world.topics["dispatch"], partition, end)
    _, said = redrive(world, *words, expected=EXIT_REFUSED)
    if "what was sent then is not known" not in said:
        raise Failure(f"where the records of an id are gone it says: {said}")

    def pushes(records):
        return {(dict(each.headers)["source"], each.key) for each in records}

    # A transaction that was open at the kill may have ended since.
    expect("what was sent again", pushes(before) & pushes(dispatched(world)), set())


@scenario("a broker that is killed in the middle is waited for, and every push is sent exactly once", background=True)
def restarted(harness):
    with harness.brokers() as brokers:
        cluster = Cluster(brokers.start())
        world = missed(harness.make_world("restarted", cluster, partitions=2), 60, 5)
        words = (CONFIRMATION, "--subscriptions", "now", "--confirm", "300", "--id", "over-a-restart", "--rate", "45")
        process = redrive_beside(world, *words)
        wait_for_sent(world, 10, process)
        brokers.kill()
        brokers.start()
        process.wait(EXIT_DONE, 60)
        check_once(world, ["over-a-restart"], 300)


if __name__ == "__main__":
    sys.exit(main("redrive", __doc__, globals()))
