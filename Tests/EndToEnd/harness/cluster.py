"""The tests' own way to Kafka: another client than Carillon's, which reads what is committed."""

import time

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from harness.waiting import PATIENCE, Failure, pause, wait_for
from model.records import Record

_TRANSIENT = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
}


def answer(question, seconds=60):
    """The answer of a broker, which is asked again while it has only just started or moves partitions."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        try:
            return question()
        except KafkaException as error:
            if error.args[0].code() not in _TRANSIENT or time.monotonic() > deadline:
                raise
        pause()


class Cluster:
    """A cluster as a client with these settings sees it."""

    def __init__(self, bootstrap, **settings):
        self.settings = {"bootstrap.servers": bootstrap, "log_level": 2} | settings
        self.admin = AdminClient(self.settings)
        self.observers = {}

    @property
    def bootstrap(self):
        return self.settings["bootstrap.servers"]

    def create_topics(self, topics):
        """Topics by name: (partitions, settings)."""
        made = self.admin.create_topics(
            [NewTopic(name, partitions, config=settings) for name, (partitions, settings) in topics.items()]
        )
        for future in made.values():
            future.result(30)
        for name in topics:
            wait_for(f"topic {name} is there", lambda: self.partitions(name), 30)

    def delete_topic(self, topic):
        """Returns when no broker knows the topic any more, so that another one can have its name."""
        for future in self.admin.delete_topics([topic]).values():
            future.result(30)
        wait_for(f"topic {topic} is gone", lambda: not self.partitions(topic), 30)

    def add_partitions(self, topic, count):
        for future in self.admin.create_partitions([NewPartitions(topic, count)]).values():
            future.result(30)
        wait_for(f"{topic} has {count} partitions", lambda: len(self.partitions(topic)) == count, 30)

    def configure(self, topic, settings):
        """Returns when the broker has them, which the controller's answer does not say."""
        entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        for future in self.admin.incremental_alter_configs([resource]).values():
            future.result(30)
        for name, value in settings.items():
            wait_for(f"{topic} has {name}={value}", lambda name=name, value=value: self.setting(topic, name) == value, 30)

    def setting(self, topic, name):
        """A topic's setting, as a broker has it now."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return answer(lambda: self.admin.describe_configs([resource])[resource].result(30))[name].value

    def delete_records(self, topic, partition, before):
        for future in self.admin.delete_records([TopicPartition(topic, partition, before)]).values():
            future.result(30)

    def partitions(self, topic):
        found = answer(lambda: self.admin.list_topics(topic, timeout=10)).topics[topic]
        return [] if found.error else sorted(found.partitions)

    def producer(self, **settings):
        """Chooses partitions as a Java client does; compresses, and takes big records."""
        return Producer(
            self.settings
            | {
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "message.max.bytes": 16 << 20,
                "linger.ms": 5,
                "enable.idempotence": True,
                "queue.buffering.max.messages": 500_000,
            }
            | settings
        )

    def produce(self, topic, inputs, partition=-1):
        producer = self.producer()
        for each in inputs:
            producer.produce(topic, key=each.key, value=each.value, headers=list(each.headers), partition=partition)
        if producer.flush(60):
            raise Failure(f"records for {topic} were not delivered")

    def offsets(self, topic, spec, isolation=IsolationLevel.READ_COMMITTED):
        asked = {TopicPartition(topic, partition): spec for partition in self.partitions(topic)}

        def ask():
            answers = self.admin.list_offsets(asked, isolation_level=isolation, request_timeout=10)
            return {each.partition: future.result(15).offset for each, future in answers.items()}

        return answer(ask)

    def starts(self, topic):
        return self.offsets(topic, OffsetSpec.earliest())

    def ends(self, topic, uncommitted=False):
        """The last stable offset of each partition; or its end, with transactions that are open."""
        isolation = IsolationLevel.READ_UNCOMMITTED if uncommitted else IsolationLevel.READ_COMMITTED
        return self.offsets(topic, OffsetSpec.latest(), isolation)

    def wait_until_readable(self, topics, seconds=60):
        """Until all that these topics have now is committed or aborted: a transaction's markers come to one topic after the other,
        and to the group's offsets not last."""
        written = {topic: self.ends(topic, uncommitted=True) for topic in topics}

        def is_readable():
            found = {topic: self.ends(topic) for topic in topics}
            return all(found[topic].get(at, -1) >= end for topic, ends in written.items() for at, end in ends.items())

        wait_for(f"no transaction is open in {', '.join(topics)}", is_readable, seconds)

    def committed(self, group, topic):
        """The group's committed offset of each partition that has one. By a consumer: the admin client crashes when the
        group's coordinator is only just starting. Read uncommitted, so that an open transaction blocks no answer."""
        if group not in self.observers:
            self.observers[group] = Consumer(
                self.settings | {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
            )
        asked = [TopicPartition(topic, partition) for partition in self.partitions(topic)]
        found = answer(lambda: self.observers[group].committed(asked, timeout=10))
        return {each.partition: each.offset for each in found if each.offset >= 0}

    def lag(self, group, topic):
        """How many records of a topic the group has not committed."""
        return sum(self.ends(topic).values()) - sum(self.committed(group, topic).values())

    def members(self, group):
        def ask():
            # A new client each time: one that has seen the coordinator die may wait for that connection for ever.
            admin = AdminClient(self.settings)
            return admin.describe_consumer_groups([group], request_timeout=10)[group].result(15)

        return answer(ask).members

    def in_sync(self):
        """Whether every partition of every topic has all its replicas."""
        topics = answer(lambda: self.admin.list_topics(timeout=10)).topics.values()
        return all(len(each.isrs) == len(each.replicas) for topic in topics for each in topic.partitions.values())

    def read(self, topic, forgets=False):
        """Every committed record of a topic, sorted by partition and offset."""
        return sorted(self.stream(topic, forgets), key=lambda record: (record.partition, record.offset))

    def stream(self, topic, forgets=False):
        """Every committed record of a topic as it arrives: within each partition in the order of offsets. Where the topic
        `forgets`, its first ones may be deleted meanwhile."""
        ends = self.ends(topic)
        consumer = Consumer(
            self.settings
            | {
                "group.id": "endtoend-reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest" if forgets else "error",
                "queued.max.messages.kbytes": 262_144,
                # Also bounds what a batch of zstd may become.
                "receive.message.max.bytes": 1_000_000_000,
            }
        )
        reading = {partition for partition, end in ends.items() if end > 0}
        consumer.assign(
            [TopicPartition(topic, partition, start) for partition, start in self.starts(topic).items() if partition in reading]
        )
        deadline = time.monotonic() + 60
        while reading:
            if time.monotonic() > deadline:
                raise Failure(f"{topic} could not be read to its end: nothing came for a minute")
            for message in consumer.consume(5000, timeout=1):
                if error := message.error():
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise Failure(f"reading {topic}: {error}")
                    if message.offset() >= ends[message.partition()]:
                        reading.discard(message.partition())
                    continue
                yield Record(
                    topic,
                    message.partition(),
                    message.offset(),
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    tuple(message.headers() or ()),
                )
                # Counts from the last record: between two records the time is that of whoever reads the stream.
                deadline = time.monotonic() + 60
        consumer.close()
