"""`carillon replay dead-letters` on a real broker: what can be processed now is put back once, over kills and a second start, and
nothing is put back without both confirmations."""

import base64
import collections
import json
import os
import random
import sys

from generator.inputs import Input
from harness.daemon import EXIT_IN_USE, EXIT_NOT_IN_TIME, EXIT_REFUSED, EXIT_USAGE
from harness.put_back import (
    COORDINATES,
    LENIENT,
    STRICT,
    check_once,
    event,
    letters,
    pipeline,
    put_back,
    put_back_beside,
    returned,
    strict_world,
    wait_for_returned,
    wait_until_done,
)
from harness.replaying import CONFIRMATION
from harness.scenario import main, scenario
from harness.waiting import Failure, expect
from model.partitions import murmur2_partition
from scenarios import dead_letters_of_requests


@scenario(
    "without both confirmations nothing is put back; with them each dead letter that the rules take now is, once, and is sent"
)
def once(harness):
    count = 12
    world = strict_world(harness, "once", count)
    ends = world.ends
    for arguments, code, words in (
        ((), EXIT_USAGE, CONFIRMATION),
        (("--confirm", str(count)), EXIT_USAGE, CONFIRMATION),
        ((CONFIRMATION,), EXIT_REFUSED, "--confirm"),
        ((CONFIRMATION, "--confirm", str(count + 1)), EXIT_REFUSED, "not the number of events"),
        ((CONFIRMATION, "--confirm", str(count), "--most", str(count - 1)), EXIT_REFUSED, "--most"),
        ((CONFIRMATION, "--confirm", str(count), "--id", "not allowed"), EXIT_USAGE, "--id"),
    ):
        said = put_back(world, *arguments, expected=code)[1]
        if words not in said:
            raise Failure(f"dead-letters {' '.join(arguments)} says: {said}")
    (plan,), _ = put_back(world, "--dry-run", rules=STRICT)
    expect(
        "by the old rules",
        (plan["events"], plan["left"], plan["still_dead"]),
        (0, {"still_dead": count + 3}, {"missing_order_id": count, "invalid_json": 1, "invalid_utf8": 1, "unknown_type": 1}),
    )
    (plan,), _ = put_back(world, "--dry-run")
    expect(
        "by the new rules",
        (plan["events"], plan["by_code"]["missing_order_id"], plan["left"], plan["by_type"]),
        (count, {"dead_letters": count, "put_back": count}, {"still_dead": 3}, {"event_order_created": count}),
    )
    (plan,), _ = put_back(world, "--dry-run", "--max-age", "1s", "--code", "missing_order_id")
    expect("too old", (plan["events"], plan["left"]), (0, {"too_old": count}))
    expect("the ends of the events", world.ends, ends)
    daemon = world.started(name="lenient", **LENIENT)
    (_, outcome), _ = put_back(world, CONFIRMATION, "--confirm", str(count), "--id", "first")
    expect("the outcome", outcome, {"id": "first", "confirmed": count, "put_back": count, "left": {}, "refused": []})
    check_once(world, count, ["first"])
    put_back(world, CONFIRMATION, "--confirm", str(count), "--id", "first")
    (plan, outcome), _ = put_back(world, CONFIRMATION, "--confirm", str(count))
    expect("the next one", (plan["events"], plan["left"], outcome["put_back"]), (0, {"put_back": count, "still_dead": 3}, 0))
    put_back(world, CONFIRMATION, "--confirm", "1", "--id", "first", "--code", "no_place")
    wait_until_done(world)
    daemon.stop()
    check_once(world, count, ["first"])
    sent = world.cluster.read(world.topics["dispatch"])
    expect("pushes", len({dict(each.headers)["source"] for each in sent}), count)
    expect("dead letters afterwards", len(letters(world)), count + 3)


@scenario(
    "killed or stopped it continues, and a second start of the same id fences the first one: each event is put back once",
    background=True,
)
def kills(harness):
    # So many that the first process has some left for as long as the second one takes to come.
    count = 80
    world = strict_world(harness, "kills", count)
    # An id is the cluster's, not the world's.
    arguments = (CONFIRMATION, "--confirm", str(count), "--id", world.name)
    running = put_back_beside(world, *arguments, "--rate", "3")
    wait_for_returned(world, 6, running)
    running.kill()
    expect("what a killed process has left behind", os.listdir(running.folder.name), [])
    stopped = put_back_beside(world, *arguments, "--rate", "3")
    wait_for_returned(world, 15, stopped)
    stopped.process.terminate()
    said = stopped.wait(EXIT_NOT_IN_TIME)
    if f"of {count} events were put back. Resume with:\n" not in said:
        raise Failure(f"one that was stopped says: {said}")
    first = put_back_beside(world, *arguments, "--rate", "3")
    wait_for_returned(world, 22, first)
    second = put_back_beside(world, *arguments)
    said = first.wait(EXIT_IN_USE)
    if "another process was started with the same --id" not in said:
        raise Failure(f"the first one says: {said}")
    second.wait(0)
    check_once(world, count, [world.name])
    pipeline(world, **LENIENT).stop()
    expect("pushes", len(world.cluster.read(world.topics["dispatch"])), count)


@scenario(
    "values that a person has repaired are put back with their own keys and headers; a file with a mistake is refused as a whole",
    background=True,
)
def repaired(harness):
    world = strict_world(harness, "repaired", 2, partitions=1)
    by_code = {dict(each.headers)["x-error-code"].decode(): each for each in letters(world)}
    json_letter, utf8_letter, missing = by_code["invalid_json"], by_code["invalid_utf8"], by_code["missing_order_id"]

    def line(letter, value, **more):
        members = {"topic": letter.topic, "partition": letter.partition, "offset": letter.offset, "key": "another"}
        return (
            json.dumps(
                members
                | ({"payload": value} if isinstance(value, str) else {"payload_base64": base64.b64encode(value).decode()})
                | more
            )
            + "\n"
        )

    file = world.folder / "repaired.jsonl"
    repaired_values = [event(100 + number, id=f"m{number}").value for number in range(3)]
    for text, words in (
        (line(json_letter, "still no JSON"), "still invalid_json"),
        (line(json_letter, repaired_values[0], offset=10_000), "no such dead letter"),
        (line(json_letter, repaired_values[0], topic="orders.events"), "line 1 names no record"),
        (line(json_letter, repaired_values[0]) * 2, "again"),
    ):
        file.write_text(text)
        said = put_back(world, CONFIRMATION, "--confirm", "1", "--repaired", str(file), expected=EXIT_REFUSED, rules=STRICT)[1]
        if words not in said or "nothing was put back" not in said:
            raise Failure(f"{text!r} is refused with: {said}")
    # The order gets a newer event meanwhile: then its dead letter stays, unless late ones are asked for.
    world.cluster.produce(world.topics["events"], [Input(missing.key, event(200, id="o").value)])
    file.write_text(
        line(json_letter, repaired_values[0].decode())
        + "\n"
        + line(utf8_letter, repaired_values[1])
        + line(missing, repaired_values[2])
    )
    (plan,), _ = put_back(world, "--dry-run", "--repaired", str(file), rules=STRICT)
    expect("the plan", (plan["events"], plan["left"]), (2, {"late": 1}))
    put_back(world, CONFIRMATION, "--confirm", "2", "--repaired", str(file), rules=STRICT)
    back = returned(world)
    expect("what is back", [(each.key, each.value) for each in back], [(b"bad", repaired_values[0]), (b"bad", repaired_values[1])])
    (plan, _), _ = put_back(world, CONFIRMATION, "--confirm", "1", "--include-late", "--repaired", str(file), rules=STRICT)
    expect("the late one", (plan["events"], plan["left"]), (1, {"put_back": 2}))
    daemon = pipeline(world, **STRICT)
    sources = {dict(each.headers)["source"] for each in world.cluster.read(world.topics["dispatch"])}
    places = {each.source.encode() for each in returned(world)}
    expect("the events that were put back and sent", (len(places), places - sources), (3, set()))
    # As a person does it with kcat, with all its headers.
    (other,) = [
        each for each in letters(world) if dict(each.headers)["x-error-code"] == b"missing_order_id" and each.key != missing.key
    ]
    world.cluster.produce(
        world.topics["events"], [Input(other.key, other.value, other.headers)], int(dict(other.headers)[COORDINATES[1]])
    )
    wait_until_done(world)
    daemon.stop()
    (plan,), _ = put_back(world, "--dry-run", "--code", "missing_order_id")
    expect("what was written back by hand, and has failed again", (plan["events"], plan["left"]), (1, {"put_back": 2}))


@scenario(
    "what changes while it runs stays and is counted: an order that gets a newer event, and what somebody writes back by hand",
    background=True,
)
def changed(harness):
    count = 30
    world = strict_world(harness, "changed", count)
    repairable = [each for each in letters(world) if dict(each.headers)["x-error-code"] == b"missing_order_id"]
    by_hand, late = sorted(repairable, key=lambda each: (each.partition, each.offset))[-2:]
    running = put_back_beside(world, CONFIRMATION, "--confirm", str(count), "--id", "c", "--rate", "3")
    wait_for_returned(world, 3, running)
    world.cluster.produce(
        world.topics["events"], [Input(late.key, event(200, id="o").value)], int(dict(late.headers)[COORDINATES[1]])
    )
    world.cluster.produce(
        world.topics["events"], [Input(by_hand.key, by_hand.value, by_hand.headers)], int(dict(by_hand.headers)[COORDINATES[1]])
    )
    running.wait(0)
    check_once(world, count - 2, ["c"])
    for line in (
        f"Put {count - 2} events back",
        "left when their turn came: 1 were put back before",
        "left when their turn came: 1 whose order has newer events",
    ):
        if line not in running.printed():
            raise Failure(f"it does not say '{line}': {running.printed()}")
    (outcome,), _ = put_back(world, CONFIRMATION, "--confirm", str(count), "--id", "c")
    expect("once more", (outcome["put_back"], outcome["left"]), (count - 2, {}))


@scenario(
    "an event that the broker refuses stays where it is and is named; the run continues after it, and so does the next one",
    background=True,
)
def refused(harness):
    count = 7
    world = strict_world(harness, "refused", count)
    big = event(300, note=random.Random(harness.seed).randbytes(4_000).hex())
    world.cluster.produce(world.topics["events"], [Input(b"o300", big.value), event(301)])
    pipeline(world, **STRICT).stop()
    # Room for a few of the small ones, and not for the big one.
    world.cluster.configure(world.topics["events"], {"max.message.bytes": "4000"})
    (place,) = [each.source for each in letters(world) if each.key == b"o300"]
    arguments = (CONFIRMATION, "--confirm", str(count + 2))
    (plan, outcome), _ = put_back(world, *arguments, "--id", "r")
    expect("the plan", plan["events"], count + 2)
    expect(
        "the outcome",
        (outcome["put_back"], outcome["left"], [each["at"] for each in outcome["refused"]]),
        (count + 1, {"refused": 1}, [place]),
    )
    if "MSG_SIZE_TOO_LARGE" not in outcome["refused"][0]["reason"]:
        raise Failure(f"the reason is: {outcome['refused']}")
    check_once(world, count + 1, ["r"])
    (_, again), _ = put_back(world, *arguments, "--id", "r")
    expect("once more", (again["put_back"], again["left"]), (count + 1, {"refused": 1}))
    (_, next_one), _ = put_back(world, CONFIRMATION, "--confirm", "1")
    expect("the next run", (next_one["put_back"], next_one["left"]), (0, {"refused": 1}))
    # The dead letter is older by now. A limit of a few milliseconds would also refuse the markers that end transactions.
    world.cluster.configure(world.topics["events"], {"max.message.bytes": "100000", "message.timestamp.before.max.ms": "2000"})
    (_, old), _ = put_back(world, CONFIRMATION, "--confirm", "1")
    expect("where the topic wants no old timestamps", (old["put_back"], old["left"]), (0, {"refused": 1}))
    world.cluster.configure(world.topics["events"], {"message.timestamp.before.max.ms": str(2**63 - 1)})
    (_, last), _ = put_back(world, CONFIRMATION, "--confirm", "1")
    expect("with room for it", (last["put_back"], last["left"]), (1, {}))


@scenario(
    "after partitions were added, newer events are looked for where a key is now, and events are put back there", background=True
)
def partitions(harness):
    count = 12
    world = strict_world(harness, "partitions", count, partitions=1)
    topic = world.topics["events"]
    world.cluster.add_partitions(topic, 2)
    world.partitions = 2
    code, _, said = harness.run("offsets", "set", "--accept-partitions", settings=world.settings("replay", **LENIENT))
    expect(f"the end of offsets set ({said})", code, 0)
    (plan,), _ = put_back(world, "--dry-run")
    expect("before there is an event in the new partition", (plan["events"], plan["left"]), (count, {"still_dead": 3}))
    homes = {f"o{number}".encode(): murmur2_partition(f"o{number}".encode(), 2) for number in range(count)}
    moved = [key for key, partition in homes.items() if partition == 1]
    late = moved[0]
    world.cluster.produce(topic, [Input(late, event(200, id="o").value)])
    expect("the partition of the newer event", [each.partition for each in world.cluster.read(topic) if b"e200" in each.value], [1])
    (plan, outcome), _ = put_back(world, CONFIRMATION, "--confirm", str(count - 1), "--id", "p")
    expect("the plan", (plan["events"], plan["left"]), (count - 1, {"still_dead": 3, "late": 1}))
    expect(
        "what is back, by partition",
        {each.key: each.partition for each in returned(world)},
        {key: partition for key, partition in homes.items() if key != late},
    )
    (plan,), _ = put_back(world, "--dry-run")
    expect("afterwards", (plan["events"], plan["left"]), (0, {"still_dead": 3, "late": 1, "put_back": count - 1}))
    (_, outcome), _ = put_back(world, CONFIRMATION, "--confirm", "1", "--include-late")
    expect("the late one", outcome["put_back"], 1)
    daemon = pipeline(world, **LENIENT)
    daemon.stop()
    expect("pushes", len({dict(each.headers)["source"] for each in world.cluster.read(world.topics["dispatch"])}), count + 1)


@scenario("where producers do not choose by murmur2, what may have moved with the new partitions stays", background=True)
def elsewhere(harness):
    world = strict_world(harness, "elsewhere", 6, partitions=1)
    topic = world.topics["events"]
    world.cluster.add_partitions(topic, 2)
    keys = [f"o{number}".encode() for number in range(6)]
    stray = next(key for key in keys if murmur2_partition(key, 2) == 0)
    world.cluster.produce(topic, [Input(stray, event(200, id="other").value)], 1)
    staying = [key for key in keys if murmur2_partition(key, 2) == 0 and key != stray]
    (plan,), _ = put_back(world, "--dry-run")
    expect("the plan", (plan["events"], plan["left"]), (len(staying), {"still_dead": 3, "late": 1, "moved": 5 - len(staying)}))


@scenario(
    "partitions that are added while it runs end it, and the same id continues and puts each event back once", background=True
)
def grows(harness):
    count = 30
    world = strict_world(harness, "grows", count, partitions=1)
    arguments = (CONFIRMATION, "--confirm", str(count), "--id", "g")
    running = put_back_beside(world, *arguments, "--rate", "3")
    wait_for_returned(world, 3, running)
    world.cluster.add_partitions(world.topics["events"], 2)
    said = running.wait(EXIT_REFUSED)
    if "keys have moved; start again with the same --id" not in said:
        raise Failure(f"after partitions were added it says: {said}")
    before = {each.key for each in returned(world)}
    (_, outcome), _ = put_back(world, *arguments)
    expect("the outcome", (outcome["put_back"], outcome["left"]), (count, {}))
    back = collections.Counter(dict(each.headers)["replay-of"] for each in returned(world))
    expect("events that were put back, and how often", (len(back), set(back.values())), (count, {1}))
    expect(
        "where the events are that were put back afterwards",
        {each.partition for each in returned(world) if each.key not in before},
        {0, 1},
    )


@scenario(
    "where retention may have removed what an id has put back, the id is refused and puts nothing back again", background=True
)
def removed(harness):
    # More than are back before it is killed.
    count = 40
    world = strict_world(harness, "removed", count)
    arguments = (CONFIRMATION, "--confirm", str(count), "--id", world.name)
    running = put_back_beside(world, *arguments, "--rate", "3")
    wait_for_returned(world, 6, running)
    running.kill()
    before = returned(world)
    for partition, end in world.ends.items():
        world.cluster.delete_records(world.topics["events"], partition, end)
    said = put_back(world, *arguments, expected=EXIT_REFUSED)[1]
    if "may be among them" not in said or "another --id" not in said:
        raise Failure(f"where the events of an id are gone it says: {said}")

    def places(records):
        return {dict(each.headers)["replay-of"] for each in records}

    # A transaction that was open at the kill may have ended since.
    expect("what was put back again", places(before) & places(returned(world)), set())


if __name__ == "__main__":
    sys.exit(main("dead-letters", __doc__, globals() | vars(dead_letters_of_requests)))
