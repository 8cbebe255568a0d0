"""`carillon replay` on a real broker: what was sent under faults is rendered again byte for byte, what was changed is found, and
who was subscribed is known as long as the log says it."""

import argparse
import collections
import hashlib
import json
import random
import sys
import time

from generator.inputs import Input, compact
from harness import scenario as scenarios
from harness.cluster import Failure, pause, wait_for
from harness.daemon import CARILLON_DEBUG, run, wait_for_daemons
from harness.scenario import command, make_world, scenario, started

MINUTE = 60_000
# Timers go over some seconds, so that there is something to disturb.
SPREAD = "5s"
DIFFERENCE, APPROXIMATE, REFUSED = 1, 2, 78
# Of the first scenario; larger by --events and --rate.
size = argparse.Namespace(events=3_000, rate=300)


def replay(world, *arguments, expected=0, settings=None):
    """`carillon replay … --json`: its document."""
    code, output, errors = run("replay", *arguments, "--json", settings=settings or settings_of(world), timeout=600)
    if code != expected:
        raise Failure(
            f"carillon replay {' '.join(arguments)} ended with {code}, expected {expected}: {output[-1500:]}{errors[-500:]}"
        )
    return json.loads(output) if output else errors


def settings_of(world):
    """The rules of the processes, by which the hash of the journal goes too."""
    return world.settings("replay", schedule_spread=SPREAD)


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found}, expected {expected}")


def payload(record):
    """The app's part of a push, of either provider."""
    value = json.loads(record.value)
    outer = value["message"]["data"] if "message" in value else value["payload"]
    return json.loads(outer["default"])["data"]


def sent(world):
    """How many dispatch records there are, and how many of them timers have sent."""
    records = world.cluster.read(world.topics["dispatch"])
    return len(records), sum(dict(each.headers)["source"].startswith(b"schedule/") for each in records)


class Load:
    """Events and changes of subscriptions at a rate, while processes are killed, join, leave and abort."""

    def __init__(self, world):
        self.world, self.chance = world, random.Random(f"replay {scenarios.seed}")
        more = {"session.timeout": "6s", "transaction.timeout": "10s", "schedule.spread": SPREAD, "commit.max-records": 250}
        self.settings = lambda name: world.settings(name, workers=2) | more
        self.first = world.daemon("a", self.settings("a")).start()
        wait_for_daemons("every partition has a committed offset", lambda: len(world.committed) == world.partitions, [self.first])
        # The one with the hooks joins in the middle, and leaves.
        hooks = {"binary": CARILLON_DEBUG} if CARILLON_DEBUG else {}
        self.second = world.daemon("b", self.settings("b") | {"static-membership": "false"}, **hooks)
        if CARILLON_DEBUG:
            self.second.faults = {
                "CARILLON_FAULT": "abort@before-commit:1/4,kill@after-commit:1/60,kill@after-send-offsets:1/60",
                "CARILLON_FAULT_SEED": str(scenarios.seed),
            }
        self.counts = collections.Counter()

    def go(self):
        world, producer = self.world, self.world.cluster.producer()
        kills = [size.events * part // 10 for part in (3, 5, 8)]
        made, changed, began = 0, 0, time.monotonic()
        while made < size.events:
            world.events.mix.slots_from = int(time.time() * 1000) - MINUTE
            for _ in range(self.chance.randrange(1, 40)):
                self._produce(producer, "events", world.events.next())
                made += 1
            while changed < made // 8:
                self._produce(producer, "subscriptions", world.changes.next())
                changed += 1
            self._disturb(made, kills)
            producer.poll(0)
            while time.monotonic() - began < made / size.rate:
                pause(0.01)
        wait_for("what was produced is delivered", lambda: producer.flush(0.1) == 0, 30)
        self.counts["changes of subscriptions"] = changed

    def _produce(self, producer, topic, each):
        producer.produce(self.world.topics[topic], key=each.key, value=each.value, headers=list(each.headers))

    def _disturb(self, made, kills):
        if made > size.events // 5 and not self.second.is_running and made < size.events * 9 // 10:
            self.second.start()
            self.counts["starts of the second process"] += 1
        if kills and made >= kills[0]:
            kills.pop(0)
            self.first.kill()
            self.first.start()
            self.counts["kills of the first process"] += 1

    def finish(self):
        """Until everything is processed and some timers have gone."""
        if self.second.is_running:
            self.second.kill()
        self.world.wait_until_done(90)
        wait_for("some timers have gone", lambda: sent(self.world)[1] > 20, 130)
        self.first.stop(20)


@scenario(
    "what was sent under kills, aborts and rebalances, with changing subscriptions and timers, is rendered again "
    "byte for byte; what is planted is found"
)
def zero():
    world = make_world("zero", partitions=4, places=200, crowd=20, poison_rate=0.01).create_topics()
    load = Load(world)
    load.go()
    load.finish()
    records, timers = sent(world)
    found = replay(world, "diff")
    expect(
        "differences",
        {name: found[name] for name in ("unequal", "missing", "extra", "duplicates")},
        dict.fromkeys(("unequal", "missing", "extra", "duplicates"), 0),
    )
    expect("records that are the same", found["equal"], records)
    expect("approximations", found["approximations"], [])
    check_plan(world, records)
    check_parts(world, records)
    check_planted(world, records)
    check_rules(world, records)
    check_writing(world, records)
    print(
        f"         {size.events:,} events, {records:,} records, {timers:,} of timers, {found['transactions']:,} steps of the journal; "
        + ", ".join(f"{count} {what}" for what, count in load.counts.items()),
        flush=True,
    )


def check_plan(world, records):
    """As of the events it is what was sent; with the subscriptions of now it is something else."""
    then = replay(world, "plan", "--subscriptions", "as-of-event")
    expect("devices of the plan", then["devices"], records)
    expect("devices by hour", sum(then["devices_by_hour"].values()), records)
    both = replay(world, "plan")
    if not 0 < both["devices"] < records:
        raise Failure(f"{both['devices']} devices were subscribed then and still are, {records} were notified")


def check_parts(world, records):
    """Parts of the log have no difference either, and join to the whole."""
    found = 0
    for start, end in (("", "200"), ("200", "377"), ("377", "")):
        part = replay(world, "diff", "--offsets", f"{start}..{end}")
        found += part["equal"]
    expect("records of all parts", found, records)
    of_place = collections.Counter(payload(each)["place_id"] for each in world.cluster.read(world.topics["dispatch"]))
    place, count = of_place.most_common(1)[0]
    expect("records of one place", replay(world, "diff", "--place", place)["equal"], count)


def check_planted(world, records):
    """One record more, once as a copy and once for another device, and one with another byte in a topic of its own."""
    dispatch = world.topics["dispatch"]
    sample = next(
        each
        for each in world.cluster.read(dispatch)
        if dict(each.headers)["source"].startswith(b"orders") or not dict(each.headers)["source"].startswith(b"schedule/")
    )
    world.cluster.produce(dispatch, [Input(sample.key, sample.value, sample.headers)])
    found = replay(world, "diff", expected=DIFFERENCE)
    expect("a copy", (found["duplicates"], found["extra"], found["equal"]), (1, 0, records))
    world.cluster.produce(dispatch, [Input(b"0" * 64, sample.value, sample.headers)])
    found = replay(world, "diff", expected=DIFFERENCE)
    expect("a copy and a stranger", (found["duplicates"], found["extra"], found["equal"]), (1, 1, records))
    other = f"{world.name}.spoilt"
    world.cluster.create_topics({other: (1, {})})
    spoilt = [Input(each.key, each.value, each.headers) for each in world.cluster.read(dispatch)[: records // 2]]
    right, wrong = (f'delivery_date\\":\\"{digit}'.encode() for digit in (2, 3))
    at = next(index for index, each in enumerate(spoilt) if right in each.value and each.headers != sample.headers)
    spoilt[at] = spoilt[at]._replace(value=spoilt[at].value.replace(right, wrong, 1))
    world.cluster.produce(other, spoilt)
    found = replay(world, "diff", "--against", f"topic:{other}", expected=DIFFERENCE)
    expect("records with another byte", (found["unequal"], [each["name"] for each in found["fields"]]), (1, ["delivery_date"]))


def check_rules(world, records):
    """Other rules differ, by field, and from what was sent as well as from each other; it is said that they are others."""
    base, other = world.folder / "base.properties", world.folder / "other.properties"
    settings = settings_of(world)
    rest = {name: value for name, value in settings.items() if name != "time-zone"}
    base.write_text("".join(f"{name}={value}\n" for name, value in (rest | {"time-zone": "Europe/Berlin"}).items()))
    other.write_text("".join(f"{name}={value}\n" for name, value in (rest | {"time-zone": "Asia/Tokyo"}).items()))
    found = replay(
        world,
        "diff",
        "--config",
        str(base),
        "--with-config",
        str(other),
        "--subscriptions",
        "as-of-event",
        expected=DIFFERENCE,
        settings={"log.level": "warning"},
    )
    names = [each["name"] for each in found["fields"]]
    if found["rendered"] == 0 or not {"start_time", "delivery_date"} & set(names):
        raise Failure(f"another time zone changes {names} of {found['rendered']} records")
    replay(world, "diff", "--config", str(base), "--with-config", str(base), settings={"log.level": "warning"})
    against = replay(world, "diff", "--config", str(other), expected=DIFFERENCE, settings={"log.level": "warning"})
    if not any("other rules" in note for note in against["notes"]):
        raise Failure(f"nothing is said of the rules of the journal: {against['notes']}")


def check_writing(world, records):
    """Lines and another topic hold what was sent; the pipeline's own topics are refused."""
    code, output, errors = run("replay", "write", "--output", "-", "--subscriptions", "as-of-event", settings=settings_of(world))
    lines = [json.loads(line) for line in output.splitlines()]
    expect("lines", (code, sum(line["topic"] == world.topics["dispatch"] for line in lines)), (0, records))
    copy = f"{world.name}.copy"
    world.cluster.create_topics({copy: (2, {})})
    command("replay", "write", "--output", f"topic:{copy}", "--subscriptions", "as-of-event", settings=settings_of(world))
    written = world.cluster.read(copy)
    expect("records of another topic", len(written), records)
    if not all(dict(each.headers).get("replay", b"").startswith(b"replay-") for each in written):
        raise Failure("a record that was replayed is not marked")
    before = world.cluster.ends(world.topics["dispatch"])
    for topic in world.topics.values():
        said = command("replay", "write", "--output", f"topic:{topic}", settings=settings_of(world), expected=REFUSED)
        if topic not in said:
            raise Failure(f"writing to {topic} ends with: {said}")
    expect("the ends of the dispatch topic", world.cluster.ends(world.topics["dispatch"]), before)


@scenario(
    "who was subscribed then is told as long as the log knows it, and refused where a compaction has taken it away", background=True
)
def as_of_event():
    world = make_world("as-of", partitions=1, places=2, crowd=1)
    world.subscriptions = []
    world.create_topics()

    def change(token, is_subscribed):
        key = f"place/p1|{hashlib.sha256(token.encode()).hexdigest()}".encode()
        value = {"audience": "place/p1", "token": token, "platform": "fcm", "app": "com.example.shop"}
        world.cluster.produce(world.topics["subscriptions"], [Input(key, compact(value) if is_subscribed else None)])

    def order(number):
        """By a process that has only just started, so that its table has everything."""
        daemon = started(world, schedule_spread=SPREAD)
        body = {
            "event_id": f"e{number}",
            "event_type": "ORDER_CREATED",
            "order": {"id": f"o{number}", "order_number": f"N{number}", "place_id": "p1", "status": "pending"},
        }
        world.cluster.produce(world.topics["events"], [Input(f"o{number}".encode(), compact(body))])
        world.wait_until_done()
        daemon.stop()

    change("device-a", True)
    order(1)
    change("device-b", True)
    order(2)
    change("device-a", False)
    order(3)
    change("device-c", True)
    order(4)
    expect("what was sent", sent(world)[0], 1 + 2 + 1 + 2)
    expect("the same", replay(world, "diff")["equal"], 6)
    expect("as of the events", replay(world, "plan", "--subscriptions", "as-of-event")["devices"], 6)
    expect("then and still", replay(world, "plan")["devices"], 0 + 1 + 1 + 2)
    expect("now", replay(world, "plan", "--subscriptions", "now")["devices"], 4 * 2)
    check_explanations(world)
    without = replay(world, "diff", "--no-journal", "--subscriptions", "now", expected=DIFFERENCE)
    if not without["approximate"]:
        raise Failure("without a journal it is not called approximate")
    compact_away(world)
    for words in (("diff",), ("plan",)):
        said = replay(world, *words, expected=REFUSED)
        if "min.compaction.lag.ms" not in said and "begins at offset" not in said:
            raise Failure(f"carillon replay {' '.join(words)} is refused, but not for the compaction: {said}")
    expect("now, after a compaction", replay(world, "plan", "--subscriptions", "now")["devices"], 4 * 2)


@scenario("what the broker refused is told by its dead letter, and is no difference", background=True)
def refused():
    world = make_world("refused", partitions=1, places=2, crowd=1)
    world.subscriptions = []
    world.create_topics()
    # Less than any push has, and more than a record of the journal.
    world.cluster.configure(world.topics["dispatch"], {"max.message.bytes": "300"})
    key = f"place/p1|{hashlib.sha256(b'device').hexdigest()}".encode()
    value = {"audience": "place/p1", "token": "device", "platform": "fcm", "app": "com.example.shop"}
    world.cluster.produce(world.topics["subscriptions"], [Input(key, compact(value))])
    body = {"event_id": "e1", "event_type": "ORDER_CREATED", "order": {"id": "o1", "place_id": "p1", "status": "pending"}}
    world.cluster.produce(world.topics["events"], [Input(b"o1", compact(body))])
    daemon = started(world, schedule_spread=SPREAD)
    world.wait_until_done()
    daemon.stop()
    (letter,) = world.cluster.read(world.topics["dead-letters"])
    expect("the dead letter", dict(letter.headers)["x-error-code"], b"record_refused")
    found = replay(world, "diff")
    expect("refused, missing and rendered", (found["refused"], found["missing"], found["rendered"]), (1, 0, 1))
    (said,) = explain(world, "--order", "o1")
    place = f"{letter.topic}/{letter.partition}/{letter.offset}"
    expect(
        "what is explained",
        (said["outcome"], said["reason"], said["devices"], said["dead_letter"]),
        ("dead_letter", "record_refused", 1, place),
    )
    text = command("explain", "--order", "o1", settings=settings_of(world))
    if "not sent to 1 device: record_refused, the broker refuses" not in text or f"dead letter at {place}\n" not in text:
        raise Failure(f"carillon explain --order o1 says: {text}")


def explain(world, *arguments):
    """`carillon explain … --json`: what it says of each event."""
    return [json.loads(line) for line in command("explain", *arguments, "--json", settings=settings_of(world)).splitlines()]


def check_explanations(world):
    """An order, a push and devices: what became of the event, who was subscribed then, and where the records stand."""
    (order,) = explain(world, "--order", "o2")
    expect(
        "order o2",
        (order["outcome"], order["devices"], order["event_type"], order["fields"]["order id"]),
        ("sent", 2, "event_order_created", "order"),
    )
    places = {f"{each.topic}/{each.partition}/{each.offset}": each for each in world.cluster.read(world.topics["dispatch"])}
    for push in order["pushes"]:
        (at,) = push["at"]
        headers = dict(places[at].headers)
        expect(
            "where a record stands",
            (places[at].key.decode(), headers["message-id"].decode(), headers["source"].decode()),
            (push["device"], push["message_id"], order["source"]),
        )
    if order["transaction"]["journal"].rpartition("/")[0] != f"{world.topics['journal']}/0":
        raise Failure(f"the transaction of order o2: {order['transaction']}")
    (message,) = explain(world, "--message-id", order["pushes"][0]["message_id"])
    expect("the event of a push", message["source"], order["source"])
    for token, words in (
        ("device-a", ("yes", "yes", "no longer", "no longer")),
        ("device-b", ("not until", "yes", "yes", "yes")),
        ("device-c", ("not until", "not until", "not until", "yes")),
    ):
        file = world.folder / token
        file.write_text(token)
        said = explain(world, "--device-token-file", str(file), "--place", "p1")
        expect(f"subscriptions of {token}", tuple(each["subscribed"].split(",")[0].partition(" 2")[0] for each in said), words)
    text = command("explain", "--order", "o1", settings=settings_of(world))
    if "sent to 1 device\n" not in text or world.topics["dispatch"] not in text:
        raise Failure(f"carillon explain --order o1 says: {text}")


def compact_away(world):
    """Lets the broker's cleaner take the versions away that newer ones replace."""
    topic = world.topics["subscriptions"]
    world.cluster.configure(
        topic, {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.0", "min.compaction.lag.ms": "0", "delete.retention.ms": "100"}
    )

    def is_compacted():
        # A record rolls the segment, and only closed ones are cleaned.
        for partition in world.cluster.partitions(topic):
            world.cluster.produce(topic, [Input(b"place/other|" + b"0" * 64, None)], partition)
        records = [each for each in world.cluster.read(topic) if b"place/p1|" in each.key]
        return sum(each.value is not None for each in records) == 2 and len(records) <= 3

    wait_for("the subscriptions are compacted", is_compacted, 60)


if __name__ == "__main__":
    sys.exit(scenarios.main("replay.py", __doc__, sizes=size))
