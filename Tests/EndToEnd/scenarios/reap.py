"""`carillon deliver reap` and the registrar on a real broker: dead devices leave the table, and nobody who registers meanwhile
does, whoever is killed or started beside it."""

import json
import sys

from generator.commands import command
from harness.daemon import EXIT_DONE, EXIT_REFUSED, EXIT_USAGE, wait_for_daemons
from harness.reaping import (
    HOUR_MS,
    answered,
    committed,
    live,
    nulls,
    outcome,
    reap,
    reap_beside,
    registered,
    subscribe,
    subscriptions,
    token,
)
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, now_ms
from scenarios.registrar import RegistrarWorld, register


def make_world(harness, name):
    """The topics of a registrar, and outcomes. A subscription's time is that of whoever writes it."""
    world = RegistrarWorld(harness, f"reap-{name}")
    world.topics["deliveries"] = f"{world.name}.deliveries"
    world.cluster.create_topics({world.topics["deliveries"]: (2, {})})
    return world


def told(world):
    """The commands that are there."""
    return [json.loads(each.value) for each in world.read("commands")]


def state(world, device):
    """What the newest record of a device says of its address."""
    states = [json.loads(each.value)["address"] for each in world.read("devices") if each.key == device.encode()]
    return states[-1]["state"], states[-1].get("reason")


@scenario("each dead device is taken out, and nobody else: young evidence, refusals and later registrations are not")
def reaped(harness):
    world = make_world(harness, "reaped")
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
    keys = [registered(number, place)[0].key for number, place in ((0, "p0"), (0, "p1"), (2, "p1"), (3, "p0"))]
    expected = sorted((key, dead[int(number)]["evidence"]) for key, number in zip(keys, "0023"))
    (plan,), _ = reap(world, "--dry-run")
    rows = [{"platform": "fcm", "app": "", "credential": "shop", "devices": 5}]
    expect("the plan", (plan["devices"], plan["rows"]), (5, rows))
    expect("the answers", plan["credentials"], [{"credential": "shop", "answers": 6, "dead": 5, "held": False, "waiting": 0}])
    reap(world, expected=EXIT_REFUSED)
    reap(world, "--confirm", "4", expected=EXIT_REFUSED)
    reap(world, "--confirm", "5", "--yes", expected=EXIT_USAGE)
    expect("after a plan and refusals", (told(world), committed(world)), ([], {}))
    (_, done), _ = reap(world, "--yes")
    expect("what was done", done, {"devices": 5, "held": [], "has_more": False})
    # Up to the evidence that is too young.
    expect("what is committed", committed(world), {0: (4, "v1"), 1: (3, "v1")})
    expect("who has told it", {each["by"] for each in told(world)}, {"sender"})
    registrar = world.registrar("a").start()
    world.wait_until_decided()
    expect("the nulls", sorted((key, evidence) for key, evidence, _ in nulls(world)), expected)
    expect("who is left", live(world), {each.key for each in before} - set(keys))
    expect("verdicts", [each["verdict"] for each in world.verdicts()].count("changed"), 3)
    reap(world, "--yes")
    world.wait_until_decided()
    expect("nulls after another run", (len(told(world)), len(nulls(world))), (5, 4))
    registrar.stop()


@scenario("a device of the registrar is dead by a provider's word, and its next start revives it", background=True)
def revived(harness):
    world = make_world(harness, "revived")
    registrar = world.registrar("a").start()
    phones = [register(f"installation-000{number}", token(number), "place/7", person="17") for number in range(2)]
    world.send(*phones)
    world.wait_until_decided()
    everybody = live(world)
    # Evidence after the one was seen, and before the other was: the reaper would wait ten minutes.
    bury = {"by": "sender", "action": "bury_address", "platform": "fcm", "reason": "UNREGISTERED"}
    hashes = [json.loads(outcome(number))["device"] for number in range(2)]
    world.send(*(command(address_sha256=each, at=now_ms() + at, **bury) for each, at in zip(hashes, (1_000, -HOUR_MS))))
    world.wait_until_decided()
    expect("verdicts", [each["verdict"] for each in world.verdicts()], ["created"] * 2 + ["changed", "gone"])
    expect("the one that is dead", state(world, "installation-0000"), ("dead", "UNREGISTERED"))
    expect("the one that was seen since", state(world, "installation-0001"), ("live", None))
    expect("who is left", {key.decode().rpartition("|")[2] for key in live(world)}, {hashes[1]})
    world.verify()
    world.send(phones[0])
    world.wait_until_decided()
    expect("its next start", (state(world, "installation-0000")[0], live(world) == everybody), ("live", True))
    registrar.stop()
    world.verify()


@scenario("a credential with more than 5 % of its answers waits for a person, and the others do not", background=True)
def held(harness):
    world = make_world(harness, "held")
    subscribe(world, *(registered(number) for number in range(40)))
    registrar = world.registrar("a").start()
    many = [outcome(number, credential="wrong") for number in range(30)]
    # In turns with pushes that were accepted: each dead device may have died by itself.
    accepted = [outcome(0, "accepted", credential="wrong") for _ in range(470)]
    answered(world, outcome(35, "accepted"), *(each for pair in zip(many, accepted) for each in pair), *accepted[30:])
    answered(world, outcome(36, "accepted"), outcome(31), partition=1)
    for _ in range(2):
        _, said = reap(world, "--yes", expected=EXIT_REFUSED)
        if "--confirm 30" not in said:
            raise Failure(f"it says: {said}")
        world.wait_until_decided()
        expect("nulls", len(nulls(world)), 1)
        found = committed(world)
        expect("what is committed", (found[0][0], found[1][0], " h=" in found[0][1]), (1, 2, True))
    # Its share is small now, and it waits all the same.
    answered(world, *(outcome(0, "accepted", credential="wrong") for _ in range(2_000)))
    reap(world, "--yes", expected=EXIT_REFUSED)
    (plan, done), _ = reap(world, "--confirm", "30")
    expect("the plan", [each for each in plan["credentials"] if each["held"]][0]["dead"], 30)
    world.wait_until_decided()
    offset, metadata = committed(world)[0]
    expect("what was done", (done["devices"], len(nulls(world)), offset, metadata[:5]), (30, 31, 2_501, "v1 c="))
    # What was confirmed is not asked again, though it is of the same day.
    answered(world, outcome(32, credential="wrong"), outcome(0, "accepted", credential="wrong"))
    (_, done), _ = reap(world, "--yes")
    expect("what was done after the confirmation", (done["devices"], done["held"]), (1, []))
    world.wait_until_decided()
    expect("who is left", len(live(world)), 8)
    registrar.stop()


@scenario(
    "evidence of a credential counts for nothing before something is accepted with it, and a burst asks a person", background=True
)
def doubted(harness):
    world = make_world(harness, "doubted")
    # Nothing but dead devices; many in a row beside pushes that say nothing about devices; a few before anything is accepted.
    answered(world, *(outcome(number, credential="dead") for number in range(499)))
    answered(world, *(outcome(0, "accepted", credential="changed") for _ in range(2_000)), partition=1)
    answered(world, *(outcome(number, credential="changed") for number in range(500, 600)), partition=1)
    answered(world, *(outcome(0, "gave_up", credential="changed") for _ in range(1_150)), partition=1)
    answered(world, *(outcome(number, credential="new") for number in range(600, 605)), partition=1)
    for _ in range(2):
        (plan, done), said = reap(world, "--yes", expected=EXIT_REFUSED)
        expect("what was done", (done["devices"], done["held"], told(world)), (0, ["changed", "dead"], []))
        waiting = {each["credential"]: each["waiting"] for each in plan["credentials"]}
        expect("what waits", waiting, {"dead": 499, "changed": 0, "new": 5})
        if "--confirm 604" not in said:
            raise Failure(f"it says: {said}")
    answered(world, outcome(650, "accepted", credential="new"))
    (_, done), _ = reap(world, "--yes", expected=EXIT_REFUSED)
    expect("after something was accepted", (done["devices"], done["held"]), (5, ["changed", "dead"]))


@scenario("without topic.commands it says what to set, and a dry run shows who is dead", background=True)
def nobody_decides(harness):
    world = make_world(harness, "nobody")
    answered(world, outcome(0), outcome(1, "accepted"))
    commands = world.topics.pop("commands")
    (plan,), _ = reap(world, "--dry-run")
    expect("the plan", plan["devices"], 1)
    _, said = reap(world, "--yes", expected=EXIT_REFUSED)
    if "topic.commands is not set, so that dead devices stay subscribed" not in said:
        raise Failure(f"it says: {said}")
    world.topics["commands"] = commands
    expect("what was written", (told(world), committed(world)), ([], {}))


def registering(world, number):
    """A transaction of somebody else, open, in which a dead device registers again. Nobody reads past it."""
    producer = world.cluster.producer(**{"transactional.id": f"{world.name}-backend"})
    producer.init_transactions(30)
    producer.begin_transaction()
    record, time = registered(number, age=0)
    producer.produce(world.topics["subscriptions"], key=record.key, value=record.value, timestamp=time)
    producer.flush(30)
    return producer, record


def dead_and_back(harness, name, is_killed):
    """One device is dead, and one that was registers again before the registrar's null, which has not read of it."""
    world = make_world(harness, name)
    subscribe(world, registered(0), registered(1))
    dead = [outcome(0), outcome(1)]
    answered(world, *dead, outcome(2, "accepted"))
    registrar = world.registrar("a").start()
    world.send(register("installation-0001", "another-token", "place/7"))
    world.wait_until_decided()
    others = live(world) - {registered(number)[0].key for number in range(2)}
    backend, record = registering(world, 0)
    reap(world, "--yes")
    wait_for_daemons("both are decided", lambda: world.decided() >= 3, [registrar])
    if is_killed:
        registrar.kill()
        registrar = world.registrar("b").start()
    backend.commit_transaction(30)
    wait_for_daemons("it is written again", lambda: live(world) == {record.key, *others}, [registrar])
    registrar.stop()
    versions = [each for each in subscriptions(world) if each.key == record.key]
    expect("the versions", [each.value for each in versions[1:]], [record.value, None, record.value])
    headers = dict(versions[-1].headers)
    evidence = json.loads(dead[0])["evidence"]
    expect("the last one's header", headers["dead"], f"{evidence}/{versions[1].offset + 1}".encode())
    expect("the last one's time", versions[-1].timestamp, versions[1].timestamp)
    # What a registrar without a table finds is right.
    other = world.registrar("c").start()
    world.send(register("installation-0001", "another-token", "place/8"))
    world.wait_until_decided()
    other.stop()
    expect("the versions in the end", len([each for each in subscriptions(world) if each.key == record.key]), len(versions))


@scenario("who registers before the registrar's null, and is read of after it, is written again", background=True)
def restored(harness):
    dead_and_back(harness, "restored", is_killed=False)


@scenario("also by another registrar, where the one that wrote the null was killed before it had read of it", background=True)
def restored_by_another(harness):
    dead_and_back(harness, "restored-by-another", is_killed=True)


@scenario("reapers and registrars that are killed, and several at once, lose no dead device and nobody who is not", background=True)
def killed(harness):
    world = make_world(harness, "killed")
    subscribe(world, *(registered(number) for number in range(60)))
    registrars = [world.registrar(name).start() for name in ("a", "b")]
    for turn in range(4):
        # Each of them may have died by itself.
        numbers = range(10 * turn, 10 * turn + 10)
        accepted = [outcome(59, "accepted")] * 25
        answered(world, *(each for number in numbers for each in (outcome(number), *accepted)), partition=turn % 2)
        reapers = [reap_beside(world) for _ in range(3)]
        registrars[turn % 2].kill()
        # Some of them are back: their evidence is older.
        back = [registered(number, age=0) for number in numbers if number % 3 == 0]
        subscribe(world, *back)
        reapers[turn % 3].kill()
        registrars[turn % 2].start()
        for each in reapers:
            each.process.wait(90)
    reap(world, "--yes")
    world.wait_until_decided(90)
    expected = {registered(number)[0].key for number in range(60) if number >= 40 or number % 3 == 0}
    wait_for_daemons("the dead ones are gone, and nobody else", lambda: live(world) == expected, registrars, 60)
    for each in registrars:
        each.stop()
    expect("the metadata", {metadata for _, metadata in committed(world).values()}, {"v1"})
    expect("verdicts of all commands", len(world.verdicts()), len(told(world)))


@scenario("two that start at once tell of each dead device, and it is taken out once", background=True)
def at_once(harness):
    world = make_world(harness, "at-once")
    subscribe(world, *(registered(number) for number in range(50)))
    answered(world, *(outcome(number) for number in range(10)), outcome(30, "accepted"))
    registrar = world.registrar("a").start()
    both = [reap_beside(world) for _ in range(2)]
    for each in both:
        each.wait(EXIT_DONE, 90)
    world.wait_until_decided()
    expect("nulls", (len(nulls(world)), len({key for key, _, _ in nulls(world)}), len(live(world))), (10, 10, 40))
    expect("the metadata", {metadata for _, metadata in committed(world).values()}, {"v1"})
    expect("commands, once or twice", len(told(world)) in (10, 20), True)
    registrar.stop()


if __name__ == "__main__":
    sys.exit(main("reap", __doc__, globals()))
