"""Orders with slots, and what became of their timers."""

import collections
import datetime
import json
import time
import zoneinfo

from confluent_kafka import Consumer, TopicPartition

from generator.inputs import Input, compact, iso, subscription
from harness import offsets
from harness.daemon import wait_for_daemons
from harness.waiting import PATIENCE, Failure, now_ms, pause
from model.journal import watermarks_of
from model.messages import payload_of
from model.orders import Watermark, spread_of

MINUTE = 60_000
# Over how many seconds the timers of the places are spread: long enough that they can be disturbed.
SPREAD = 40
PLACES = 24
# Records have the time of the wall clock; timers fire by the time that has passed since the start. The clock may be set meanwhile.
CLOCK_SLACK = 1000
TYPES = ("event_timeslot_started", "event_unpicked_orders_reminder")


def make_schedule_world(harness, name, partitions=4, **events):
    """A world with one device at each place, so that a timer is one record; `events` are settings of the events' topic."""
    world = harness.make_world(name, partitions=partitions, places=2, crowd=1)
    world.places = [f"{name}-{index}" for index in range(PLACES)]
    world.subscriptions = [device(place) for place in world.places]
    return world.create_topics(**events)


def device(place, number=0):
    """The subscription of one of the place's devices."""
    return subscription(place, f"device-{place}-{number}", environment="production")


def order_event(world, order, place, changed_to=None, start=None, at=None, **more):
    """(input, record time) of an event: the order is created, or its status changes. `start` is when its slot starts."""
    at = at or now_ms()
    kind, status = ("ORDER_CREATED", "pending") if changed_to is None else ("ORDER_STATUS_CHANGED", changed_to)
    body = {"id": order, "order_number": f"N-{order}", "place_id": place, "status": status}
    if start is not None:
        zone = zoneinfo.ZoneInfo(world.rules.time_zone)
        begin, end = (datetime.datetime.fromtimestamp(when / 1000, zone) for when in (start, start + 30 * MINUTE))
        body["shipping_info"] = {
            "slot": {"date": begin.strftime("%Y-%m-%d"), "start_time": begin.strftime("%H:%M"), "end_time": end.strftime("%H:%M")}
        }
    value = {"event_id": f"{order}-{kind}-{status}-{at}", "event_type": kind, "occurred_at": iso(at), "order": body} | more
    return Input(order.encode(), compact(value)), at


def produce(world, events):
    producer = world.cluster.producer()
    for (key, value, _), at in events:
        producer.produce(world.topics["events"], key=key, value=value, timestamp=at)
    if producer.flush(30):
        raise Failure("events were not delivered")


def next_minute(lead):
    """The next full minute that is at least `lead` seconds away."""
    return (now_ms() + lead * 1000 + MINUTE - 1) // MINUTE * MINUTE


def orders_due(world, at, count):
    """Orders of which each has one timer that is due at `at` and the spread of its place: the start of a slot, or one of the three
    reminders. Returns their events, and when each (order, type) is due."""
    events, due = [], {}
    for index in range(count):
        number, place = index % 4, world.places[index * 7 % len(world.places)]
        order = f"{world.name}-{index}"
        events.append(order_event(world, order, place, start=at - number * 15 * MINUTE))
        due[order, TYPES[min(number, 1)]] = at + spread_of(place, SPREAD) * 1000
    return events, due


def sent_timers(world):
    """What the timers have sent: the records by (order, type)."""
    found = collections.defaultdict(list)
    for record in world.cluster.read(world.topics["dispatch"]):
        if dict(record.headers)["source"].startswith(b"schedule/"):
            data = payload_of(json.loads(record.value))
            found[data["order_id"], data["event_type"]].append(record)
    return found


def committed(world):
    """By partition: the offset that the group has committed, and the words of its metadata, numbers but for `p`."""
    found = offsets.committed(world.cluster.bootstrap, world.name, world.topics["events"], range(world.partitions))
    return {
        partition: (
            offset,
            {
                key: int(value) if key in ("w", "n", "t") else value
                for key, _, value in (word.partition("=") for word in metadata.split()[1:])
            },
        )
        for partition, (offset, metadata) in found.items()
    }


def commit(world, metadata, offset=0):
    """Commits an offset of every partition in the name of the group, with this metadata."""
    writer = Consumer(world.cluster.settings | {"group.id": world.name, "enable.auto.commit": False})
    try:
        writer.commit(
            offsets=[TopicPartition(world.topics["events"], partition, offset, metadata) for partition in range(world.partitions)],
            asynchronous=False,
        )
    finally:
        writer.close()


def check_timers(world, due):
    """Each timer was sent once and no other, none before it was due, and the watermarks of the journal have no gap up to the
    one that is committed.

    What is committed shows in one topic after the other, and not before a transaction that a kill left open has timed out:
    what is missing may still come."""
    deadline = time.monotonic() + 30 * PATIENCE
    while problems := timer_problems(world, due) + journal_problems(world):
        if time.monotonic() > deadline:
            raise Failure(f"{len(problems)} problems, the first: " + "; ".join(sorted(problems)[:5]))
        pause(1)


def timer_problems(world, due):
    found = sent_timers(world)
    problems = [f"missing: {each}" for each in due.keys() - found.keys()]
    problems += [f"not due: {each}" for each in found.keys() - due.keys()]
    problems += [f"{len(records)} times: {each}" for each, records in found.items() if len(records) > 1]
    problems += [
        f"{due[each] - records[0].timestamp} ms early: {each}"
        for each, records in found.items()
        if each in due and records[0].timestamp + CLOCK_SLACK < due[each]
    ]
    return problems


def journal_problems(world):
    problems, steps, newest = [], collections.defaultdict(list), collections.Counter()
    for record in world.cluster.stream(world.topics["events"]):
        newest[record.partition] = max(newest[record.partition], record.timestamp)
    for record in world.cluster.read(world.topics["journal"]):
        value = json.loads(record.value)
        for span, mark in zip(value["ranges"], value["watermarks"], strict=True):
            before, after, until = watermarks_of(mark)
            steps[span["partition"]].append((span["from"], span["to"], before, after))
            if after > before and until > value["clock"]:
                problems.append(f"a tick before its time: {value}")
    for partition, (offset, words) in committed(world).items():
        at, watermark = 0, None
        for first, last, before, after in sorted(steps[partition]):
            if first != at or (watermark is not None and before != watermark):
                problems.append(f"partition {partition}: the journal jumps to {first}, {before} from {at}, {watermark}")
            at, watermark = last, after
        if steps[partition] and (offset, Watermark(words.get("w"), words.get("p", ""))) != (at, watermark):
            problems.append(f"partition {partition}: {offset}, {words} is committed, the journal ends at {at}, {watermark}")
        if words.keys() - {"p"} != {"w", "n", "t"} or (words["n"], words["t"]) != (world.partitions, newest[partition]):
            problems.append(f"partition {partition}: the metadata of the committed offset is {words}")
    return problems


def wait_for_timers(world, due, until_ms, meanwhile=lambda: None):
    """Returns when everything that is due has been sent, or at the deadline: what is missing then, the check will find."""
    looked = 0
    while now_ms() < until_ms:
        meanwhile()
        if time.monotonic() - looked > 1 and now_ms() > max(due.values()):
            if due.keys() <= sent_timers(world).keys():
                return
            looked = time.monotonic()
        pause()


def stop_all(daemons):
    """Each drains in time. They have to be at work first: a process that is only just starting ends at once by a signal."""
    wait_for_daemons("they are at work", lambda: all(each.has_line("assigned") for each in daemons), daemons)
    for each in daemons:
        each.stop(20)


def timers_by_device(world):
    """The devices by the message id of the timer, and how many records were there twice."""
    devices, twice = collections.defaultdict(set), 0
    for record in world.cluster.stream(world.topics["dispatch"]):
        headers = dict(record.headers)
        if headers["source"].startswith(b"schedule/"):
            found = devices[headers["message-id"]]
            twice += record.key in found
            found.add(record.key)
    return devices, twice
