"""Orders with slots, and what became of their timers: what the scenarios of timers share."""

import collections
import datetime
import hashlib
import json
import threading
import time
import zoneinfo

from confluent_kafka import Consumer, TopicPartition

from generator.inputs import Input, compact, iso
from harness import offsets
from harness.cluster import PATIENCE, Failure, pause
from harness.daemon import wait_for_daemons
from harness.scenario import make_world
from model.journal import watermarks_of
from model.orders import Watermark

MINUTE = 60_000
# Over how many seconds the places' timers are spread: a schedule that lasts long enough to be disturbed.
SPREAD = 40
PLACES = 24
# A record has the wall clock's time; timers go by the time that has gone since the start. Somebody may set the clock by a little.
CLOCK_SLACK = 1000
TYPES = ("event_timeslot_started", "event_unpicked_orders_reminder")


def now_ms():
    return int(time.time() * 1000)


def spread_of(place, most=SPREAD):
    """By how many seconds the timers of a place go later: FNV-1a, as the pipeline has it, worked out here anew."""
    value = 0xCBF29CE484222325
    for byte in place.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return (value ^ value >> 32) % (most + 1)


def make_schedule_world(name, partitions=4, **events):
    """A world with one device at each place, so that a timer is one record; `events` are settings of the events' topic."""
    world = make_world(name, partitions=partitions, places=2, crowd=1)
    world.places = [f"{name}-{index}" for index in range(PLACES)]
    world.subscriptions = [subscription(place) for place in world.places]
    return world.create_topics(**events)


def subscription(place, number=0):
    token = f"device-{place}-{number}"
    value = {
        "audience": f"place/{place}",
        "token": token,
        "platform": "fcm",
        "app": "com.example.shop",
        "environment": "production",
    }
    return Input(f"place/{place}|{hashlib.sha256(token.encode()).hexdigest()}".encode(), compact(value))


def order_event(world, order, place, kind="ORDER_CREATED", status="pending", start=None, at=None, **more):
    """(input, record time) of an event about an order; `start` is when its slot starts."""
    at = at or now_ms()
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
    """Orders with one timer each that is due at `at` and the spread of its place: the start of a slot, or one of its three
    reminders. Their events, and when each (order, type) is due."""
    events, due = [], {}
    for index in range(count):
        number, place = index % 4, world.places[index * 7 % len(world.places)]
        order = f"{world.name}-{index}"
        events.append(order_event(world, order, place, start=at - number * 15 * MINUTE))
        due[order, TYPES[min(number, 1)]] = at + spread_of(place) * 1000
    return events, due


def timers(world):
    """What was sent by the clock: (order, type) → the records."""
    found = collections.defaultdict(list)
    for record in world.cluster.read(world.topics["dispatch"]):
        if dict(record.headers)["source"].startswith(b"schedule/"):
            data = json.loads(json.loads(record.value)["message"]["data"]["default"])["data"]
            found[data["order_id"], data["event_type"]].append(record)
    return found


def committed(world):
    """The group's offsets with the words of their metadata: partition → (offset, {word: number, of p its digits})."""
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
    """Commits an offset of every partition, the beginning by default, for the group from outside, with this metadata."""
    writer = Consumer(world.cluster.settings | {"group.id": world.name, "enable.auto.commit": False})
    try:
        writer.commit(
            offsets=[TopicPartition(world.topics["events"], partition, offset, metadata) for partition in range(world.partitions)],
            asynchronous=False,
        )
    finally:
        writer.close()


def check_timers(world, due):
    """Each timer once and no other, none before it was due, and the journal's watermarks without a gap up to the one that
    is committed.

    What is committed shows in one topic after the other, and not before a transaction that a kill left open has timed out:
    what is missing may come. Nothing that is there goes away."""
    deadline = time.monotonic() + 30 * PATIENCE
    while problems := timer_problems(world, due) + journal_problems(world):
        if time.monotonic() > deadline:
            raise Failure(f"{len(problems)} problems, the first: " + "; ".join(sorted(problems)[:5]))
        pause(1)


def timer_problems(world, due):
    found = timers(world)
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
    """Until everything that is due has been sent, or the deadline, which is the check's to find fault with."""
    looked = 0
    while now_ms() < until_ms:
        meanwhile()
        if time.monotonic() - looked > 1 and now_ms() > max(due.values()):
            if due.keys() <= timers(world).keys():
                return
            looked = time.monotonic()
        pause()


def stop_all(daemons):
    """Drained in time, each; not before they are at work, since a process that has hardly begun dies of a signal."""
    wait_for_daemons("they are at work", lambda: all(each.has_line("assigned") for each in daemons), daemons)
    for each in daemons:
        each.stop(20)


class Visibility:
    """Sends an event now and then, and notes how long it takes until what it gives can be read: until the journal's entry
    about it can, which is in the same transaction. Collects the slices of ticks, too."""

    def __init__(self, world):
        self.world, self.sent, self.seconds, self.slices, self.is_over = world, {}, [], [], threading.Event()
        self.first_slice = None
        self.producer = world.cluster.producer(**{"linger.ms": 0})
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        # Those that are on their way count, too.
        deadline = time.monotonic() + 30 * PATIENCE
        while len(self.seconds) < len(self.sent) and time.monotonic() < deadline and self.thread.is_alive():
            pause()
        self.is_over.set()
        self.thread.join()

    @property
    def longest(self):
        """Of those that were sent while timers went: before, they may have waited for a backlog."""
        return max((seconds for began, seconds in self.seconds if self.first_slice and began >= self.first_slice), default=0)

    def _run(self):
        reader = Consumer(
            self.world.cluster.settings
            | {"group.id": "visibility", "isolation.level": "read_committed", "enable.auto.commit": False}
        )
        reader.assign([TopicPartition(self.world.topics["journal"], 0, 0)])
        next_event, number = time.monotonic(), 0
        while not self.is_over.is_set():
            if time.monotonic() > next_event and number < 1_000:
                next_event, number = time.monotonic() + 0.2, number + 1
                (key, value, _), _ = order_event(self.world, f"visible-{number}", self.world.places[0])
                began = time.monotonic()
                self.producer.produce(
                    self.world.topics["events"],
                    key=key,
                    value=value,
                    on_delivery=lambda _, record, began=began: self._delivered(record, began),
                )
            self.producer.poll(0)
            message = reader.poll(0.02)
            if message is None or message.error():
                continue
            entry = json.loads(message.value())
            self.slices += [mark for mark in entry["watermarks"] if len(set(watermarks_of(mark)[:2])) == 2]
            if self.slices and self.first_slice is None:
                self.first_slice = time.monotonic()
            for span in entry["ranges"]:
                for place in [each for each in self.sent if each[0] == span["partition"] and span["from"] <= each[1] < span["to"]]:
                    if (began := self.sent[place]) is not None:
                        self.seconds.append((began, time.monotonic() - began))
                        self.sent[place] = None
        reader.close()

    def _delivered(self, record, began):
        self.sent[record.partition(), record.offset()] = began


def timers_by_device(world):
    """Of each timer's message id how many devices got it, and how many records were there twice."""
    devices, twice = collections.defaultdict(set), 0
    for record in world.cluster.stream(world.topics["dispatch"]):
        headers = dict(record.headers)
        if headers["source"].startswith(b"schedule/"):
            found = devices[headers["message-id"]]
            twice += record.key in found
            found.add(record.key)
    return devices, twice
