"""A subscriptions topic that is compacted, gets partitions, is created again, or has an open transaction. Part of `store`."""

import json
import signal
import time

from generator.inputs import event_about, subscription, unsubscription
from harness.brokers import free_port
from harness.daemon import EXIT_CONFIGURATION, wait_for_daemons
from harness.prometheus import fetch
from harness.scenario import scenario
from harness.waiting import Failure, wait_for
from harness.world import check
from model.report import Report


def device(place, token):
    return subscription(place, token, app="a", environment="production")


def notify(world, place, number):
    """Produces an event of a place; the tokens of the devices that get it."""
    order = {"id": f"o{number}", "place_id": place, "status": "pending"}
    at = world.ends[0]
    world.cluster.produce(world.topics["events"], [event_about(order, f"e{number}")], 0)
    world.wait_until_done()
    source = f"{world.topics['events']}/0/{at}".encode()
    return {
        json.loads(each.value)["message"]["token"]
        for each in world.cluster.read(world.topics["dispatch"])
        if dict(each.headers)["source"] == source
    }


def create_again(world, records):
    """The subscriptions' topic with other records in it."""
    cluster, topic = world.cluster, world.topics["subscriptions"]
    cluster.delete_topic(topic)
    cluster.create_topics({topic: (4, {"cleanup.policy": "compact"})})
    cluster.produce(topic, records)


def check_table(world):
    report = Report()
    world.check_tables({"a": world.folder / "a"}, report)
    check(report)


@scenario(
    "a device that unsubscribed while a process was stopped gets nothing afterwards, though the topic has forgotten both records",
    background=True,
)
def forgotten_unsubscription(harness):
    world = harness.make_world("forgotten").create_topics()
    topic = world.topics["subscriptions"]
    # Short segments, cleaned as soon as the broker's cleaner comes; it removes a tombstone in its second round.
    world.cluster.configure(topic, {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.0", "delete.retention.ms": "100"})
    leaving, staying = device("p1", "leaving"), device("p1", "staying")
    world.cluster.produce(topic, [leaving, staying])
    daemon = world.started(session_timeout="6s")
    if (found := notify(world, "p1", 1)) != {"leaving", "staying"}:
        raise Failure(f"the first event went to {found}")
    daemon.signal(signal.SIGSTOP)
    world.cluster.produce(topic, [unsubscription("p1", "leaving")])

    def is_forgotten():
        # A record rolls the segment, and only closed ones are cleaned.
        for partition in world.cluster.partitions(topic):
            world.cluster.produce(topic, [device("p2", "other")], partition)
        return all(each.key != leaving.key for each in world.cluster.read(topic))

    wait_for("the topic has forgotten the device", is_forgotten, 90)
    daemon.signal(signal.SIGCONT)
    wait_for_daemons("the table is rebuilt", lambda: daemon.has_line("table is rebuilt", "delete.retention.ms"), [daemon], 30)
    if (found := notify(world, "p1", 2)) != {"staying"}:
        raise Failure(f"the event after it went to {found}")
    wait_for_daemons("fan-out continues", lambda: daemon.has_line("fan-out continues"), [daemon], 30)
    daemon.stop()


@scenario("partitions that are added to the subscriptions of a running process end it with 78 within seconds")
def partitions_added(harness):
    world = harness.make_world("added").create_topics()
    daemon = world.started()
    world.produce(50)
    world.wait_until_done()
    world.cluster.add_partitions(world.topics["subscriptions"], 6)
    began = time.monotonic()
    daemon.expect_exit(EXIT_CONFIGURATION, "had 4 partitions and now has 6", "keys have moved", seconds=20)
    # A client asks for a topic's partitions by itself every five minutes.
    if (took := time.monotonic() - began) > 45:
        raise Failure(f"it took {took:.0f} s")
    daemon.start().expect_exit(EXIT_CONFIGURATION, "had 4 partitions and now has 6", "keys have moved", seconds=20)


@scenario("a subscriptions topic that was created again with other records is recognised, and the table is read again")
def created_again(harness):
    world = harness.make_world("again").create_topics()
    daemon = world.started()
    daemon.stop()
    before = world.ends_of("subscriptions")
    daemon.start()
    wait_for_daemons("the table continues", lambda: daemon.has_line("the subscriptions table continues"), [daemon], 30)
    daemon.stop()
    # Longer than before: by its offsets alone the table would fit.
    create_again(world, [device(f"p{number % 40}", f"new-{number}") for number in range(2_000)])
    after = world.ends_of("subscriptions")
    if any(after[partition] < before[partition] for partition in before):
        raise Failure(f"the topic is shorter than before: {after}, {before}")
    daemon.start()
    wait_for_daemons(
        "a line says why it is rebuilt", lambda: daemon.has_line("table is rebuilt", "another record at offset"), [daemon], 30
    )
    if (found := notify(world, "p7", 1)) != {f"new-{number}" for number in range(7, 2_000, 40)}:
        raise Failure(f"the event went to {len(found)} devices")
    daemon.stop()
    check_table(world)


@scenario("one that is created again while a process runs, and shorter, is read again too")
def created_again_while_running(harness):
    world = harness.make_world("again-running").create_topics()
    daemon = world.started()
    create_again(world, [device("p1", "new")])
    wait_for_daemons("a line says why it is rebuilt", lambda: daemon.has_line("table is rebuilt", "created again"), [daemon], 60)
    if (found := notify(world, "p1", 1)) != {"new"}:
        raise Failure(f"the event went to {found}")
    daemon.stop()
    check_table(world)


@scenario(
    "a transaction on the subscriptions that nobody ends is reported once a minute; the records after it count when it ends",
    background=True,
)
def hung_subscriptions(harness):
    world = harness.make_world("hung-subscriptions").create_topics()
    port = free_port()
    daemon = world.started(http=f"127.0.0.1:{port}")
    topic = world.topics["subscriptions"]

    def hung(count):
        return f'carillon_hung_transactions{{topic="subscriptions"}} {count}' in fetch(f"http://127.0.0.1:{port}/metrics")[2]

    upstream = world.cluster.producer(**{"transactional.id": world.name, "transaction.timeout.ms": 900_000})
    upstream.init_transactions(30)
    upstream.begin_transaction()
    open_since = world.ends_of("subscriptions")[0]
    upstream.produce(topic, key=b"place/p1|" + b"0" * 64, value=None, partition=0)
    upstream.flush(30)
    world.cluster.produce(topic, [device("p1", f"after-{number}") for number in range(100)])
    warning = ("a transaction has been open on the subscriptions", f"{topic}/0", str(open_since))
    wait_for_daemons("a line says that a transaction is open", lambda: daemon.has_line(*warning), [daemon], 100)
    wait_for_daemons("the gauge says so", lambda: hung(1), [daemon], 10)
    if len(notify(world, "p1", 1)) >= 100:
        raise Failure("what follows the transaction was read")
    upstream.commit_transaction(30)
    wait_for_daemons("what follows it counts", lambda: len(notify(world, "p1", time.monotonic_ns())) == 100, [daemon], 30)
    wait_for_daemons("the gauge does not say so any more", lambda: hung(0), [daemon], 10)
    daemon.stop()
