"""Subscribes a device to an audience, and unsubscribes it: the records that Carillon reads. Needs `pip install confluent-kafka`."""

import hashlib
import json
import os
import sys
from datetime import datetime, timezone

from confluent_kafka import Producer

TOPIC = os.environ.get("SUBSCRIPTIONS_TOPIC", "notifications.subscriptions")


def make_producer(bootstrap):
    # librdkafka's default partitioner is another one, and Carillon would skip its records.
    return Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True})


def register(producer, audience, platform, app, token):
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    subscription = {"audience": audience, "token": token, "platform": platform, "app": app, "last_seen_at": now}
    write(producer, key_of(audience, token), json.dumps(subscription))


def unregister(producer, audience, token):
    write(producer, key_of(audience, token), None)


def key_of(audience, token):
    return f"{audience}|{hashlib.sha256(token.encode()).hexdigest()}"


def write(producer, key, value):
    """Returns when the record is written; a service would write many and wait less often."""
    failures = []
    producer.produce(TOPIC, key=key, value=value, on_delivery=lambda error, _: failures.append(error) if error else None)
    if producer.flush(30) or failures:
        raise RuntimeError(f"not written: {failures or 'no answer'}")


def main(arguments):
    match arguments:
        case [bootstrap, "register", audience, platform, app]:
            register(make_producer(bootstrap), audience, platform, app, sys.stdin.read().strip())
        case [bootstrap, "unregister", audience]:
            unregister(make_producer(bootstrap), audience, sys.stdin.read().strip())
        case _:
            sys.exit("usage: subscriptions.py BOOTSTRAP register AUDIENCE PLATFORM APP | unregister AUDIENCE  < token")


if __name__ == "__main__":
    main(sys.argv[1:])
