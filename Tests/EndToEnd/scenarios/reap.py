"""`carillon deliver reap` on a real broker: dead devices leave the table, and nobody who registers meanwhile does, whoever is
killed or started beside it."""

import json
import sys

from harness.daemon import EXIT_DONE, EXIT_IN_USE, EXIT_REFUSED, EXIT_USAGE
from harness.reaping import (
    HOUR_MS,
    answered,
    committed,
    live,
    make_reaping_world,
    nulls,
    outcome,
    reap,
    reap_beside,
    registered,
    subscribe,
    subscriptions,
)
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, now_ms, wait_for


@scenario("each dead device is taken out of the table, and nobody else: young evidence, refusals and later registrations are not")
def reaped(harness):
    world = make_reaping_world(harness, "reaped")
    both = [registered(number, place) for number in range(8) for place in ("p0", "p1")]
    seen = registered(2, last_seen_at=now_ms())
    # The last one came again to one of its places.
    later = [registered(1, age=HOUR_MS // 2), registered(1, "p1", age=HOUR_MS // 2), registered(3, "p1", age=HOUR_MS // 2)]
    subscribe(world, *both, seen, *later)
    dead = [json.loads(outcome(number)) for number in range(4)]
    answered(world, *(json.dumps(each).encode() for each in dead[:3]), outcome(6, "accepted"))
    answered(
        world,
        json.dumps(dead[3]).encode(),
        outcome(5, "refused", reason="BadDeviceToken", status=400),
        outcome(7, age=4 * HOUR_MS),
        outcome(4, age=HOUR_MS // 12),
        outcome(6, age=2 * HOUR_MS),
        partition=1,
    )
    before = subscriptions(world)
    expected = sorted(
        (each.key, each.partition, f"{dead[number]['evidence']}/{each.offset}")
        for number, place in ((0, "p0"), (0, "p1"), (2, "p1"), (3, "p0"))
        for each in before
        if each.key == registered(number, place)[0].key
    )
    (plan,), _ = reap(world, "--dry-run")
    expect(
        "the plan", (plan["devices"], plan["subscriptions"], [each["app"] for each in plan["rows"]]), (3, 4, ["com.example.shop"])
    )
    expect("the answers", plan["credentials"], [{"credential": "shop", "answers": 6, "dead": 5, "held": False, "waiting": 0}])
    reap(world, expected=EXIT_REFUSED)
    reap(world, "--confirm", "4", expected=EXIT_REFUSED)
    reap(world, "--confirm", "3", "--yes", expected=EXIT_USAGE)
    expect("after a plan and refusals", (len(subscriptions(world)), committed(world)), (len(before), {}))
    (_, done), _ = reap(world, "--yes")
    expect("what was done", done, {"devices": 3, "subscriptions": 4, "restored": 0, "held": [], "has_more": False})
    expect("the nulls", sorted(nulls(world)), expected)
    # Up to the evidence that is too young.
    expect("what is committed", committed(world), {0: (4, "v1"), 1: (3, "v1")})
    expect("who is left", live(world), {each.key for each in before} - {key for key, _, _ in expected})
    reap(world, "--yes")
    expect("nulls after another run", len(nulls(world)), 4)


@scenario("a credential with more than 5 % of its answers waits for a person, and the others do not", background=True)
def held(harness):
    world = make_reaping_world(harness, "held")
    subscribe(world, *(registered(number) for number in range(40)))
    many = [outcome(number, credential="wrong") for number in range(30)]
    # In turns with pushes that were accepted: each dead device may have died by itself.
    accepted = [outcome(0, "accepted", credential="wrong") for _ in range(470)]
    answered(world, outcome(35, "accepted"), *(each for pair in zip(many, accepted) for each in pair), *accepted[30:])
    answered(world, outcome(36, "accepted"), outcome(31), partition=1)
    for _ in range(2):
        _, said = reap(world, "--yes", expected=EXIT_REFUSED)
        if "--confirm 30" not in said:
            raise Failure(f"it says: {said}")
        expect("nulls", len(nulls(world)), 1)
        found = committed(world)
        expect("what is committed", (found[0][0], found[1][0], " h=" in found[0][1]), (1, 2, True))
    # Its share is small now, and it waits all the same.
    answered(world, *(outcome(0, "accepted", credential="wrong") for _ in range(2_000)))
    reap(world, "--yes", expected=EXIT_REFUSED)
    (plan, done), _ = reap(world, "--confirm", "30")
    expect("the plan", [each for each in plan["credentials"] if each["held"]][0]["dead"], 30)
    offset, metadata = committed(world)[0]
    expect("what was done", (done["devices"], len(nulls(world)), offset, metadata[:5]), (30, 31, 2_501, "v1 c="))
    # What was confirmed is not asked again, though it is of the same day.
    answered(world, outcome(32, credential="wrong"), outcome(0, "accepted", credential="wrong"))
    (_, done), _ = reap(world, "--yes")
    expect("what was done after the confirmation", (done["devices"], done["held"]), (1, []))


@scenario(
    "evidence of a credential counts for nothing before something is accepted with it, and a burst asks a person", background=True
)
def doubted(harness):
    world = make_reaping_world(harness, "doubted")
    subscribe(world, *(registered(number) for number in range(700)))
    # Nothing but dead devices; many in a row beside pushes that say nothing about devices; a few before anything is accepted.
    answered(world, *(outcome(number, credential="dead") for number in range(499)))
    answered(world, *(outcome(0, "accepted", credential="changed") for _ in range(2_000)), partition=1)
    answered(world, *(outcome(number, credential="changed") for number in range(500, 600)), partition=1)
    answered(world, *(outcome(0, "gave_up", credential="changed") for _ in range(1_150)), partition=1)
    answered(world, *(outcome(number, credential="new") for number in range(600, 605)), partition=1)
    for _ in range(2):
        (plan, done), said = reap(world, "--yes", expected=EXIT_REFUSED)
        expect("what was done", (done["devices"], done["held"], len(nulls(world))), (0, ["changed", "dead"], 0))
        waiting = {each["credential"]: each["waiting"] for each in plan["credentials"]}
        expect("what waits", waiting, {"dead": 499, "changed": 0, "new": 5})
        if "--confirm 604" not in said:
            raise Failure(f"it says: {said}")
    answered(world, outcome(650, "accepted", credential="new"))
    (_, done), _ = reap(world, "--yes", expected=EXIT_REFUSED)
    expect("after something was accepted", (done["devices"], done["held"]), (5, ["changed", "dead"]))


def registering(world, number):
    """A transaction of somebody else, open, in which a dead device registers again. Nobody reads past it."""
    producer = world.cluster.producer(**{"transactional.id": f"{world.name}-backend"})
    producer.init_transactions(30)
    producer.begin_transaction()
    record, time = registered(number, age=0)
    producer.produce(world.topics["subscriptions"], key=record.key, value=record.value, timestamp=time)
    producer.flush(30)
    return producer, record


def wait_until_written(world, process):
    """Its nulls are committed, and it waits for the other transaction to verify them."""

    def is_unverified():
        process.expect_running()
        return any(" u=" in metadata for _, metadata in committed(world).values())

    wait_for("nulls are written and not verified", is_unverified, 30)


def check_restored(world, record, evidence):
    """The registration was written again, once, and everything is verified."""
    versions = [each for each in subscriptions(world) if each.key == record.key]
    expect("the versions", [each.value for each in versions[1:]], [record.value, None, record.value])
    expect("the last one's header", dict(versions[-1].headers), {"dead": f"{evidence}/{versions[1].offset}".encode()})
    expect("the last one's time", versions[-1].timestamp, versions[1].timestamp)
    expect("the metadata", {metadata for _, metadata in committed(world).values()}, {"v1"})


def dead_and_back(harness, name):
    """One device is dead, and one that was registers again while a reaper is between its nulls and their verification."""
    world = make_reaping_world(harness, name)
    subscribe(world, registered(0), registered(1))
    dead = [outcome(0), outcome(1)]
    answered(world, *dead, outcome(2, "accepted"))
    backend, record = registering(world, 0)
    first = reap_beside(world)
    wait_until_written(world, first)
    return world, backend, record, first, json.loads(dead[0])["evidence"]


@scenario("killed between write and verification while a device registers, the next one writes that again", background=True)
def killed(harness):
    world, backend, record, first, evidence = dead_and_back(harness, "killed")
    first.kill()
    backend.commit_transaction(30)
    expect("who is subscribed", live(world), set())
    (_, done), _ = reap(world, "--yes")
    expect("what was done", (done["subscriptions"], done["restored"]), (0, 1))
    check_restored(world, record, evidence)
    expect("who is subscribed in the end", live(world), {record.key})


@scenario("a second reaper takes over from the first, which ends without a further write", background=True)
def taken_over(harness):
    world, backend, record, first, evidence = dead_and_back(harness, "taken-over")
    second = reap_beside(world, "--log-level", "debug")
    wait_for("the second one has taken over", lambda: "has taken over" in second.said(), 30)
    backend.commit_transaction(30)
    said = first.wait(EXIT_IN_USE)
    if "another reaper" not in said:
        raise Failure(f"the first one says: {said}")
    second.wait(EXIT_DONE)
    check_restored(world, record, evidence)


@scenario("two that start at once delete each dead device once", background=True)
def at_once(harness):
    world = make_reaping_world(harness, "at-once")
    subscribe(world, *(registered(number) for number in range(50)))
    answered(world, *(outcome(number) for number in range(10)), outcome(30, "accepted"))
    both = [reap_beside(world) for _ in range(2)]
    codes = sorted(each.process.wait(90) for each in both)
    if codes not in ([EXIT_DONE, EXIT_DONE], [EXIT_DONE, EXIT_IN_USE]):
        raise Failure(f"they ended with {codes}: {[each.said() for each in both]}")
    expect("nulls", (len(nulls(world)), len({key for key, _, _ in nulls(world)}), len(live(world))), (10, 10, 40))
    expect("the metadata", {metadata for _, metadata in committed(world).values()}, {"v1"})


if __name__ == "__main__":
    sys.exit(main("reap", __doc__, globals()))
