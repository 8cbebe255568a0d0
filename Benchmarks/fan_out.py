"""The fan-out of orders' events with `confluent-kafka` and `orjson`, exactly once: each event becomes a push for each device that
is subscribed to its place. Of the rules it has what the benchmark's events need, and writes the same records as Carillon for them.

    fan_out.py BOOTSTRAP GROUP INPUT TABLE OUTPUT NUMBER INTERVAL_MS

One process of a group, until SIGTERM. NUMBER tells it from the others.
"""

import datetime
import hashlib
import signal
import sys
import time

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

# As many as one call hands over; if it is full, more events wait.
BATCH = 1000
# A transaction lasts so long while the program lags.
BEHIND = 0.5
LIFETIME_SECONDS = 3600
IDS = 36**9
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
READING = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}


class Subscriptions:
    """The devices of each place: what the topic says, read to its end at the start and then with every transaction."""

    def __init__(self, bootstrap, topic):
        settings = {"bootstrap.servers": bootstrap, "group.id": "subscriptions", "enable.partition.eof": True}
        self.consumer, self.audiences = Consumer(READING | settings), {}
        partitions = self.consumer.list_topics(topic, 30).topics[topic].partitions
        self.consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        unread = set(partitions)
        while unread:
            unread -= self.read(timeout=1)

    def read(self, timeout=0):
        """Takes in what has arrived; the partitions whose end was reached."""
        ended = set()
        for message in self.consumer.consume(BATCH, timeout):
            if error := message.error():
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                ended.add(message.partition())
                continue
            audience, _, token_hash = message.key().rpartition(b"|")
            devices = self.audiences.setdefault(audience.decode(), {})
            if message.value() is None:
                devices.pop(token_hash, None)
            else:
                value = orjson.loads(message.value())
                # As JSON, and as a header.
                devices[token_hash] = orjson.dumps(value["token"]), value["platform"].encode()
        return ended

    def devices(self, audience):
        return self.audiences.get(audience, {}).items()


def delivery(order):
    """(date, start, end), from the slot, from Salesforce's members or from a drone's, whichever is there."""
    shipping, metadata = order["shipping_info"], order["metadata"]
    slot = shipping.get("slot")
    if slot and "date" in slot:
        return slot["date"], slot["start_time"], slot["end_time"]
    if start := metadata.get("delivery_slot_start"):
        return start[:10], start[11:16], metadata["delivery_slot_end"][11:16]
    if slot:
        start, _, end = shipping["pickup_details"]["time_slot"].partition("-")
        return slot["delivery_date"], start, end
    return order["order_date"], "00:00", "23:59"


def message_id(moment, event_id, event_type, order_id):
    """As docs/rules.md, §6, says."""
    source = "\x1f".join(("v1", "event", event_id, event_type, order_id)).encode()
    number, digits = int.from_bytes(hashlib.sha256(source).digest()[:8], "big") % IDS, ""
    for _ in range(9):
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return f"msg-{moment}-{digits}"


def push(event):
    """(message id, expiry in ms, a JSON object with all members of an FCM message but the token)."""
    order = event["order"]
    date, start, end = delivery(order)
    event_type = "event_" + event["event_type"].lower()
    moment = round(datetime.datetime.fromisoformat(event["occurred_at"]).timestamp() * 1000)
    expires_at = moment + LIFETIME_SECONDS * 1000
    identity = message_id(moment, event["event_id"], event_type, order["id"])
    payload = {
        "message_id": identity,
        "order_id": order["id"],
        "parent_order_id": order["id"],
        "visible_id": order["order_number"],
        "event_type": event_type,
        "delivery_date": date,
        "start_time": start,
        "end_time": end,
        "place_id": order["place_id"],
    }
    if new_status := event.get("new_status"):
        payload["previous_status"], payload["new_status"] = event["previous_status"], new_status
        payload["order_number"] = order["order_number"]
    expiration = str(expires_at // 1000)
    shared = {
        "data": {"default": orjson.dumps({"data": payload}).decode()},
        "android": {"priority": "high", "ttl": f"{LIFETIME_SECONDS}s"},
        "apns": {
            "headers": {"apns-push-type": "background", "apns-priority": "5", "apns-expiration": expiration},
            "payload": {"aps": {"content-available": 1}},
        },
    }
    return identity.encode(), str(expires_at).encode(), orjson.dumps(shared)


class FanOut:
    """A transaction is open while `positions`, the next offsets of the partitions in it, has any."""

    def __init__(self, bootstrap, group, topics, number):
        self.input, self.output = topics
        self.positions, self.began = {}, 0
        common = {"bootstrap.servers": bootstrap}
        consuming = {
            "group.id": group,
            "group.instance.id": f"{group}-{number}",
            "session.timeout.ms": 10_000,
            "partition.assignment.strategy": "range",
            "fetch.wait.max.ms": 50,
            "queued.min.messages": 20_000,
            "queued.max.messages.kbytes": 16_384,
        }
        producing = {
            "transactional.id": f"{group}-{number}",
            "transaction.timeout.ms": 20_000,
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 500_000,
        }
        self.consumer, self.producer = Consumer(READING | common | consuming), Producer(common | producing)
        self.producer.init_transactions(30)

    def run(self, subscriptions, interval):
        # What is open is committed before another process gets its partitions.
        self.consumer.subscribe([self.input], on_revoke=lambda *_: self.commit())
        while True:
            messages = self.consumer.consume(BATCH, 0.01)
            if messages and not self.positions:
                subscriptions.read()
                self.producer.begin_transaction()
                self.began = time.monotonic()
            self.process(messages, subscriptions)
            age = time.monotonic() - self.began
            if age >= BEHIND or (age >= interval and len(messages) < BATCH):
                self.commit()

    def process(self, messages, subscriptions):
        """Produces the pushes of these events."""
        produce, topic = self.producer.produce, self.output
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            event = orjson.loads(message.value())
            identity, expires_at, shared = push(event)
            partition, offset = message.partition(), message.offset()
            source = f"{self.input}/{partition}/{offset}".encode()
            audience = f"place/{event['order']['place_id']}"
            for token_hash, (token, platform) in subscriptions.devices(audience):
                # What all devices share was written once.
                value = b'{"message":{"token":%b,%b}' % (token, shared[1:])
                headers = [("message-id", identity), ("platform", platform), ("source", source), ("expires-at", expires_at)]
                headers.append(("audience", audience.encode()))
                produce(topic, value, token_hash, headers=headers)
            self.positions[partition] = offset + 1
        self.producer.poll(0)

    def commit(self):
        if not self.positions:
            return
        offsets = [TopicPartition(self.input, partition, offset) for partition, offset in self.positions.items()]
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata())
        self.producer.commit_transaction()
        self.positions = {}


def main():
    bootstrap, group, source, table, output, number, interval = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    subscriptions = Subscriptions(bootstrap, table)
    FanOut(bootstrap, group, (source, output), number).run(subscriptions, int(interval) / 1000)


if __name__ == "__main__":
    main()
