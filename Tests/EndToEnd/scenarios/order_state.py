"""What is remembered of orders: from memory, from the checkpoint and from the log. Part of `schedule`."""

import collections
import itertools
import json
import shutil
import signal

from generator.inputs import iso
from harness.daemon import EXIT_CONFIGURATION, wait_for_daemons
from harness.scenario import scenario
from harness.timers import MINUTE, PLACES, commit, make_schedule_world, order_event, produce
from harness.waiting import Failure, now_ms, wait_for
from model.messages import payload_of


@scenario("an order's past is the same from memory, from the checkpoint and from the log")
def past(harness):
    world = make_schedule_world(harness, "past", partitions=2)
    orders = [f"past-{index}" for index in range(40)]

    def send(changed_to=None):
        places = itertools.cycle(world.places)
        produce(world, [order_event(world, order, place, changed_to) for order, place in zip(orders, places)])
        world.wait_until_done()

    daemon = world.started()
    send()
    send("processing")
    daemon.stop()
    daemon.start()
    send("picking")
    if not daemon.log().count("starts") or "the state of orders is complete" in daemon.log():
        raise Failure("after a stop there was something to fold beside the checkpoint")
    daemon.kill()
    shutil.rmtree(world.folder / "a" / "orders-0")
    daemon.start()
    send("picked")
    daemon.expect_line("the state of orders is complete", f"{3 * len(orders)} records")
    daemon.stop()
    other = world.daemon("b", world.settings("b")).start()
    send("shipped")
    other.expect_line("the state of orders is complete", f"{4 * len(orders)} records")
    other.stop()
    changes = collections.Counter()
    for record in world.cluster.read(world.topics["dispatch"]):
        data = payload_of(json.loads(record.value))
        if data["event_type"] == "event_order_status_changed":
            changes[data["previous_status"], data["new_status"]] += 1
    statuses = ("pending", "processing", "picking", "picked", "shipped")
    expected = {change: len(orders) for change in zip(statuses, statuses[1:])}
    if changes != expected:
        raise Failure(f"changes of status: {dict(changes)}, expected {expected}")


@scenario("a topic that keeps less than twice the horizon ends a start with 78, unless schedule=off")
def retention(harness):
    world = make_schedule_world(harness, "retention", partitions=2)
    world.cluster.configure(world.topics["events"], {"retention.ms": str(27 * 86_400_000)})
    world.daemon("a").start().expect_exit(EXIT_CONFIGURATION, "retention.ms", "27d", "state.horizon", seconds=30)
    for name, setting in (("b", {"schedule": "off"}), ("c", {"state.horizon": "13d"})):
        daemon = world.started(name, **setting)
        wait_for_daemons("it works", lambda: daemon.has_line("assigned"), [daemon])
        daemon.stop()


def incomplete_ranges(world, since):
    """Whether each range of the journal that begins at or after the offset in `since` says that it is incomplete."""
    return [
        span.get("incomplete", False)
        for record in world.cluster.read(world.topics["journal"])
        for span in json.loads(record.value)["ranges"]
        if span["to"] > span["from"] and span["from"] >= since[span["partition"]]
    ]


def expect_incomplete(world, since, expected):
    found = incomplete_ranges(world, since)
    if not found or set(found) != {expected}:
        raise Failure(f"ranges from {since} on are incomplete: {found}, expected {expected} for each")


@scenario("a log that was cut below the committed offset is folded from its start, and called incomplete for two horizons")
def cut(harness):
    world = make_schedule_world(harness, "cut", partitions=2)
    settings = {"state.horizon": "1h", "state.terminal-retention": "1h"}
    began = now_ms()

    def send(minutes_ago, changed_to=None):
        """Returns where the partitions ended before."""
        before = world.ends
        produce(
            world,
            [
                order_event(world, f"cut-{index}", world.places[index % PLACES], changed_to, at=began - minutes_ago * MINUTE)
                for index in range(40)
            ],
        )
        return before

    daemon = world.started(**settings)
    send(240)
    kept = send(150, "processing")
    send(140, "packed")
    world.wait_until_done()
    daemon.stop()
    expect_incomplete(world, {0: 0, 1: 0}, False)
    # Retention deletes what the fold of the last two horizons needs; the committed offset is still in the log.
    for partition, offset in kept.items():
        world.cluster.delete_records(world.topics["events"], partition, offset)
    shutil.rmtree(world.folder / "a" / "orders-0")
    daemon.start()
    wait_for_daemons(
        "it says what is known",
        lambda: daemon.has_line("known of orders is incomplete", f"0: since {iso(began - 150 * MINUTE)}"),
        [daemon],
    )
    daemon.expect_line("the state of orders is complete", "80 records")
    before = send(60, "picking")
    world.wait_until_done()
    expect_incomplete(world, before, True)
    daemon.stop()
    # The checkpoint remembers it.
    daemon.start()
    wait_for_daemons("it says it again", lambda: daemon.has_line("known of orders is incomplete"), [daemon])
    if daemon.has_line("the state of orders is complete"):
        raise Failure("after a stop there was something to fold beside the checkpoint")
    before = send(50, "picked")
    world.wait_until_done()
    expect_incomplete(world, before, True)
    # Two horizons after its first record the fold has everything that it needs.
    before = send(20, "shipped")
    world.wait_until_done()
    expect_incomplete(world, before, False)
    daemon.stop()
    daemon.start()
    wait_for_daemons("it works", lambda: daemon.has_line("assigned"), [daemon])
    before = send(10, "delivered")
    world.wait_until_done()
    expect_incomplete(world, before, False)
    if daemon.has_line("known of orders is incomplete"):
        raise Failure("it is called incomplete although it is two horizons long")
    daemon.stop()


def refolding(harness, name, count):
    """A world whose group has committed `count` events, a process that is stopped while it folds them, with little read
    ahead, and the time of the events."""
    debug_build = harness.require_debug_build()
    world, began = make_schedule_world(harness, name, partitions=1), now_ms()
    # In small batches: a broker only returns whole ones.
    producer = world.cluster.producer(**{"batch.num.messages": 100})
    for index in range(count + 20):
        (key, value, _), at = order_event(world, f"{name}-{index}", world.places[index % PLACES], at=began)
        producer.produce(world.topics["events"], key=key, value=value, timestamp=at)
    if producer.flush(30):
        raise Failure("events were not delivered")
    commit(world, f"v1 w={began} n=1 t={began} by=test", count)
    daemon = world.daemon(
        "a",
        world.settings("a", **{"kafka.queued.min.messages": 200, "kafka.fetch.message.max.bytes": 20_000}),
        binary=debug_build,
    )
    daemon.variables = {"CARILLON_FAULT": "stop@in-refold:1/1"}
    daemon.start()
    wait_for_daemons("it folds", lambda: daemon.is_stopped, [daemon])
    return world, daemon, began


@scenario("retention that overtakes a fold: it starts again from the log's start, and only a lost committed offset ends it with 78")
def overtaken(harness):
    count = 5_000
    world, daemon, began = refolding(harness, "overtaken", count)
    world.cluster.delete_records(world.topics["events"], 0, count - 50)
    daemon.signal(signal.SIGCONT)
    world.wait_until_done()
    daemon.expect_line("no longer holds the offset")
    daemon.expect_line("folds the state of orders up to the committed offsets", "offsets=50")
    daemon.expect_line("known of orders is incomplete", f"0: since {iso(began)}")
    expect_incomplete(world, {0: count}, True)
    daemon.stop()

    world, daemon, _ = refolding(harness, "overtaken-group", count)
    world.cluster.delete_records(world.topics["events"], 0, count + 5)
    daemon.signal(signal.SIGCONT)
    daemon.expect_exit(EXIT_CONFIGURATION, "out of range", "5 records are lost", seconds=30)


@scenario("a topic that was deleted and created again: the checkpoint of another log is not used, and the line says why")
def exchanged(harness):
    world = make_schedule_world(harness, "exchanged", partitions=1)
    topic, count = world.topics["events"], 40

    def send(kind):
        produce(world, [order_event(world, f"{kind}-{index}", world.places[index % PLACES]) for index in range(count)])

    daemon = world.started(session_timeout="6s")
    send("first")
    world.wait_until_done()
    daemon.stop()
    world.cluster.delete_topic(topic)
    world.cluster.create_topics({topic: (1, {"retention.ms": str(30 * 86_400_000)})})
    send("second")
    wait_for("the group has expired", lambda: not world.cluster.members(world.name), 30)
    commit(world, f"v1 w={now_ms()} n=1 t={now_ms()} by=test", count)
    daemon.start()
    wait_for_daemons("it folds", lambda: daemon.has_line("the state of orders is complete", f"{count} records"), [daemon])
    daemon.expect_line("folded from the log, and not from its checkpoint", f"another record at offset {count - 1}")
    # From now on the checkpoint is of this log.
    daemon.stop()
    daemon.start()
    wait_for_daemons("it works", lambda: daemon.has_line("assigned"), [daemon])
    send("third")
    world.wait_until_done()
    if daemon.has_line("the state of orders is complete"):
        raise Failure("after a stop there was something to fold beside the checkpoint")
    daemon.stop()
