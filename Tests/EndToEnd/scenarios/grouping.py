"""Grouped dispatch records on a real broker: they stand for exactly the records of single devices, and `carillon dispatch expand`
makes these out of them."""

import collections
import json
import random
import sys
import time

from generator.broadcasts import GENERAL
from generator.dispatch import Pushes
from generator.inputs import Input, compact
from harness.broadcasting import BroadcastWorld
from harness.daemon import EXIT_CONFIGURATION, Daemon, flags, wait_for_daemons
from harness.delivering import DeliveryWorld
from harness.replaying import documents
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, expect, now_ms, pause, wait_for
from harness.world import check
from model.grouped import sent
from model.pushes import read_requests
from model.report import Report

SIZES = {"events": 2_000, "rate": 300, "kills": 3}
HEADERS = "event-type,audience,app,order-id"
SPREAD = "5s"
# The default of subscriptions.max-lag, and the time that a process needs to notice.
MAX_TABLE_AGE = 40_000


class Expansion(Daemon):
    """One instance of `carillon dispatch expand`."""

    def __init__(self, world, name, target):
        self.target, self.world = target, world
        super().__init__(name, world.folder, world.settings(name), "earliest", world.harness.carillon)
        world.daemons.append(self)

    def configure(self, settings):
        self.arguments = [self.binary, "dispatch", "expand", "--to", self.target, "--from", self.start_at]
        self.arguments += flags(settings | {"session.timeout": "6s", "transaction.timeout": "10s", "commit.max-records": 50})


def settings(world, **more):
    return world.settings("replay", schedule_spread=SPREAD, dispatch_headers=HEADERS, dispatch_grouping="audience", **more)


def content(record):
    return record.key, record.value, record.headers


def pushes(world):
    """Those of the dispatch topic, by the model's own reading, with the keys of their groups."""
    report = Report()
    found = list(sent(world.cluster.read(world.topics["dispatch"]), "audience", report))
    check(report)
    return found


def produce(world, expansions, counts):
    """Events, requests and changes of subscriptions at a rate, over kills of the pipeline's process. The expansions begin behind,
    and are restarted in turn: one is killed, the next drains."""
    sizes, chance = world.harness.sizes, random.Random(f"grouping {world.harness.seed}")
    more = {"session.timeout": "6s", "transaction.timeout": "10s", "commit.max-records": 50}
    daemon = world.daemon("a", settings(world) | {"instance.id": "a", "state.dir": world.folder / "a", "workers": 2} | more)
    daemon.start()
    wait_for_daemons("every partition has a committed offset", lambda: len(world.committed) == world.partitions, [daemon])
    producer, made, began = world.cluster.producer(), 0, time.monotonic()
    kills = sorted(chance.randrange(sizes.events) for _ in range(sizes.kills))
    third = sizes.events // 3
    starts = [third] * len(expansions) + sorted(chance.randrange(third, sizes.events) for _ in range(2 * sizes.kills))
    while made < sizes.events:
        world.events.mix.slots_from = int(time.time() * 1000)
        for _ in range(chance.randrange(1, 40)):
            for topic, each in _inputs(world, made):
                producer.produce(world.topics[topic], key=each.key, value=each.value, headers=list(each.headers))
            made += 1
        while kills and made >= kills[0]:
            kills.pop(0)
            daemon.kill()
            daemon.start()
            counts["kills"] += 1
        while starts and made >= starts[0]:
            starts.pop(0)
            restart(expansions[len(starts) % len(expansions)], counts)
        producer.poll(0)
        while time.monotonic() - began < made / sizes.rate:
            pause(0.01)
    wait_for("what was produced is delivered", lambda: producer.flush(0.1) == 0, 30)
    world.wait_until_done(90)
    daemon.stop(20)
    dispatch, cluster = world.topics["dispatch"], world.cluster
    wait_for("no transaction is open", lambda: cluster.ends(dispatch) == cluster.ends(dispatch, uncommitted=True), 30)


def restart(expansion, counts):
    if expansion.is_running and counts["kills of the expansion"] > counts["clean restarts of it"]:
        # SIGTERM would end a process that has only just begun.
        wait_for_daemons("it has partitions", lambda: expansion.has_line("assigned"), [expansion])
        expansion.stop(20)
        counts["clean restarts of it"] += 1
    elif expansion.is_running:
        expansion.kill()
        counts["kills of the expansion"] += 1
    expansion.start()


def _inputs(world, number):
    yield "events", world.events.next()
    if number % 4 == 0:
        yield "requests", world.next_request()
    if number % 8 == 0:
        yield "subscriptions", world.changes.next()


def replay_diff(world, count, *words):
    (found,), _ = documents(world, "replay", "diff", *words, settings=settings(world))
    wanted = {"equal": count, "unequal": 0, "missing": 0, "extra": 0, "duplicates": 0}
    expect("carillon replay diff " + " ".join(words), {name: found[name] for name in wanted}, wanted)


def finish(world, expansions, target):
    """What the expansions have written, once that is everything."""
    dispatch, group = world.topics["dispatch"], f"{world.name}-expand-{target}"
    wait_for_daemons(
        "the whole topic is expanded", lambda: world.cluster.committed(group, dispatch) == world.cluster.ends(dispatch), expansions
    )
    for each in expansions:
        each.stop(20)
    wait_for("no transaction is open", lambda: world.cluster.ends(target) == world.cluster.ends(target, uncommitted=True), 30)
    return world.cluster.read(target)


def check_expanded(found, wanted):
    expect("records for single devices", len(found), len(wanted))
    if collections.Counter(map(content, found)) != collections.Counter(content(each.record) for each in wanted):
        raise Failure("the expanded records are others")


def check_order(found, wanted):
    """Of each device and audience the pushes keep their order."""
    groups = {content(each.record): each.group for each in wanted}
    before, after = collections.defaultdict(list), collections.defaultdict(list)
    for each in wanted:
        before[each.record.key, each.group].append(content(each.record))
    for each in found:
        after[each.key, groups[content(each)]].append(content(each))
    expect("devices and audiences whose order is another", [key for key in before if before[key] != after[key]], [])


@scenario(
    "over kills every push is in one grouped record, the replay finds no difference, and `dispatch expand` writes beside it, over "
    "kills and restarts, byte for byte, what single records would have been"
)
def expanded(harness):
    world = harness.make_world("grouping", partitions=3, places=60, crowd=300, users=50, poison_rate=0.01).create_topics()
    world.events.mix.crowd_rate = 0.05
    world.rules.grouping, world.rules.spread_seconds = "audience", 5
    world.rules.headers = frozenset(HEADERS.split(","))
    single, counts = f"{world.name}.single", collections.Counter()
    world.cluster.create_topics({single: (3, {})})
    expansions = [Expansion(world, name, single) for name in ("x", "y")]
    produce(world, expansions, counts)
    check(world.verify(max_table_age_ms=MAX_TABLE_AGE))
    wanted = pushes(world)
    records = len(world.cluster.read(world.topics["dispatch"]))
    if records * 3 > len(wanted):
        raise Failure(f"{records} records for {len(wanted)} pushes: nothing was grouped")
    replay_diff(world, len(wanted))
    found = finish(world, expansions, single)
    check_expanded(found, wanted)
    check_order(found, wanted)
    replay_diff(world, len(wanted), "--against", f"topic:{single}")
    print(
        f"         {records:,} records, {len(wanted):,} pushes; " + ", ".join(f"{count} {what}" for what, count in counts.items()),
        flush=True,
    )


@scenario("over kills each device of a channel is in one grouped record of a broadcast, and in one for each time that it joins")
def broadcast(harness):
    world = BroadcastWorld(harness, "grouped-broadcasts", harness.cluster(), partitions=3, devices=9_000, grouping="audience")
    world.create_topics()
    source = world.broadcasts
    world.publish(source.to_channel(GENERAL, now_ms())[1])
    # A pass over all of them takes 3 s.
    more = {"session_timeout": "6s", "transaction_timeout": "10s", "commit.max-records": 400}
    daemon = world.daemon("p", workers=2, broadcasts_rate=3_000, **more).start()
    world.wait_for_commits()
    for _ in range(3):
        world.publish(source.to_channel(GENERAL, now_ms())[1])
        wait_for("passes are under way", world.under_way, 30)
        world.subscribe([record for _ in range(40) for record in world.members.next()])
        daemon.kill()
        daemon.start()
    world.wait_until_done(90)
    daemon.stop(45)
    report = world.verify(0)
    if not report.counts["to who joined"]:
        report.add("nothing to compare", "nobody joined")
    check(report)
    records = len(world.cluster.read(world.dispatch))
    if records * 4 > report.counts["dispatched"]:
        raise Failure(f"{records} records for {report.counts['dispatched']} pushes: nothing was grouped")
    print(f"         {records:,} records, {report.counts['dispatched']:,} pushes", flush=True)


@scenario("records that are not grouped pass unchanged; one that cannot be read ends the expansion with its place")
def unreadable(harness):
    world = harness.make_world("unreadable", partitions=1).create_topics()
    target = f"{world.name}.single"
    world.cluster.create_topics({target: (1, {})})
    copied = [
        Input(b"0" * 64, b"anything", (("platform", b"fcm"), ("replay", b"r1"))),
        Input(None, None, (("x", None),)),
    ]
    world.cluster.produce(world.topics["dispatch"], copied)
    bad = Input(b"place/1", b'{"devices":[{"hash":"0"}]}', (("platform", b"fcm"), ("devices", b"1")))
    process = Expansion(world, "x", target).start()
    wait_for_daemons("both are copied", lambda: len(world.cluster.read(target)) == 2, [process])
    world.cluster.produce(world.topics["dispatch"], [bad])
    process.expect_exit(EXIT_CONFIGURATION, f"{world.topics['dispatch']}/0/", "its devices cannot be read")
    expect("records", [content(each) for each in world.cluster.read(target)], [(*each,) for each in copied])


def for_two_devices(pushes):
    """A grouped record of FCM's, and the hashes of its devices."""
    targets = [each for each in pushes.targets if each.platform == "fcm"][:2]
    single = pushes.record(targets[0], now_ms(), now_ms() + 3_600_000)
    message = {name: value for name, value in json.loads(single.value)["message"].items() if name != "token"}
    devices = [{"hash": each.token_hash, "token": each.token} for each in targets]
    grouped = Input(
        b"place/1", compact({"devices": devices, "message": message}), (*single.headers, ("devices", str(len(devices)).encode()))
    )
    return grouped, [each.token_hash for each in targets]


def outcomes(world):
    return [json.loads(each.value)["offset"] for each in world.cluster.read(world.topics["deliveries"])]


@scenario(
    "`carillon deliver` ends with 78 at a grouped record, once what came before it has its outcomes; behind `dispatch expand` it "
    "sends to each of its devices"
)
def delivered(harness):
    world, expanded = (DeliveryWorld(harness, name, harness.cluster(), partitions=1) for name in ("grouped", "expanded"))
    for each in (world, expanded):
        each.create_topics()
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed)
    try:
        pushes = Pushes(harness.seed, 20)
        grouped, devices = for_two_devices(pushes)
        world.cluster.produce(world.dispatch, pushes.next(50, now_ms()))
        world.cluster.produce(world.dispatch, [grouped, *pushes.next(5, now_ms())])
        sender = world.sender("p", world.settings("p") | stand_in.settings())
        for _ in range(2):
            # A second start does not get past it either.
            sender.start()
            sender.expect_exit(EXIT_CONFIGURATION, f"{world.dispatch}/0/50", "dispatch expand")
        expect("outcomes", sorted(outcomes(world)), list(range(50)))
        expansion = Expansion(world, "x", expanded.dispatch).start()
        sender = expanded.sender("q", expanded.settings("q") | stand_in.settings()).start()
        wait_for_daemons("all of them have ended", lambda: len(outcomes(expanded)) >= 57, [expansion, sender])
        # The ends of the expansion's transactions take offsets, too.
        records = world.cluster.read(expanded.dispatch)
        expect("records behind the expansion", len(records), 57)
        expect("outcomes behind the expansion", sorted(outcomes(expanded)), sorted(each.offset for each in records))
        expansion.stop(20)
        sender.stop()
        stand_in.end()
        message = dict(grouped.headers)["message-id"].decode()
        sent_to = [each.device for each in read_requests(stand_in.log) if each.message == message and each.is_accepted]
        expect("who got the grouped one", sorted(sent_to), sorted(devices))
    finally:
        stand_in.end()
        for each in (world, expanded):
            each.kill_daemons()


if __name__ == "__main__":
    sys.exit(main("grouping", __doc__, globals(), sizes=SIZES))
