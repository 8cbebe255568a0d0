"""Timers and the state of orders on a real broker: each timer exactly once, whatever is killed, moves or lags meanwhile."""

import collections
import random
import sys
import time

from generator.inputs import iso
from harness.brokers import free_port
from harness.daemon import EXIT_CONFIGURATION, wait_for_daemons
from harness.prometheus import fetch
from harness.scenario import main, scenario
from harness.timers import (
    MINUTE,
    PLACES,
    SPREAD,
    TYPES,
    check_timers,
    commit,
    committed,
    device,
    make_schedule_world,
    next_minute,
    order_event,
    orders_due,
    produce,
    sent_timers,
    stop_all,
    timer_problems,
    timers_by_device,
    wait_for_timers,
)
from harness.visibility import Visibility
from harness.waiting import PATIENCE, Failure, now_ms, pause
from scenarios import order_state

# Of a slot with more timers than a transaction may have.
SIZES = {"orders": 300, "devices": 100, "records": 1_000, "kills": 2}


@scenario("processes that are killed again and again while timers fire: each timer once", background=True)
def killed(harness):
    world = make_schedule_world(harness, "killed")
    chance = random.Random(f"killed {harness.seed}")
    settings = {"schedule_spread": f"{SPREAD}s", "session_timeout": "6s", "transaction_timeout": "10s"}
    daemons = [world.started("a", **settings), world.daemon("b", world.settings("b", **settings), binary=harness.debug_carillon)]
    if harness.debug_carillon:
        daemons[1].variables = {
            "CARILLON_FAULT": "kill@after-tick:1/6,kill@after-send-offsets:1/9,kill@after-commit:1/9,abort@after-tick:1/4",
            "CARILLON_FAULT_SEED": str(harness.seed),
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
    daemons[1].variables = {}
    for each in daemons:
        each.kill()
        each.start()
    wait_for_timers(world, due, at + (SPREAD + 60 * PATIENCE) * 1000)
    stop_all(daemons)
    check_timers(world, due)


@scenario("partitions that move to another process and back while timers fire: each timer once", background=True)
def moved(harness):
    world = make_schedule_world(harness, "moved")
    settings = {"schedule_spread": f"{SPREAD}s", "static-membership": "false", "session_timeout": "6s"}
    first = world.started("a", **settings)
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


@scenario("a slot with more timers than a transaction may have: they fire in slices, events in between, each once over kills")
def crowded(harness):
    sizes, world = harness.sizes, make_schedule_world(harness, "crowded", partitions=2)
    world.cluster.produce(
        world.topics["subscriptions"], [device(place, number) for place in world.places for number in range(1, sizes.devices)]
    )
    # The slot began ten minutes ago, and no process has run since: there is no need to wait for a full minute.
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
        reached = [words["w"] for _, words in committed(world).values()]
        return len(reached) == 2 and min(reached) > start

    kills = 0
    with Visibility(world) as visibility:
        timer = time.monotonic()
        while not is_through():
            if time.monotonic() - timer > 60 * PATIENCE + sizes.orders * sizes.devices / 2_000:
                raise Failure(f"the timers have not all fired, after {len(visibility.slices)} slices:\n{daemon.last_lines()}")
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


@scenario("a consumer that lags behind the start of a slot: one tick after the backlog, and no reminder that is out of date")
def lagging(harness):
    for name, lateness, is_patient in (("lagging", "2h", True), ("late", "15m", False)):
        world = make_schedule_world(harness, name, partitions=2)
        began = (now_ms() - 60 * MINUTE) // MINUTE * MINUTE
        # One more word than is needed: confluent-kafka writes a NUL after the last one.
        commit(world, f"v1 w={began} n=2 t=0 by=test")
        start, due, events = began + 10 * MINUTE, {}, []

        def order(identity, minutes, changed_to=None, start=None):
            place = world.places[len(identity) % PLACES]
            return order_event(world, f"{identity}-{name}", place, changed_to, start, at=began + minutes * MINUTE)

        for index in range(20):
            events.append(order(f"open-{index}", 1, start=start))
            due[f"open-{index}-{name}", TYPES[0]] = start
            due[f"open-{index}-{name}", TYPES[1]] = start + 45 * MINUTE
            events.append(order(f"picked-{index}", 1, start=start))
            due[f"picked-{index}-{name}", TYPES[0]] = start
            events.append(order(f"gone-{index}", 1, start=start))
            events.append(order(f"moved-{index}", 1, start=start))
            # The slot is set after its start and the first reminder.
            events.append(order(f"late-{index}", 30, start=start))
            due[f"late-{index}-{name}", TYPES[1]] = start + 45 * MINUTE
        # Several batches between the events that set timers and those that cancel them.
        events += [order(f"between-{index}", 30) for index in range(4000)]
        for index in range(20):
            events.append(order(f"picked-{index}", 31, "picked"))
            events.append(order(f"gone-{index}", 31, "cancelled"))
            events.append(order(f"moved-{index}", 31, start=began + 180 * MINUTE))
        produce(world, events)
        if not is_patient:
            due = {each: when for each, when in due.items() if when > now_ms() - 15 * MINUTE}
        daemon = world.started(**{"schedule.max-lateness": lateness})
        world.wait_until_done()
        wait_for_timers(world, due, now_ms() + 20_000 * PATIENCE)
        daemon.stop()
        check_timers(world, due)


@scenario("a committed offset without its metadata: timers count from now, and a line says so")
def reset(harness):
    world = make_schedule_world(harness, "reset", partitions=2)
    start = (now_ms() - 20 * MINUTE) // MINUTE * MINUTE
    produce(
        world, [order_event(world, f"reset-{index}", world.places[index], start=start, at=start - MINUTE) for index in range(10)]
    )
    commit(world, "")
    daemon = world.started(**{"schedule.max-lateness": "2h"})
    wait_for_daemons("it says so", lambda: daemon.has_line("no readable watermark", "0, 1"), [daemon])
    world.wait_until_done()
    for offset, words in committed(world).values():
        if not offset or abs(now_ms() - words["w"]) > 5 * MINUTE:
            raise Failure(f"watermark {words} at {offset} after a reset")
    daemon.stop()
    check_timers(world, {})


@scenario(
    "a clock that is ahead of the broker's: no timer is early, events are sent, and timers fire when the clock is right again",
    background=True,
)
def ahead(harness):
    # Only a debug build can be given a wrong time.
    debug_build = harness.require_debug_build()
    world = make_schedule_world(harness, "ahead", partitions=2)
    clock = world.folder / "clock"
    clock.write_text("7200\n")
    start = next_minute(20)
    events, due = orders_due(world, start, 20)
    spread = {"schedule_spread": f"{SPREAD}s"}
    daemon = world.daemon("a", world.settings("a", **spread), binary=debug_build)
    daemon.variables = {"CARILLON_FAULT_CLOCK": str(clock)}
    # What this process commits at its start would silence the timers for two hours.
    commit(world, f"v1 w={start - 60 * MINUTE} n=2 t=0 by=test")
    daemon.start()
    produce(world, events)
    wait_for_daemons("it says so", lambda: daemon.has_line("ahead of the broker", "timers wait"), [daemon])
    world.wait_until_done()
    # It asks the broker again and again, by transactions that leave nothing to read.
    looks = sum(world.cluster.ends(world.topics["journal"], uncommitted=True).values())
    wait_for_daemons(
        "it asks again", lambda: sum(world.cluster.ends(world.topics["journal"], uncommitted=True).values()) > looks + 6, [daemon]
    )
    if early := sent_timers(world):
        raise Failure(f"timers fired two hours early: {list(early)[:3]}")
    if len(world.cluster.read(world.topics["dispatch"])) < len(events):
        raise Failure("events wait for the clock, too")
    clock.write_text("0\n")
    wait_for_daemons("it continues", lambda: daemon.has_line("clock agrees with the broker's"), [daemon])
    wait_for_timers(world, due, start + (SPREAD + 60 * PATIENCE) * 1000)
    daemon.stop()
    check_timers(world, due)


@scenario("with schedule=off the watermark follows the commits: after it is switched on, no timer of the past fires")
def switched_on(harness):
    world = make_schedule_world(harness, "switched-on", partitions=2)
    began, start = now_ms(), (now_ms() - 5 * MINUTE) // MINUTE * MINUTE
    commit(world, f"v1 w={start - MINUTE} n=2 t=0 by=test")
    produce(
        world, [order_event(world, f"over-{index}", world.places[index], start=start, at=start - MINUTE) for index in range(20)]
    )
    daemon = world.started(schedule="off")
    world.wait_until_done()
    daemon.stop()
    for partition, (offset, words) in committed(world).items():
        if words["w"] < began:
            raise Failure(
                f"partition {partition}: watermark {words} at {offset}, and the scheduler was somebody else's until {began}"
            )
    # With this lateness every timer of the last hour would fire, but for the watermark.
    daemon = world.started(**{"schedule.max-lateness": "1h"})
    produce(world, [order_event(world, f"new-{index}", world.places[index]) for index in range(20)])
    world.wait_until_done()
    daemon.stop()
    check_timers(world, {})


@scenario("a watermark ahead of the clock is reported and measured, and `offsets set --watermark` brings the timers back")
def silenced(harness):
    world = make_schedule_world(harness, "silenced", partitions=2)
    # The first reminder is due after the end of the test.
    began = (now_ms() - 5 * MINUTE) // MINUTE * MINUTE
    ahead = now_ms() + 60 * MINUTE
    commit(world, f"v1 w={ahead} n=2 t=0 by=test")
    events = [order_event(world, f"silenced-{index}", world.places[index], start=began + MINUTE, at=began) for index in range(10)]
    due = {(f"silenced-{index}", TYPES[0]): began + MINUTE for index in range(10)}
    produce(world, events)
    address = f"127.0.0.1:{free_port()}"
    daemon = world.started(http=address, session_timeout="6s", **{"schedule.max-lateness": "2h"})

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
    wait_for_daemons("the gauge decreases", lambda: max(lead()) < min(first), [daemon])
    world.wait_until_done()
    daemon.stop()
    if found := sent_timers(world):
        raise Failure(f"timers before the watermark were sent: {list(found)[:3]}")

    settings = world.settings("a", session_timeout="6s")
    refused = harness.command("offsets", "set", "--watermark", iso(began), settings=settings, expected=EXIT_CONFIGURATION)
    if "moves back: 2" not in refused or "--repeat-timers" not in refused:
        raise Failure(f"no plan, or no word of --repeat-timers: {refused}")
    harness.command("offsets", "set", "--watermark", iso(began), "--repeat-timers", settings=settings)
    daemon.start()
    wait_for_timers(world, due, now_ms() + 30_000 * PATIENCE)
    if daemon.has_line("watermark is ahead of the clock") or lead() != [0, 0]:
        raise Failure(f"the watermark is still reported to be ahead: {lead()}")
    daemon.stop()
    if problems := timer_problems(world, due):
        raise Failure("; ".join(sorted(problems)[:5]))


if __name__ == "__main__":
    sys.exit(main("schedule", __doc__, globals() | vars(order_state), sizes=SIZES))
