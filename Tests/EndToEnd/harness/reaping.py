"""Worlds with subscriptions and outcomes of pushes, and `carillon deliver reap` in them."""

import hashlib

from generator.inputs import compact, iso, subscription
from harness import offsets
from harness.daemon import EXIT_DONE
from harness.replaying import ReplayProcess, documents
from harness.waiting import Failure, now_ms

HOUR_MS = 3_600_000


class ReapProcess(ReplayProcess):
    """A `carillon deliver` that runs beside the test."""

    command = "deliver"


def reap(world, *arguments, expected=EXIT_DONE):
    """`carillon deliver reap … --json` to its end: the documents that it printed, and what it said."""
    return documents(world, "deliver", "reap", *arguments, settings=world.settings("reap"), expected=expected)


def reap_beside(world, *arguments):
    """One that runs beside the test, with --yes."""
    return ReapProcess(world, "reap", "--yes", "--json", *arguments, settings=world.settings("reap"))


def token(number):
    return f"reap-device-{number}"


def registered(number, place="p0", age=3 * HOUR_MS, **members):
    """The record of a device that registered so long ago, and when that was."""
    time = now_ms() - age
    return subscription(place, token(number), registered_at=iso(time), **members), time


def subscribe(world, *records):
    producer = world.cluster.producer()
    for each, time in records:
        producer.produce(world.topics["subscriptions"], key=each.key, value=each.value, timestamp=time)
    if producer.flush(60):
        raise Failure("subscriptions were not written")


def outcome(number, kind="dead_device", age=HOUR_MS, credential="shop", **members):
    """What became of a push, as `notifications.deliveries` has it; anything but a dead device is of now."""
    dead = {"reason": "UNREGISTERED", "evidence": now_ms() - age} if kind == "dead_device" else {}
    return compact(
        {
            "outcome": kind,
            "topic": "dispatch",
            "partition": 0,
            "offset": 0,
            "message_id": "msg-0-0",
            "device": hashlib.sha256(token(number).encode()).hexdigest(),
            "platform": "fcm",
            "status": 404 if dead else 200,
        }
        | dead
        | {"credential": credential, "attempts": 1, "last_sent_at": dead.get("evidence", now_ms())}
        | members
    )


def answered(world, *values, partition=0):
    producer = world.cluster.producer()
    for value in values:
        producer.produce(world.topics["deliveries"], key=b"device", value=value, partition=partition)
    if producer.flush(60):
        raise Failure("outcomes were not written")


def committed(world):
    """By partition, what the reaper's group has committed: offset and metadata. Waits for no open transaction."""
    topic = world.topics["deliveries"]
    found = offsets.committed(world.cluster.bootstrap, f"{world.name}-reap", topic, world.cluster.partitions(topic))
    return {partition: each for partition, each in found.items() if each[0] >= 0}


def subscriptions(world):
    """Every record of the subscriptions that is committed."""
    return world.cluster.read(world.topics["subscriptions"])


def live(world):
    """Who is subscribed to what: the keys."""
    table = {each.key: each.value for each in subscriptions(world)}
    return {key for key, value in table.items() if value is not None}


def nulls(world):
    """What was removed by evidence: (key, when that is, the offset below which the registrar knew the log)."""
    marks = [(each.key, dict(each.headers)["dead"].decode().split("/")) for each in subscriptions(world) if each.value is None]
    return [(key, int(evidence), int(known)) for key, (evidence, known) in marks]
