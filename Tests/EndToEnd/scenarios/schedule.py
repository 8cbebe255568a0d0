"""Timers and the state of orders on a real broker: each timer exactly once, whatever dies, moves or lags meanwhile."""

import argparse
import collections
import json
import random
import shutil
import signal
import sys
import time

from generator.inputs import iso
from harness import scenario as scenarios
from harness.cluster import PATIENCE, Failure, answer, pause, wait_for
from harness.daemon import CARILLON_DEBUG, EXIT_CONFIGURATION, wait_for_daemons
from harness.prometheus import fetch
from harness.scenario import check, command, free_port, scenario, started
from harness.timers import (
    MINUTE,
    PLACES,
    SPREAD,
    TYPES,
    Visibility,
    check_timers,
    commit,
    committed,
    make_schedule_world,
    next_minute,
    now_ms,
    order_event,
    orders_due,
    produce,
    stop_all,
    subscription,
    timer_problems,
    timers,
    timers_by_device,
    wait_for_timers,
)

# Of a slot with more timers than a transaction may have.
sizes = argparse.Namespace(orders=300, devices=100, records=1_000, kills=2)


@scenario("processes that are killed again and again while timers go: each timer once", background=True)
def killed():
    world = make_schedule_world("killed")
    chance = random.Random(f"killed {scenarios.seed}")
    settings = {"schedule_spread": f"{SPREAD}s", "session_timeout": "6s", "transaction_timeout": "10s"}
    daemons = [started(world, "a", **settings)]
    daemons.append(
        world.daemon("b", world.settings("b", **settings), binary=CARILLON_DEBUG)
        if CARILLON_DEBUG
        else world.daemon("b", world.settings("b", **settings))
    )
    if CARILLON_DEBUG:
        daemons[1].faults = {
            "CARILLON_FAULT": "kill@after-tick:1/6,kill@after-send-offsets:1/9,kill@after-commit:1/9,abort@after-tick:1/4",
            "CARILLON_FAULT_SEED": str(scenarios.seed),
        }
    daemons[1].start()
    at = next_minute(8)
    events, due = orders_due(world, at, 400)
    produce(world, events)
    next_kill = at

    def disturb():
        nonlocal next_kill
        for each in daemons:
            if not each.is_running:
                each.start()
        if now_ms() > next_kill:
            victim = chance.choice(daemons)
            if victim.is_running:
                victim.kill()
            next_kill = now_ms() + chance.randrange(3000, 6000)

    wait_for_timers(world, due, at + SPREAD * 1000, disturb)
    # Without faults from now on.
    daemons[1].faults = {}
    for each in daemons:
        each.kill()
        each.start()
    wait_for_timers(world, due, at + (SPREAD + 60 * PATIENCE) * 1000)
    stop_all(daemons)
    check_timers(world, due)


@scenario("partitions that move to another process and back in mid-schedule: each timer once", background=True)
def moved():
    world = make_schedule_world("moved")
    settings = {"schedule_spread": f"{SPREAD}s", "static-membership": "false", "session_timeout": "6s"}
    first = started(world, "a", **settings)
    at = next_minute(8)
    events, due = orders_due(world, at, 400)
    produce(world, events)
    steps = [(at + 8_000, lambda: second.start()), (at + 18_000, lambda: first.stop()), (at + 24_000, lambda: first.start())]
    second = world.daemon("b", world.settings("b", **settings))

    def move():
        while steps and now_ms() > steps[0][0]:
            steps.pop(0)[1]()

    wait_for_timers(world, due, at + (SPREAD + 60 * PATIENCE) * 1000, move)
    stop_all([first, second])
    check_timers(world, due)


@scenario("a slot with more timers than a transaction may have: they go in slices, events in between, each once over kills")
def crowded():
    world = make_schedule_world("crowded", partitions=2)
    cluster, topics = world.cluster, world.topics
    cluster.produce(
        topics["subscriptions"], [subscription(place, number) for place in world.places for number in range(1, sizes.devices)]
    )
    # The slot has begun ten minutes ago, and nobody has looked: no need to wait for a full minute.
    began = (now_ms() - 60 * MINUTE) // MINUTE * MINUTE
    commit(world, f"v1 w={began} n=2 t=0 by=test")
    start = began + 50 * MINUTE
    produce(
        world,
        [
            order_event(world, f"crowded-{index}", world.places[index % PLACES], start=start, at=began + MINUTE)
            for index in range(sizes.orders)
        ],
    )
    daemon = world.daemon(
        "a",
        world.settings(
            "a",
            **{
                "schedule.max-lateness": "2h",
                "transaction.timeout": "3s",
                "shutdown.timeout": "3s",
                "session.timeout": "6s",
                "commit.max-records": sizes.records,
            },
        ),
    ).start()

    def is_through():
        return (
            len(at := {partition: words["w"] for partition, (_, words) in committed(world).items()}) == 2
            and min(at.values()) > start
        )

    kills = 0
    with Visibility(world) as visibility:
        timer = time.monotonic()
        while not is_through():
            if time.monotonic() - timer > 60 * PATIENCE + sizes.orders * sizes.devices / 2_000:
                raise Failure(f"the timers are not through, after {len(visibility.slices)} slices:\n{daemon.last_lines()}")
            if kills < sizes.kills and len(visibility.slices) > kills:
                daemon.kill()
                daemon.start()
                kills += 1
            daemon.expect_running()
            pause()
        taken = time.monotonic() - timer
    daemon.stop(20)
    done, (devices, twice) = visibility.slices, timers_by_device(world)
    print(
        f"         {sizes.orders:,} timers x {sizes.devices:,} devices in {len(done):,} slices, {kills} kills, {taken:.1f} s; "
        f"of {len(visibility.seconds)} events meanwhile the longest took {visibility.longest:.2f} s",
        flush=True,
    )
    if twice or len(devices) != sizes.orders or any(len(each) != sizes.devices for each in devices.values()):
        raise Failure(
            f"{len(devices)} timers for {sizes.orders}, {twice} pushes twice; devices a timer: "
            f"{collections.Counter(len(each) for each in devices.values()).most_common(3)}"
        )
    if len(done) < sizes.orders * sizes.devices // (sizes.records + sizes.devices):
        raise Failure(f"{len(done)} slices of {sizes.records} records at most cannot hold all timers")
    if kills < sizes.kills:
        raise Failure(f"{kills} kills: the tick was over too soon")
    if not 0 < visibility.longest <= 10 * PATIENCE:
        raise Failure(f"an event waited for {visibility.longest:.1f} s")


@scenario("a consumer that lags behind the start of a slot: one tick after the backlog, and nobody is nagged in vain")
def lagging():
    for name, lateness, is_patient in (("lagging", "2h", True), ("late", "15m", False)):
        world = make_schedule_world(name, partitions=2)
        began = (now_ms() - 60 * MINUTE) // MINUTE * MINUTE
        # A word more: confluent-kafka writes a NUL behind the last one.
        commit(world, f"v1 w={began} n=2 t=0 by=test")
        start, due, events = began + 10 * MINUTE, {}, []

        def add(order, minutes, status="pending", kind="ORDER_CREATED", start=None):
            place = world.places[len(order) % PLACES]
            events.append(order_event(world, f"{order}-{name}", place, kind, status, start, began + minutes * MINUTE))

        for index in range(20):
            add(f"open-{index}", 1, start=start)
            due[f"open-{index}-{name}", TYPES[0]] = start
            due[f"open-{index}-{name}", TYPES[1]] = start + 45 * MINUTE
            add(f"picked-{index}", 1, start=start)
            due[f"picked-{index}-{name}", TYPES[0]] = start
            add(f"gone-{index}", 1, start=start)
            add(f"moved-{index}", 1, start=start)
            # Set when its start and the first reminder are over.
            add(f"late-{index}", 30, start=start)
            due[f"late-{index}-{name}", TYPES[1]] = start + 45 * MINUTE
        # Several batches between what sets timers and what takes them away.
        for index in range(4000):
            add(f"between-{index}", 30)
        for index in range(20):
            add(f"picked-{index}", 31, "picked", "ORDER_STATUS_CHANGED")
            add(f"gone-{index}", 31, "cancelled", "ORDER_STATUS_CHANGED")
            add(f"moved-{index}", 31, start=began + 180 * MINUTE)
        produce(world, events)
        if not is_patient:
            due = {each: when for each, when in due.items() if when > now_ms() - 15 * MINUTE}
        daemon = started(world, **{"schedule.max-lateness": lateness})
        world.wait_until_done()
        wait_for_timers(world, due, now_ms() + 20_000 * PATIENCE)
        daemon.stop()
        check_timers(world, due)


@scenario("a committed offset whose metadata is gone: timers count from now, and it is said")
def reset():
    world = make_schedule_world("reset", partitions=2)
    start = (now_ms() - 20 * MINUTE) // MINUTE * MINUTE
    produce(
        world, [order_event(world, f"reset-{index}", world.places[index], start=start, at=start - MINUTE) for index in range(10)]
    )
    commit(world, "")
    daemon = started(world, **{"schedule.max-lateness": "2h"})
    wait_for_daemons("it says so", lambda: daemon.has_line("no readable watermark", "0, 1"), [daemon])
    world.wait_until_done()
    for offset, words in committed(world).values():
        if not offset or abs(now_ms() - words["w"]) > 5 * MINUTE:
            raise Failure(f"watermark {words} at {offset} after a reset")
    daemon.stop()
    check_timers(world, {})


@scenario("supersede=on: of an order's changes in one transaction only the newest push goes, and none is lost")
def superseded():
    world = make_schedule_world("superseded", partitions=2)
    world.rules.superseding = frozenset({"order_status_changed"})
    chance = random.Random(f"superseded {scenarios.seed}")
    statuses = ("pending", "processing", "picking", "packed", "picked", "shipped")

    def send(count):
        orders = [chance.randrange(30) for _ in range(count)]
        produce(
            world,
            [
                order_event(
                    world,
                    f"superseded-{order}",
                    world.places[order % PLACES],
                    "ORDER_STATUS_CHANGED",
                    chance.choice(statuses),
                    event_id=f"{chance.random()}",
                )
                for order in orders
            ],
        )

    # More than one batch, and then some small ones.
    send(1200)
    daemon = started(world, supersede="on")
    for _ in range(8):
        send(40)
    world.wait_until_done()
    daemon.stop()
    report = world.verify()
    check(report)
    if not 0 < report.counts.get("superseded", 0) < report.counts["events"]:
        raise Failure(f"nothing was superseded: {report.counts}")


@scenario(
    "a clock that is ahead of the broker's: no timer goes early, events go, and timers go when the clock fits again",
    background=True,
)
def ahead():
    if not CARILLON_DEBUG:
        return print("         skipped: only a debug build can be told a wrong time", flush=True)
    world = make_schedule_world("ahead", partitions=2)
    clock = world.folder / "clock"
    clock.write_text("7200\n")
    start = next_minute(20)
    events, due = orders_due(world, start, 20)
    spread = {"schedule_spread": f"{SPREAD}s"}
    daemon = world.daemon("a", world.settings("a", **spread), binary=CARILLON_DEBUG)
    daemon.faults = {"CARILLON_FAULT_CLOCK": str(clock)}
    # What this process commits at its start would silence the timers for two hours.
    commit(world, f"v1 w={start - 60 * MINUTE} n=2 t=0 by=test")
    daemon.start()
    produce(world, events)
    wait_for_daemons("it says so", lambda: daemon.has_line("ahead of the broker", "timers wait"), [daemon])
    world.wait_until_done()
    # Questions are asked again and again, and leave nothing that can be read.
    looks = sum(world.cluster.ends(world.topics["journal"], uncommitted=True).values())
    wait_for_daemons(
        "it asks again", lambda: sum(world.cluster.ends(world.topics["journal"], uncommitted=True).values()) > looks + 6, [daemon]
    )
    if early := timers(world):
        raise Failure(f"timers went two hours early: {list(early)[:3]}")
    if len(world.cluster.read(world.topics["dispatch"])) < len(events):
        raise Failure("events wait for the clock, too")
    clock.write_text("0\n")
    wait_for_daemons("it goes on", lambda: daemon.has_line("clock fits the broker's"), [daemon])
    wait_for_timers(world, due, start + (SPREAD + 60 * PATIENCE) * 1000)
    daemon.stop()
    check_timers(world, due)


@scenario("with schedule=off the watermark goes along with the commits: who switches it on is not sent what is over")
def switched_on():
    world = make_schedule_world("switched-on", partitions=2)
    began, start = now_ms(), (now_ms() - 5 * MINUTE) // MINUTE * MINUTE
    commit(world, f"v1 w={start - MINUTE} n=2 t=0 by=test")
    produce(
        world, [order_event(world, f"over-{index}", world.places[index], start=start, at=start - MINUTE) for index in range(20)]
    )
    daemon = started(world, schedule="off")
    world.wait_until_done()
    daemon.stop()
    for partition, (offset, words) in committed(world).items():
        if words["w"] < began:
            raise Failure(
                f"partition {partition}: watermark {words} at {offset}, and the scheduler was somebody else's until {began}"
            )
    # As if the next one had come after an hour: what the watermark does not keep back would go now.
    daemon = started(world, **{"schedule.max-lateness": "1h"})
    produce(world, [order_event(world, f"new-{index}", world.places[index]) for index in range(20)])
    world.wait_until_done()
    daemon.stop()
    check_timers(world, {})


@scenario("an order's past is the same from memory, from the checkpoint and from the log")
def past():
    world = make_schedule_world("past", partitions=2)
    orders = [f"past-{index}" for index in range(40)]

    def send(status, kind="ORDER_STATUS_CHANGED"):
        produce(
            world, [order_event(world, order, world.places[index % PLACES], kind, status) for index, order in enumerate(orders)]
        )
        world.wait_until_done()

    daemon = started(world)
    send("pending", "ORDER_CREATED")
    send("processing")
    daemon.stop()
    daemon.start()
    send("picking")
    if not daemon.log().count("starts") or "the state of orders is whole" in daemon.log():
        raise Failure("after a stop there was something to fold beside the checkpoint")
    daemon.kill()
    shutil.rmtree(world.folder / "a" / "orders-0")
    daemon.start()
    send("picked")
    daemon.expect_line("the state of orders is whole", f"{3 * len(orders)} records")
    daemon.stop()
    other = world.daemon("b", world.settings("b")).start()
    send("shipped")
    other.expect_line("the state of orders is whole", f"{4 * len(orders)} records")
    other.stop()
    changes = collections.Counter()
    for record in world.cluster.read(world.topics["dispatch"]):
        data = json.loads(json.loads(record.value)["message"]["data"]["default"])["data"]
        if data["event_type"] == "event_order_status_changed":
            changes[data["previous_status"], data["new_status"]] += 1
    statuses = ("pending", "processing", "picking", "picked", "shipped")
    expected = {change: len(orders) for change in zip(statuses, statuses[1:])}
    if changes != expected:
        raise Failure(f"changes of status: {dict(changes)}, expected {expected}")


@scenario("a topic that keeps less than twice the horizon ends a start with 78, unless nothing is scheduled")
def retention():
    world = make_schedule_world("retention", partitions=2)
    kept = str(27 * 86_400_000)
    world.cluster.configure(world.topics["events"], {"retention.ms": kept})
    # One that starts before the broker knows it would run.
    wait_for("the broker knows it", lambda: world.cluster.setting(world.topics["events"], "retention.ms") == kept, 20)
    world.daemon("a").start().expect_exit(EXIT_CONFIGURATION, "retention.ms", "27d", "state.horizon", seconds=30)
    for name, setting in (("b", {"schedule": "off"}), ("c", {"state.horizon": "13d"})):
        daemon = started(world, name, **setting)
        wait_for_daemons("it works", lambda: daemon.has_line("assigned"), [daemon])
        daemon.stop()


def incomplete_ranges(world, since):
    """Whether each range of the journal that begins at or behind `since`, by partition, says that it is incomplete."""
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


@scenario("a log that was cut below the committed offset: folded from its start, and said to be incomplete for two horizons")
def cut():
    world = make_schedule_world("cut", partitions=2)
    settings = {"state.horizon": "1h", "state.terminal-retention": "1h"}
    began = now_ms()

    def send(minutes_ago, status, kind="ORDER_STATUS_CHANGED"):
        """The ends before."""
        before = world.ends
        produce(
            world,
            [
                order_event(world, f"cut-{index}", world.places[index % PLACES], kind, status, at=began - minutes_ago * MINUTE)
                for index in range(40)
            ],
        )
        return before

    daemon = started(world, **settings)
    send(240, "pending", "ORDER_CREATED")
    kept = send(150, "processing")
    send(140, "packed")
    world.wait_until_done()
    daemon.stop()
    expect_incomplete(world, {0: 0, 1: 0}, False)
    # Retention takes what the fold of the last two horizons needs; the committed offset is still in the log.
    for partition, offset in kept.items():
        world.cluster.delete_records(world.topics["events"], partition, offset)
    shutil.rmtree(world.folder / "a" / "orders-0")
    daemon.start()
    wait_for_daemons(
        "it says what is known",
        lambda: daemon.has_line("known of orders is incomplete", f"0: since {iso(began - 150 * MINUTE)}"),
        [daemon],
    )
    daemon.expect_line("the state of orders is whole", "80 records")
    before = send(60, "picking")
    world.wait_until_done()
    expect_incomplete(world, before, True)
    daemon.stop()
    # The checkpoint remembers it.
    daemon.start()
    wait_for_daemons("it says it again", lambda: daemon.has_line("known of orders is incomplete"), [daemon])
    if daemon.has_line("the state of orders is whole"):
        raise Failure("after a stop there was something to fold beside the checkpoint")
    before = send(50, "picked")
    world.wait_until_done()
    expect_incomplete(world, before, True)
    # Two horizons behind its first record the fold has everything that it needs.
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
        raise Failure("it is said to be incomplete although it is two horizons long")
    daemon.stop()


def refolding(name, count):
    """A world whose group has committed `count` events, and a process that stands still in the fold of them, with little
    read ahead."""
    world, began = make_schedule_world(name, partitions=1), now_ms()
    # In small batches: the broker hands over whole ones.
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
        binary=CARILLON_DEBUG,
    )
    daemon.faults = {"CARILLON_FAULT": "stop@in-refold:1/1"}
    daemon.start()
    wait_for_daemons("it folds", lambda: daemon.is_stopped, [daemon])
    return world, daemon, began


@scenario("retention that overtakes a fold: it begins again at the log's start, and only a lost committed offset ends with 78")
def overtaken():
    if not CARILLON_DEBUG:
        return print("         skipped: only a debug build can be stopped in a fold", flush=True)
    count = 5_000
    world, daemon, began = refolding("overtaken", count)
    world.cluster.delete_records(world.topics["events"], 0, count - 50)
    daemon.signal(signal.SIGCONT)
    world.wait_until_done()
    daemon.expect_line("no longer holds the offset")
    daemon.expect_line("folds the state of orders up to the committed offsets", "offsets=50")
    daemon.expect_line("known of orders is incomplete", f"0: since {iso(began)}")
    expect_incomplete(world, {0: count}, True)
    daemon.stop()

    world, daemon, _ = refolding("overtaken-group", count)
    world.cluster.delete_records(world.topics["events"], 0, count + 5)
    daemon.signal(signal.SIGCONT)
    daemon.expect_exit(EXIT_CONFIGURATION, "out of range", "5 records are lost", seconds=30)


@scenario("a topic that was deleted and created again: the checkpoint of another log is not used, and the line says why")
def exchanged():
    world = make_schedule_world("exchanged", partitions=1)
    topic, count = world.topics["events"], 40

    def send(kind):
        produce(world, [order_event(world, f"{kind}-{index}", world.places[index % PLACES]) for index in range(count)])

    daemon = started(world, session_timeout="6s")
    send("first")
    world.wait_until_done()
    daemon.stop()
    world.cluster.admin.delete_topics([topic])[topic].result(30)

    def create():
        world.cluster.create_topics({topic: (1, {"retention.ms": str(30 * 86_400_000)})})
        return True

    answer(create)
    send("second")
    wait_for("the group has expired", lambda: not world.cluster.members(world.name), 30)
    commit(world, f"v1 w={now_ms()} n=1 t={now_ms()} by=test", count)
    daemon.start()
    wait_for_daemons("it folds", lambda: daemon.has_line("the state of orders is whole", f"{count} records"), [daemon])
    daemon.expect_line("folded from the log, and not from its checkpoint", f"another record at offset {count - 1}")
    # From now on the checkpoint is of this log.
    daemon.stop()
    daemon.start()
    wait_for_daemons("it works", lambda: daemon.has_line("assigned"), [daemon])
    send("third")
    world.wait_until_done()
    if daemon.has_line("the state of orders is whole"):
        raise Failure("after a stop there was something to fold beside the checkpoint")
    daemon.stop()


@scenario("a watermark ahead of the clock is said and measured, and `offsets set --watermark` brings the timers back")
def silenced():
    world = make_schedule_world("silenced", partitions=2)
    # Its first reminder is due when the test is over.
    began = (now_ms() - 5 * MINUTE) // MINUTE * MINUTE
    ahead = now_ms() + 60 * MINUTE
    commit(world, f"v1 w={ahead} n=2 t=0 by=test")
    events = [order_event(world, f"silenced-{index}", world.places[index], start=began + MINUTE, at=began) for index in range(10)]
    due = {(f"silenced-{index}", TYPES[0]): began + MINUTE for index in range(10)}
    produce(world, events)
    address = f"127.0.0.1:{free_port()}"
    daemon = started(world, http=address, session_timeout="6s", **{"schedule.max-lateness": "2h"})

    def lead():
        found = [
            line
            for line in fetch(f"http://{address}/metrics")[2].splitlines()
            if line.startswith("carillon_watermark_ahead_seconds{")
        ]
        return [float(line.split()[-1]) for line in found]

    wait_for_daemons("it says so", lambda: daemon.has_line("watermark is ahead of the clock", "0: 35", "1: 35"), [daemon])
    first = lead()
    if len(first) != 2 or not all(3_000 < each <= 3_600 for each in first):
        raise Failure(f"the gauge of both partitions is {first}, an hour was committed")
    wait_for_daemons("it goes down", lambda: max(lead()) < min(first), [daemon])
    world.wait_until_done()
    daemon.stop()
    if found := timers(world):
        raise Failure(f"timers before the watermark were sent: {list(found)[:3]}")

    settings = world.settings("a", session_timeout="6s")
    refused = command("offsets", "set", "--watermark", iso(began), settings=settings, expected=EXIT_CONFIGURATION)
    if "moves back: 2" not in refused or "--repeat-timers" not in refused:
        raise Failure(f"no plan, or no word of --repeat-timers: {refused}")
    command("offsets", "set", "--watermark", iso(began), "--repeat-timers", settings=settings)
    daemon.start()
    wait_for_timers(world, due, now_ms() + 30_000 * PATIENCE)
    if daemon.has_line("watermark is ahead of the clock") or lead() != [0, 0]:
        raise Failure(f"the watermark is still said to be ahead: {lead()}")
    daemon.stop()
    if problems := timer_problems(world, due):
        raise Failure("; ".join(sorted(problems)[:5]))


if __name__ == "__main__":
    sys.exit(scenarios.main("schedule.py", __doc__, sizes=sizes))
