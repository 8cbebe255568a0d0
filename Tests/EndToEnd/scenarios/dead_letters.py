"""`carillon replay dead-letters` on a real broker: what is mended goes back once, over kills and a second start, and nothing goes
back without both confirmations."""

import base64
import collections
import hashlib
import json
import os
import subprocess
import sys
import tempfile

from generator.inputs import Input, compact
from harness import scenario as scenarios
from harness.cluster import PATIENCE, Failure, wait_for
from harness.daemon import CARILLON, run
from harness.scenario import make_world, scenario, started
from model.partitions import murmur2_partition

USAGE, IN_USE, NOT_IN_TIME, REFUSED = 64, 3, 75, 78
FLAG = "--i-understand-this-notifies-people"
STRICT, LENIENT = {"on-missing-order-id": "dead-letter"}, {"on-missing-order-id": "send"}
COORDINATES = [f"__connect.errors.{name}" for name in ("topic", "partition", "offset")]


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found}, expected {expected}")


def put_back(world, *arguments, expected=0, rules=LENIENT):
    """`carillon replay dead-letters … --json` to its end: the documents that it printed, and what it said."""
    code, output, errors = run(
        "replay", "dead-letters", *arguments, "--json", settings=world.settings("replay", **rules), input=b"", timeout=120
    )
    if code != expected:
        raise Failure(f"dead-letters {' '.join(arguments)} ended with {code}, expected {expected}: {output[-800:]}{errors[-800:]}")
    return [json.loads(line) for line in output.splitlines()], errors


class Running:
    """One that runs beside the test."""

    def __init__(self, world, *arguments):
        self.errors, self.output = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        flags = [flag for key, value in world.settings("replay", **LENIENT).items() for flag in ("--set", f"{key}={value}")]
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [CARILLON, "replay", "dead-letters", *arguments, *flags],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.errors,
            env=os.environ | {"TMPDIR": self.folder.name},
        )

    def kill(self):
        """At once; what it had looked up has left nothing behind."""
        self.process.kill()
        self.process.wait()
        expect("what is left of a killed process", os.listdir(self.folder.name), [])

    def wait(self, expected):
        code = self.process.wait(30 * PATIENCE)
        self.errors.seek(0)
        said = self.errors.read().decode()
        if code != expected:
            raise Failure(f"it ended with {code}, expected {expected}: {said}")
        return said

    def printed(self):
        self.output.seek(0)
        return self.output.read().decode()


def event(number, **order):
    """Without an order id, unless it is given; which a strict pipeline does not take, and a lenient one does."""
    body = {"event_id": f"e{number}", "event_type": "ORDER_CREATED", "order": {"place_id": "p1", "status": "pending"} | order}
    return Input(f"o{number}".encode(), compact(body), [("traceparent", f"00-{number}".encode()), ("none", None)])


def pipeline(world, **rules):
    """A process that has done what is there."""
    daemon = started(world, name=f"d{len(world.daemons)}", **rules)
    wait_until_done(world)
    return daemon


def wait_until_done(world):
    """Until every event is committed. The markers of transactions take offsets behind them that nobody commits."""
    last = {each.partition: each.offset for each in world.cluster.read(world.topics["events"])}
    wait_for("every event is committed", lambda: all(world.committed.get(each, -1) > last[each] for each in last), 30)


def strict_world(name, count, partitions=2):
    """So many dead letters that other rules would take, and three that no rules do."""
    world = make_world(name, partitions=partitions)
    world.subscriptions = []
    world.create_topics()
    token = f"{world.name}-device"
    key = f"place/p1|{hashlib.sha256(token.encode()).hexdigest()}".encode()
    value = {"audience": "place/p1", "token": token, "platform": "fcm", "app": "com.example.shop"}
    world.cluster.produce(world.topics["subscriptions"], [Input(key, compact(value))])
    bad = [Input(b"bad", text) for text in (b"no JSON", b"\xff\x00", b'{"event_type":"NONSENSE","order":{"id":"x"}}')]
    world.cluster.produce(world.topics["events"], [event(number) for number in range(count)] + bad)
    pipeline(world, **STRICT).stop()
    expect("dead letters", len(letters(world)), count + len(bad))
    return world


def letters(world):
    return world.cluster.read(world.topics["dead-letters"])


def returned(world):
    """The events that were put back."""
    return [each for each in world.cluster.read(world.topics["events"]) if "replay-of" in dict(each.headers)]


def check_once(world, count, ids):
    """Each that was put back is there once, as it came: key, value, headers, partition, and where it stood."""
    back = returned(world)
    places = collections.Counter(dict(each.headers)["replay-of"] for each in back)
    expect("events that were put back", (len(back), len(places)), (count, count))
    by_place = {f"{each.topic}/{each.partition}/{each.offset}".encode(): each for each in letters(world)}
    for each in back:
        letter = by_place[dict(each.headers)["replay-of"]]
        reason = dict(letter.headers)
        own = next(index for index, (name, _) in enumerate(letter.headers) if name == "x-error-code")
        expect("key and value", (each.key, each.value), (letter.key, letter.value))
        expect("headers", list(each.headers[:-2]), list(letter.headers[:own]) + [(name, reason[name]) for name in COORDINATES])
        expect("the partition", str(each.partition).encode(), reason[COORDINATES[1]])
        if each.headers[-1] not in [("replay", name.encode()) for name in ids]:
            raise Failure(f"the last header is {each.headers[-1]}")


@scenario(
    "without both confirmations nothing goes back; with them each dead letter that the rules would take goes back once, and is sent"
)
def once():
    count = 12
    world = strict_world("once", count)
    ends = world.ends
    for arguments, code, words in (
        ((), USAGE, FLAG),
        (("--confirm-events", str(count)), USAGE, FLAG),
        ((FLAG,), REFUSED, "--confirm-events"),
        ((FLAG, "--confirm-events", str(count + 1)), REFUSED, "not the number of events"),
        ((FLAG, "--confirm-events", str(count), "--max-events", str(count - 1)), REFUSED, "--max-events"),
        ((FLAG, "--confirm-events", str(count), "--id", "not allowed"), USAGE, "--id"),
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
    daemon = started(world, name="lenient", **LENIENT)
    (_, outcome), _ = put_back(world, FLAG, "--confirm-events", str(count), "--id", "first")
    expect("the outcome", outcome, {"id": "first", "confirmed": count, "put_back": count, "left": {}, "refused": []})
    check_once(world, count, ["first"])
    put_back(world, FLAG, "--confirm-events", str(count), "--id", "first")
    (plan, outcome), _ = put_back(world, FLAG, "--confirm-events", str(count))
    expect("the next one", (plan["events"], plan["left"], outcome["put_back"]), (0, {"put_back": count, "still_dead": 3}, 0))
    put_back(world, FLAG, "--confirm-events", "1", "--id", "first", "--code", "no_place", expected=REFUSED)
    wait_until_done(world)
    daemon.stop()
    check_once(world, count, ["first"])
    sent = world.cluster.read(world.topics["dispatch"])
    expect("pushes", len({dict(each.headers)["source"] for each in sent}), count)
    expect("dead letters afterwards", len(letters(world)), count + 3)


@scenario(
    "killed or stopped in the middle it goes on, and a second start of the same id shuts the first one out: each goes back once",
    background=True,
)
def kills():
    count = 30
    world = strict_world("kills", count)
    arguments = (FLAG, "--confirm-events", str(count), "--id", "k", "--rate", "3")
    running = Running(world, *arguments)
    wait_for("some are put back", lambda: len(returned(world)) >= 6, 30)
    running.kill()
    stopped = Running(world, *arguments)
    wait_for("more are put back", lambda: len(returned(world)) >= 15, 30)
    stopped.process.terminate()
    said = stopped.wait(NOT_IN_TIME)
    if "of 30 events are put back. It goes on with:\n" not in said:
        raise Failure(f"one that was stopped says: {said}")
    first = Running(world, *arguments)
    wait_for("more are put back", lambda: len(returned(world)) >= 22, 30)
    second = Running(world, *arguments)
    said = first.wait(IN_USE)
    if "another process was started with the same --id" not in said:
        raise Failure(f"the first one says: {said}")
    second.wait(0)
    check_once(world, count, ["k"])
    pipeline(world, **LENIENT).stop()
    expect("pushes", len(world.cluster.read(world.topics["dispatch"])), count)


@scenario(
    "values that a person has mended go back with their own keys and headers; what does not fit is refused whole", background=True
)
def repaired():
    world = strict_world("repaired", 2, partitions=1)
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

    file = world.folder / "mended.jsonl"
    mended = [event(100 + number, id=f"m{number}").value for number in range(3)]
    for text, words in (
        (line(json_letter, "still no JSON"), "still invalid_json"),
        (line(json_letter, mended[0], offset=10_000), "no such dead letter"),
        (line(json_letter, mended[0], topic="orders.events"), "line 1 names no record"),
        (line(json_letter, mended[0]) * 2, "again"),
    ):
        file.write_text(text)
        said = put_back(world, FLAG, "--confirm-events", "1", "--repaired", str(file), expected=REFUSED, rules=STRICT)[1]
        if words not in said or "nothing was put back" not in said:
            raise Failure(f"{text!r} is refused with: {said}")
    # Its order goes on meanwhile: what is overtaken stays, unless it is asked for.
    world.cluster.produce(world.topics["events"], [Input(missing.key, event(200, id="o").value)])
    file.write_text(line(json_letter, mended[0].decode()) + "\n" + line(utf8_letter, mended[1]) + line(missing, mended[2]))
    (plan,), _ = put_back(world, "--dry-run", "--repaired", str(file), rules=STRICT)
    expect("the plan", (plan["events"], plan["left"]), (2, {"late": 1}))
    put_back(world, FLAG, "--confirm-events", "2", "--repaired", str(file), rules=STRICT)
    back = returned(world)
    expect("what is back", [(each.key, each.value) for each in back], [(b"bad", mended[0]), (b"bad", mended[1])])
    (plan, _), _ = put_back(world, FLAG, "--confirm-events", "1", "--include-late", "--repaired", str(file), rules=STRICT)
    expect("the late one", (plan["events"], plan["left"]), (1, {"put_back": 2}))
    daemon = pipeline(world, **STRICT)
    sources = {dict(each.headers)["source"] for each in world.cluster.read(world.topics["dispatch"])}
    places = {f"{each.topic}/{each.partition}/{each.offset}".encode() for each in returned(world)}
    expect("the events that were put back and sent", (len(places), places - sources), (3, set()))
    # As a person does it with kcat: with all its headers.
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
    "what changes while it runs stays and is told: an order that gets a newer event, and what somebody writes back by hand",
    background=True,
)
def changed():
    count = 30
    world = strict_world("changed", count)
    mendable = [each for each in letters(world) if dict(each.headers)["x-error-code"] == b"missing_order_id"]
    by_hand, late = sorted(mendable, key=lambda each: (each.partition, each.offset))[-2:]
    running = Running(world, FLAG, "--confirm-events", str(count), "--id", "c", "--rate", "3")
    wait_for("some are put back", lambda: len(returned(world)) >= 3, 30)
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
        "left when their turn came: 1 have been put back before",
        "left when their turn came: 1 whose order has had newer events",
    ):
        if line not in running.printed():
            raise Failure(f"it does not say '{line}': {running.printed()}")
    (outcome,), _ = put_back(world, FLAG, "--confirm-events", str(count), "--id", "c")
    expect("the outcome", (outcome["put_back"], outcome["left"]), (count - 2, {"late": 1, "put_back": 1}))


@scenario(
    "an event that the broker refuses stays where it is and is told; the run goes past it, and so does the next one",
    background=True,
)
def refused():
    count = 7
    world = strict_world("refused", count)
    big = event(300, note=os.urandom(4_000).hex())
    world.cluster.produce(world.topics["events"], [Input(b"o300", big.value), event(301)])
    pipeline(world, **STRICT).stop()
    # Room for a few of the small ones, and not for the big one.
    world.cluster.configure(world.topics["events"], {"max.message.bytes": "4000"})
    (place,) = [f"{each.topic}/{each.partition}/{each.offset}" for each in letters(world) if each.key == b"o300"]
    arguments = (FLAG, "--confirm-events", str(count + 2))
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
    (again,), _ = put_back(world, *arguments, "--id", "r")
    expect("once more", (again["put_back"], again["left"]), (count + 1, {"refused": 1}))
    (_, next_one), _ = put_back(world, FLAG, "--confirm-events", "1")
    expect("the next run", (next_one["put_back"], next_one["left"]), (0, {"refused": 1}))
    world.cluster.configure(world.topics["events"], {"max.message.bytes": "100000", "message.timestamp.before.max.ms": "1"})
    (_, old), _ = put_back(world, FLAG, "--confirm-events", "1")
    expect("where the topic wants no old timestamps", (old["put_back"], old["left"]), (0, {"refused": 1}))
    world.cluster.configure(world.topics["events"], {"message.timestamp.before.max.ms": str(2**63 - 1)})
    (_, last), _ = put_back(world, FLAG, "--confirm-events", "1")
    expect("with room for it", (last["put_back"], last["left"]), (1, {}))


@scenario(
    "after partitions were added, newer events are looked for where a key is now, and what goes back goes there", background=True
)
def partitions():
    count = 12
    world = strict_world("partitions", count, partitions=1)
    topic = world.topics["events"]
    world.cluster.add_partitions(topic, 2)
    world.partitions = 2
    code, _, said = run("offsets", "set", "--accept-partitions", settings=world.settings("replay", **LENIENT))
    expect(f"the end of offsets set ({said})", code, 0)
    (plan,), _ = put_back(world, "--dry-run")
    expect("before there is an event in the new partition", (plan["events"], plan["left"]), (count, {"still_dead": 3}))
    homes = {f"o{number}".encode(): murmur2_partition(f"o{number}".encode(), 2) for number in range(count)}
    moved = [key for key, partition in homes.items() if partition == 1]
    late = moved[0]
    world.cluster.produce(topic, [Input(late, event(200, id="o").value)])
    expect("the partition of the newer event", [each.partition for each in world.cluster.read(topic) if b"e200" in each.value], [1])
    (plan, outcome), _ = put_back(world, FLAG, "--confirm-events", str(count - 1), "--id", "p")
    expect("the plan", (plan["events"], plan["left"]), (count - 1, {"still_dead": 3, "late": 1}))
    expect(
        "what is back, by partition",
        {each.key: each.partition for each in returned(world)},
        {key: partition for key, partition in homes.items() if key != late},
    )
    (plan,), _ = put_back(world, "--dry-run")
    expect("afterwards", (plan["events"], plan["left"]), (0, {"still_dead": 3, "late": 1, "put_back": count - 1}))
    (_, outcome), _ = put_back(world, FLAG, "--confirm-events", "1", "--include-late")
    expect("the late one", outcome["put_back"], 1)
    daemon = pipeline(world, **LENIENT)
    daemon.stop()
    expect("pushes", len({dict(each.headers)["source"] for each in world.cluster.read(world.topics["dispatch"])}), count + 1)


@scenario("where producers do not choose by murmur2, what may have moved with the new partitions stays", background=True)
def elsewhere():
    world = strict_world("elsewhere", 6, partitions=1)
    topic = world.topics["events"]
    world.cluster.add_partitions(topic, 2)
    keys = [f"o{number}".encode() for number in range(6)]
    stray = next(key for key in keys if murmur2_partition(key, 2) == 0)
    world.cluster.produce(topic, [Input(stray, event(200, id="other").value)], 1)
    staying = [key for key in keys if murmur2_partition(key, 2) == 0 and key != stray]
    (plan,), _ = put_back(world, "--dry-run")
    expect("the plan", (plan["events"], plan["left"]), (len(staying), {"still_dead": 3, "late": 1, "moved": 5 - len(staying)}))


@scenario("partitions that are added while it runs end it, and the same id goes on and puts each back once", background=True)
def grows():
    count = 30
    world = strict_world("grows", count, partitions=1)
    arguments = (FLAG, "--confirm-events", str(count), "--id", "g")
    running = Running(world, *arguments, "--rate", "3")
    wait_for("some are put back", lambda: len(returned(world)) >= 3, 30)
    world.cluster.add_partitions(world.topics["events"], 2)
    said = running.wait(REFUSED)
    if "keys have moved; start again with the same --id" not in said:
        raise Failure(f"after partitions were added it says: {said}")
    before = {each.key for each in returned(world)}
    (_, outcome), _ = put_back(world, *arguments)
    expect("the outcome", (outcome["put_back"], outcome["left"]), (count, {}))
    back = collections.Counter(dict(each.headers)["replay-of"] for each in returned(world))
    expect("events that were put back, and how often", (len(back), set(back.values())), (count, {1}))
    expect(
        "where those are that went back afterwards", {each.partition for each in returned(world) if each.key not in before}, {0, 1}
    )


if __name__ == "__main__":
    sys.exit(scenarios.main("dead_letters.py", __doc__))
