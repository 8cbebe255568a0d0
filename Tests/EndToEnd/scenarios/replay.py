"""`carillon replay` on a real broker: what was sent under faults is rendered again byte for byte, what was changed is found, and
who was subscribed is known as long as the log says it."""

import collections
import json
import random
import sys
import time

from generator.inputs import Input, event_about, subscription, unsubscription
from harness.daemon import EXIT_DONE, EXIT_REFUSED, wait_for_daemons
from harness.replaying import documents
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, pause, wait_for
from model.messages import payload_of

MINUTE = 60_000
# Timers fire over some seconds, so that there is something to disturb.
SPREAD = "5s"
EXIT_DIFFERENCE = 1
# Of the first scenario.
SIZES = {"events": 3_000, "rate": 300}


def document(world, *arguments, expected=EXIT_DONE, settings=None):
    """The document of `carillon replay … --json`; what it says where there is none."""
    found, said = documents(world, "replay", *arguments, settings=settings or settings_of(world), expected=expected)
    return found[0] if found else said


def settings_of(world):
    """With the rules of the processes, of which the journal has the hash."""
    return world.settings("replay", schedule_spread=SPREAD)


def sent(world):
    """How many dispatch records there are, and how many of them timers have sent."""
    records = world.cluster.read(world.topics["dispatch"])
    return len(records), sum(dict(each.headers)["source"].startswith(b"schedule/") for each in records)


class Load:
    """Events and changes of subscriptions at a rate, while processes are killed, join, leave and abort."""

    def __init__(self, world):
        harness = world.harness
        self.world, self.sizes, self.chance = world, harness.sizes, random.Random(f"replay {harness.seed}")
        more = {"session.timeout": "6s", "transaction.timeout": "10s", "schedule.spread": SPREAD, "commit.max-records": 250}
        self.settings = lambda name: world.settings(name, workers=2) | more
        self.first = world.daemon("a", self.settings("a")).start()
        wait_for_daemons("every partition has a committed offset", lambda: len(world.committed) == world.partitions, [self.first])
        # The one with the hooks joins in the middle, and leaves.
        settings = self.settings("b") | {"static-membership": "false"}
        self.second = world.daemon("b", settings, binary=harness.debug_carillon)
        if harness.debug_carillon:
            self.second.variables = {
                "CARILLON_FAULT": "abort@before-commit:1/4,kill@after-commit:1/60,kill@after-send-offsets:1/60",
                "CARILLON_FAULT_SEED": str(harness.seed),
            }
        self.counts = collections.Counter()

    def go(self):
        world, producer = self.world, self.world.cluster.producer()
        kills = [self.sizes.events * part // 10 for part in (3, 5, 8)]
        made, changed, began = 0, 0, time.monotonic()
        while made < self.sizes.events:
            world.events.mix.slots_from = int(time.time() * 1000) - MINUTE
            for _ in range(self.chance.randrange(1, 40)):
                self._produce(producer, "events", world.events.next())
                made += 1
            while changed < made // 8:
                self._produce(producer, "subscriptions", world.changes.next())
                changed += 1
            self._disturb(made, kills)
            producer.poll(0)
            while time.monotonic() - began < made / self.sizes.rate:
                pause(0.01)
        wait_for("what was produced is delivered", lambda: producer.flush(0.1) == 0, 30)
        self.counts["changes of subscriptions"] = changed

    def _produce(self, producer, topic, each):
        producer.produce(self.world.topics[topic], key=each.key, value=each.value, headers=list(each.headers))

    def _disturb(self, made, kills):
        if made > self.sizes.events // 5 and not self.second.is_running and made < self.sizes.events * 9 // 10:
            self.second.start()
            self.counts["starts of the second process"] += 1
        if kills and made >= kills[0]:
            kills.pop(0)
            self.first.kill()
            self.first.start()
            self.counts["kills of the first process"] += 1

    def finish(self):
        """Until everything is processed and some timers have fired."""
        if self.second.is_running:
            self.second.kill()
        self.world.wait_until_done(90)
        wait_for("some timers have fired", lambda: sent(self.world)[1] > 20, 130)
        self.first.stop(20)
        # What a killed process has left open hides the records behind it until it times out.
        dispatch, cluster = self.world.topics["dispatch"], self.world.cluster
        wait_for("no transaction is open", lambda: cluster.ends(dispatch) == cluster.ends(dispatch, uncommitted=True), 30)


@scenario(
    "what was sent under kills, aborts and rebalances, with changing subscriptions and timers, is rendered again "
    "byte for byte; what is planted is found"
)
def zero(harness):
    world = harness.make_world("zero", partitions=4, places=200, crowd=20, poison_rate=0.01).create_topics()
    load = Load(world)
    load.go()
    load.finish()
    records, timers = sent(world)
    found = document(world, "diff")
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
    check_rules(world)
    check_writing(world, records)
    print(
        f"         {harness.sizes.events:,} events, {records:,} records, {timers:,} of timers, "
        f"{found['transactions']:,} transactions; " + ", ".join(f"{count} {what}" for what, count in load.counts.items()),
        flush=True,
    )


def check_plan(world, records):
    """As of the events it is what was sent; with the subscriptions of now it is something else."""
    then = document(world, "plan", "--subscriptions", "as-of-event")
    expect("devices of the plan", then["devices"], records)
    expect("devices by hour", sum(then["devices_by_hour"].values()), records)
    both = document(world, "plan")
    if not 0 < both["devices"] < records:
        raise Failure(f"{both['devices']} devices were subscribed then and still are, {records} were notified")


def check_parts(world, records):
    """Parts of the log have no difference either, and join to the whole."""
    found = 0
    for start, end in (("", "200"), ("200", "377"), ("377", "")):
        part = document(world, "diff", "--offsets", f"{start}..{end}")
        found += part["equal"]
    expect("records of all parts", found, records)
    of_place = collections.Counter(
        payload_of(json.loads(each.value))["place_id"] for each in world.cluster.read(world.topics["dispatch"])
    )
    place, count = of_place.most_common(1)[0]
    expect("records of one place", document(world, "diff", "--place", place)["equal"], count)


def check_planted(world, records):
    """One more record, first a copy and then for another device; and in a topic of its own one with another byte."""
    dispatch = world.topics["dispatch"]
    sample = next(
        each
        for each in world.cluster.read(dispatch)
        if dict(each.headers)["source"].startswith(b"orders") or not dict(each.headers)["source"].startswith(b"schedule/")
    )
    world.cluster.produce(dispatch, [Input(sample.key, sample.value, sample.headers)])
    found = document(world, "diff", expected=EXIT_DIFFERENCE)
    expect("a copy", (found["duplicates"], found["extra"], found["equal"]), (1, 0, records))
    world.cluster.produce(dispatch, [Input(b"0" * 64, sample.value, sample.headers)])
    found = document(world, "diff", expected=EXIT_DIFFERENCE)
    expect("a copy and a stranger", (found["duplicates"], found["extra"], found["equal"]), (1, 1, records))
    other = f"{world.name}.spoilt"
    world.cluster.create_topics({other: (1, {})})
    spoilt = [Input(each.key, each.value, each.headers) for each in world.cluster.read(dispatch)[: records // 2]]
    right, wrong = (f'delivery_date\\":\\"{digit}'.encode() for digit in (2, 3))
    at = next(index for index, each in enumerate(spoilt) if right in each.value and each.headers != sample.headers)
    spoilt[at] = spoilt[at]._replace(value=spoilt[at].value.replace(right, wrong, 1))
    world.cluster.produce(other, spoilt)
    found = document(world, "diff", "--against", f"topic:{other}", expected=EXIT_DIFFERENCE)
    expect("records with another byte", (found["unequal"], [each["name"] for each in found["fields"]]), (1, ["delivery_date"]))


def check_rules(world):
    """Other rules differ by field, both from what was sent and from each other, and a note says that they are others."""
    base, other = world.folder / "base.properties", world.folder / "other.properties"
    settings = settings_of(world)
    rest = {name: value for name, value in settings.items() if name != "time-zone"}
    base.write_text("".join(f"{name}={value}\n" for name, value in (rest | {"time-zone": "Europe/Berlin"}).items()))
    other.write_text("".join(f"{name}={value}\n" for name, value in (rest | {"time-zone": "Asia/Tokyo"}).items()))
    found = document(
        world,
        "diff",
        "--config",
        str(base),
        "--with-config",
        str(other),
        "--subscriptions",
        "as-of-event",
        expected=EXIT_DIFFERENCE,
        settings={"log.level": "warning"},
    )
    names = [each["name"] for each in found["fields"]]
    if found["rendered"] == 0 or not {"start_time", "delivery_date"} & set(names):
        raise Failure(f"another time zone changes {names} of {found['rendered']} records")
    document(world, "diff", "--config", str(base), "--with-config", str(base), settings={"log.level": "warning"})
    against = document(world, "diff", "--config", str(other), expected=EXIT_DIFFERENCE, settings={"log.level": "warning"})
    if not any("other rules" in note for note in against["notes"]):
        raise Failure(f"nothing is said about the rules of the journal: {against['notes']}")


def check_writing(world, records):
    """Lines and another topic have what was sent; the pipeline's own topics are refused."""
    code, output, _ = world.harness.run(
        "replay", "write", "--output", "-", "--subscriptions", "as-of-event", settings=settings_of(world)
    )
    lines = [json.loads(line) for line in output.splitlines()]
    expect("lines", (code, sum(line["topic"] == world.topics["dispatch"] for line in lines)), (0, records))
    copy = f"{world.name}.copy"
    world.cluster.create_topics({copy: (2, {})})
    world.harness.command(
        "replay", "write", "--output", f"topic:{copy}", "--subscriptions", "as-of-event", settings=settings_of(world)
    )
    written = world.cluster.read(copy)
    expect("records of another topic", len(written), records)
    if not all(dict(each.headers).get("replay", b"").startswith(b"replay-") for each in written):
        raise Failure("a record that was replayed is not marked")
    before = world.cluster.ends(world.topics["dispatch"])
    for topic in world.topics.values():
        said = world.harness.command(
            "replay", "write", "--output", f"topic:{topic}", settings=settings_of(world), expected=EXIT_REFUSED
        )
        if topic not in said:
            raise Failure(f"writing to {topic} ends with: {said}")
    expect("the ends of the dispatch topic", world.cluster.ends(world.topics["dispatch"]), before)


@scenario(
    "who was subscribed then is reported as long as the log knows it, and refused where a compaction has removed it",
    background=True,
)
def as_of_event(harness):
    world = harness.make_world("as-of", partitions=1, places=2, crowd=1)
    world.subscriptions = []
    world.create_topics()

    def change(record):
        world.cluster.produce(world.topics["subscriptions"], [record])

    def order(number):
        """By a process that has only just started, so that its table has everything."""
        daemon = world.started(schedule_spread=SPREAD)
        body = {"id": f"o{number}", "order_number": f"N{number}", "place_id": "p1", "status": "pending"}
        world.cluster.produce(world.topics["events"], [event_about(body, f"e{number}")])
        world.wait_until_done()
        daemon.stop()

    change(subscription("p1", "device-a"))
    order(1)
    change(subscription("p1", "device-b"))
    order(2)
    change(unsubscription("p1", "device-a"))
    order(3)
    change(subscription("p1", "device-c"))
    order(4)
    expect("what was sent", sent(world)[0], 1 + 2 + 1 + 2)
    expect("the same", document(world, "diff")["equal"], 6)
    expect("as of the events", document(world, "plan", "--subscriptions", "as-of-event")["devices"], 6)
    expect("then and still", document(world, "plan")["devices"], 0 + 1 + 1 + 2)
    expect("now", document(world, "plan", "--subscriptions", "now")["devices"], 4 * 2)
    check_explanations(world)
    without = document(world, "diff", "--no-journal", "--subscriptions", "now", expected=EXIT_DIFFERENCE)
    if not without["approximate"]:
        raise Failure("without a journal it is not called approximate")
    compact_away(world)
    for words in (("diff",), ("plan",)):
        said = document(world, *words, expected=EXIT_REFUSED)
        if "min.compaction.lag.ms" not in said and "begins at offset" not in said:
            raise Failure(f"carillon replay {' '.join(words)} is refused, but not for the compaction: {said}")
    expect("now, after a compaction", document(world, "plan", "--subscriptions", "now")["devices"], 4 * 2)


@scenario("what the broker refused is named by its dead letter, and is no difference", background=True)
def refused(harness):
    world = harness.make_world("refused", partitions=1, places=2, crowd=1)
    world.subscriptions = []
    world.create_topics()
    # Less than any push has, and more than a record of the journal.
    world.cluster.configure(world.topics["dispatch"], {"max.message.bytes": "300"})
    world.cluster.produce(world.topics["subscriptions"], [subscription("p1", "device")])
    world.cluster.produce(world.topics["events"], [event_about({"id": "o1", "place_id": "p1", "status": "pending"}, "e1")])
    daemon = world.started(schedule_spread=SPREAD)
    world.wait_until_done()
    daemon.stop()
    (letter,) = world.cluster.read(world.topics["dead-letters"])
    expect("the dead letter", dict(letter.headers)["x-error-code"], b"record_refused")
    found = document(world, "diff")
    expect("refused, missing and rendered", (found["refused"], found["missing"], found["rendered"]), (1, 0, 1))
    (said,) = explain(world, "--order", "o1")
    expect(
        "what is explained",
        (said["outcome"], said["reason"], said["devices"], said["dead_letter"]),
        ("dead_letter", "record_refused", 1, letter.source),
    )
    text = harness.command("explain", "--order", "o1", settings=settings_of(world))
    if "not sent to 1 device: record_refused, the broker refuses" not in text or f"dead letter at {letter.source}\n" not in text:
        raise Failure(f"carillon explain --order o1 says: {text}")


def explain(world, *arguments):
    """`carillon explain … --json`: what it says of each event."""
    return documents(world, "explain", *arguments, settings=settings_of(world))[0]


def check_explanations(world):
    """An order, a push and devices: what became of the event, who was subscribed then, and where the records stand."""
    (order,) = explain(world, "--order", "o2")
    expect(
        "order o2",
        (order["outcome"], order["devices"], order["event_type"], order["fields"]["order id"]),
        ("sent", 2, "event_order_created", "order"),
    )
    places = {each.source: each for each in world.cluster.read(world.topics["dispatch"])}
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
    text = world.harness.command("explain", "--order", "o1", settings=settings_of(world))
    if "sent to 1 device\n" not in text or world.topics["dispatch"] not in text:
        raise Failure(f"carillon explain --order o1 says: {text}")


def compact_away(world):
    """Lets the broker's cleaner remove the records that newer ones replace."""
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
    sys.exit(main("replay", __doc__, globals(), sizes=SIZES))
