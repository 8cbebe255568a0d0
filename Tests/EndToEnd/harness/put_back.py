"""Worlds with dead letters, and `carillon replay dead-letters` over them."""

import collections

from generator.inputs import Input, compact, subscription
from harness.daemon import EXIT_DONE
from harness.replaying import ReplayProcess, documents
from harness.waiting import Failure, expect, wait_for
from harness.world import OUTPUTS

STRICT, LENIENT = {"on-missing-order-id": "dead-letter"}, {"on-missing-order-id": "send"}
COORDINATES = [f"__connect.errors.{name}" for name in ("topic", "partition", "offset")]


def put_back(world, *arguments, expected=EXIT_DONE, rules=LENIENT):
    """`carillon replay dead-letters … --json` to its end: the documents that it printed, and what it said."""
    return documents(world, "replay", "dead-letters", *arguments, settings=world.settings("replay", **rules), expected=expected)


def put_back_beside(world, *arguments, rules=LENIENT):
    """One that runs beside the test."""
    return ReplayProcess(world, "dead-letters", *arguments, settings=world.settings("replay", **rules))


def event(number, **order):
    """An event without an order id, unless one is given: a strict pipeline refuses it, a lenient one sends it."""
    body = {"event_id": f"e{number}", "event_type": "ORDER_CREATED", "order": {"place_id": "p1", "status": "pending"} | order}
    return Input(f"o{number}".encode(), compact(body), [("traceparent", f"00-{number}".encode()), ("none", None)])


def pipeline(world, **rules):
    """A process that has processed what is there."""
    daemon = world.started(name=f"d{len(world.daemons)}", **rules)
    wait_until_done(world)
    return daemon


def wait_until_done(world):
    """Until every record is committed. The markers of transactions have offsets after the last one, which nobody commits."""
    for topic in (world.topics[name] for name in ("events", "requests") if name in world.topics):
        last = {each.partition: each.offset for each in world.cluster.read(topic)}

        def is_done(topic=topic, last=last):
            committed = world.cluster.committed(world.name, topic)
            return all(committed.get(each, -1) > last[each] for each in last)

        wait_for(f"every record of {topic} is committed", is_done, 30)
    world.cluster.wait_until_readable([world.topics[each] for each in OUTPUTS])


def strict_world(harness, name, count, partitions=2):
    """A world with so many dead letters that other rules would take, and three that no rules take."""
    world = harness.make_world(name, partitions=partitions)
    world.subscriptions = []
    world.create_topics()
    world.cluster.produce(world.topics["subscriptions"], [subscription("p1", f"{world.name}-device")])
    bad = [Input(b"bad", text) for text in (b"no JSON", b"\xff\x00", b'{"event_type":"NONSENSE","order":{"id":"x"}}')]
    world.cluster.produce(world.topics["events"], [event(number) for number in range(count)] + bad)
    pipeline(world, **STRICT).stop()
    expect("dead letters", len(letters(world)), count + len(bad))
    return world


def letters(world):
    return world.cluster.read(world.topics["dead-letters"])


def returned(world, topic="events"):
    """The records that were put back."""
    return [each for each in world.cluster.read(world.topics[topic]) if "replay-of" in dict(each.headers)]


def wait_for_returned(world, count, process, *topics):
    """Until so many records are back in these topics, by a process that runs."""

    def is_there():
        process.expect_running()
        return sum(len(returned(world, topic)) for topic in topics or ("events",)) >= count

    wait_for(f"{count} are put back", is_there, 30)


def check_once(world, count, ids, topic="events"):
    """Each record that was put back is there once, as it came: key, value, headers, partition, and its coordinates."""
    back = returned(world, topic)
    places = collections.Counter(dict(each.headers)["replay-of"] for each in back)
    expect(f"{topic} that were put back", (len(back), len(places)), (count, count))
    by_place = {each.source.encode(): each for each in letters(world)}
    for each in back:
        letter = by_place[dict(each.headers)["replay-of"]]
        reason = dict(letter.headers)
        own = next(index for index, (name, _) in enumerate(letter.headers) if name == "x-error-code")
        expect("key and value", (each.key, each.value), (letter.key, letter.value))
        mark = ("replay-of", dict(each.headers)["replay-of"])
        first = [(name, reason[name]) for name in COORDINATES]
        expect("headers", list(each.headers[:-1]), [*letter.headers[:own], mark, *first])
        expect(
            "topic and partition", [each.topic.encode(), str(each.partition).encode()], [reason[name] for name in COORDINATES[:2]]
        )
        if each.headers[-1] not in [("replay", name.encode()) for name in ids]:
            raise Failure(f"the last header is {each.headers[-1]}")
