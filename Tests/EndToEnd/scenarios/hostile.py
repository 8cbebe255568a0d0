"""Whatever a record's bytes are, the others are sent: a hostile producer writes to every topic that is read, beside honest traffic.
Pipeline, broadcasts and sender go on, each honest push is written once and accepted once, and memory stays within a limit."""

import collections
import json
import random
import signal
import sys
import time

from generator.broadcasts import subscribed
from generator.hostile import HostileProducer
from generator.inputs import Input, compact, event_about, subscription, subscription_key
from harness.broadcasting import BroadcastWorld
from harness.brokers import free_port
from harness.daemon import Daemon, wait_for_daemons
from harness.delivering import Sender
from harness.prometheus import fetch
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, expect, now_ms
from model.pushes import read_requests

SIZES = {"seconds": 12, "partitions": 3, "memory": 640}
# Records a second: honest events and requests, and hostile ones.
HONEST, HOSTILE = 60, 6
PLACES, DEVICES, CHANNEL_DEVICES = 5, 3, 100
CHANNEL = "honest"


def device(name):
    return f"honest-{name}"


class Siege:
    """One run: the topics, the three processes, what is written and what has to come of it."""

    def __init__(self, harness):
        self.harness, self.sizes, self.began = harness, harness.sizes, time.monotonic()
        self.chance = random.Random(f"siege {harness.seed}")
        self.world = BroadcastWorld(harness, "hostile", harness.cluster(), self.sizes.partitions, 0)
        self.cluster, self.topics = self.world.cluster, self.world.topics
        self.topics |= {name: f"{self.world.name}.{name}" for name in ("requests", "deliveries")}
        self.stand_in = StandIn(harness.stand_in, self.world.folder / "providers", harness.seed)
        self.hostile = HostileProducer(harness.seed, now_ms())
        # By source of an honest record: the hashes of the tokens of whom it is for.
        self.wanted, self.kinds, self.daemons, self.peaks = {}, collections.Counter(), [], {}
        # One for each codec: a producer has one.
        self.producers, self.answers, self.honest = {}, collections.Counter(), self.cluster.producer()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def settings(self, instance, **more):
        return self.world.settings(instance, workers=1, **more) | self.stand_in.settings()

    def prepare(self):
        settings = self.settings("operator")
        self.harness.command("topics", "create", "--partitions", str(self.sizes.partitions), settings=settings)
        # As on topics of others: the broker bounds neither the size of a batch nor a record's time.
        open_wide = {
            "compression.type": "producer",
            "message.timestamp.after.max.ms": str(2**63 - 1),
            "max.message.bytes": "2000000",
        }
        for name in ("events", "requests", "broadcasts", "subscriptions", "dispatch"):
            self.cluster.configure(self.topics[name], open_wide)
        records = [
            subscription(f"honest-{place}", device(f"{place}-{number}")) for place in range(PLACES) for number in range(DEVICES)
        ]
        for place in range(PLACES):
            value = json.loads(subscription("x", device(f"{place}-0")).value) | {"audience": f"user/honest-{place}"}
            records.append(Input(subscription_key(value["audience"], value["token"]), compact(value)))
        records += [subscribed(CHANNEL, device(f"channel-{number}"), now_ms()) for number in range(CHANNEL_DEVICES)]
        self.cluster.produce(self.topics["subscriptions"], records + self.hostile.subscriptions())

    def start(self):
        folder, binary = self.world.folder, self.harness.carillon
        self.pipeline = Daemon("pipeline", folder, self.settings("pipeline") | {"topic.broadcasts": ""}, "earliest", binary)
        self.broadcaster = self.world.daemon("broadcasts", workers=1)
        settings = self.settings("sender", http=f"127.0.0.1:{free_port()}", delivery_reap="off")
        settings |= {"delivery.give-up": "20s", "delivery.fcm-rate": 100_000_000}
        self.sender = Sender("sender", folder, settings, "earliest", binary)
        self.world.daemons += [self.pipeline, self.sender]
        self.daemons = [self.pipeline, self.broadcaster, self.sender]
        for each in self.daemons:
            each.start()
        self.world.wait_for_commits()
        wait_for_daemons(
            "every partition has a commit", lambda: len(self.committed("events")) == self.sizes.partitions, self.daemons
        )
        self.say("pipeline, broadcasts and sender are at work")

    def committed(self, topic):
        return self.cluster.committed(self.world.name, self.topics[topic])

    # -- What is written ----------------------------------------------------------------------------

    def attack(self, made):
        self.kinds[made.kind] += 1
        if made.codec not in self.producers:
            large = {"message.max.bytes": 10**9, "batch.size": 10**9, "linger.ms": 20, "enable.idempotence": False}
            self.producers[made.codec] = self.cluster.producer(**{"compression.type": made.codec}, **large)
        producer, topic, record = self.producers[made.codec], self.topics[made.topic], made.input
        more = {} if made.timestamp is None else {"timestamp": made.timestamp}
        # The topic of broadcasts has one partition.
        partition = 0 if made.topic == "broadcasts" else self.chance.randrange(self.sizes.partitions)

        def told(error, _):
            self.answers["refused by the broker" if error else "taken"] += 1

        producer.produce(topic, record.value, record.key, partition, on_delivery=told, headers=list(record.headers), **more)
        producer.poll(0)

    def produce_honest(self, topic, record, devices):
        """One record, with whom it is for, by its coordinates."""

        def told(error, message):
            if error:
                raise Failure(f"an honest record was not taken: {error}")
            source = f"{message.topic()}/{message.partition()}/{message.offset()}"
            self.wanted[source] = {subscription_key("", each).split(b"|")[1] for each in devices}

        self.honest.produce(self.topics[topic], record.value, record.key, on_delivery=told)
        self.honest.poll(0)

    def produce_one(self, number):
        place = self.chance.randrange(PLACES)
        if number % 3:
            # Without a slot there is no timer.
            order = {"id": f"honest-{number}", "order_number": str(number), "place_id": f"honest-{place}", "status": "pending"}
            devices = [device(f"{place}-{each}") for each in range(DEVICES)]
            self.produce_honest("events", event_about(order, f"honest-{number}"), devices)
        else:
            body = {"request_id": f"honest-{number}", "audience": f"user/honest-{place}", "message": {"title": "Hello"}}
            self.produce_honest("requests", Input(body["audience"].encode(), compact(body)), [device(f"{place}-0")])

    def publish(self):
        identity, record = self.world.broadcasts.to_channel(CHANNEL, now_ms())
        self.produce_honest("broadcasts", record, [device(f"channel-{each}") for each in range(CHANNEL_DEVICES)])

    def load(self):
        seconds, began, made, attacks, published = self.sizes.seconds, time.monotonic(), 0, 0, 0
        restarts = [(share * seconds, each) for share, each in zip((0.3, 0.5, 0.7), self.daemons, strict=True)]
        while (at := time.monotonic() - began) < seconds:
            while made < at * HONEST:
                self.produce_one(made)
                made += 1
            if attacks < at * HOSTILE:
                self.attack(self.hostile.next())
                attacks += 1
            if published < at / 3:
                self.publish()
                published += 1
            if restarts and restarts[0][0] < at:
                self.restart(restarts.pop(0)[1])
            for each in self.daemons:
                each.expect_running()
        # Where a process took long to drain, those that were left out: each kind has its turns.
        while attacks < seconds * HOSTILE:
            self.attack(self.hostile.next())
            attacks += 1
        # The last words are honest, in every partition: who is held up by what is before them does not come to them.
        for number in range(made, made + 20 * self.sizes.partitions):
            self.produce_one(number)
        for producer in (*self.producers.values(), self.honest):
            if producer.flush(60):
                raise Failure("records were not delivered")
        self.say(f"{made:,} honest records, {published} broadcasts; {attacks} hostile ones: {dict(self.answers)}")

    def restart(self, daemon):
        """Killed, and started again; the sender drains, since a push whose answer it has not seen would be sent again."""
        self.note_peak(daemon)
        if daemon is self.sender:
            daemon.stop(45)
        else:
            daemon.kill()
        daemon.start()
        self.say(f"{daemon.name} starts again")

    def note_peak(self, daemon):
        self.peaks[daemon.name] = max(self.peaks.get(daemon.name, 0), daemon.peak)

    # -- What has to come of it ---------------------------------------------------------------------

    def ended(self):
        """By topic, partition and offset of the dispatch record: its outcomes."""
        found = collections.defaultdict(list)
        for record in self.cluster.stream(self.topics["deliveries"]):
            value = json.loads(record.value)
            found[value["topic"], value["partition"], value["offset"]].append(value["outcome"])
        return found

    def honest_pushes(self):
        """The records of both dispatch topics that are of honest records."""
        for topic in (self.topics["dispatch"], self.world.dispatch):
            for record in self.cluster.stream(topic):
                source = dict(record.headers or ()).get("source", b"").decode(errors="replace")
                if source in self.wanted:
                    yield source, record

    def missing(self):
        """The honest pushes that are not written, each as the source and the hash of the token."""
        found = {(source, record.key) for source, record in self.honest_pushes()}
        return [(source, key) for source, keys in self.wanted.items() for key in keys if (source, key) not in found]

    def finish(self):
        for topic in ("events", "requests"):
            wait_for_daemons(
                f"the pipeline is at the end of {topic}",
                lambda topic=topic: self.committed(topic) == self.cluster.ends(self.topics[topic]),
                self.daemons,
                90,
            )
        self.say("the pipeline has read everything")
        wait_for_daemons("every honest push is written", lambda: not self.missing(), self.daemons, 40)
        self.say("every honest push is written")
        places = [(each.topic, each.partition, each.offset) for _, each in self.honest_pushes()]

        def have_ended():
            ended = self.ended()
            return all(each in ended for each in places)

        wait_for_daemons("every honest push has an outcome", have_ended, self.daemons, 60)
        for each in self.daemons:
            self.note_peak(each)
            self.say(f"{each.name} ended in {each.stop(45):.1f} s; at most {self.peaks[each.name]} MiB")
        self.stand_in.end()

    def verify(self):
        found, accepted = collections.Counter(), collections.Counter()
        for each in read_requests(self.stand_in.log):
            accepted[each.device, each.message] += each.is_accepted
        ended = self.ended()
        for source, record in self.honest_pushes():
            found[source, record.key] += 1
            place = record.topic, record.partition, record.offset
            if ended[place] != ["accepted"]:
                raise Failure(f"the push of {source} at {place} ended as {ended[place]}")
            push = record.key.decode(), dict(record.headers)["message-id"].decode()
            if accepted[push] != 1:
                raise Failure(f"the push of {source} was accepted {accepted[push]} times")
        wanted = collections.Counter((source, key) for source, keys in self.wanted.items() for key in keys)
        expect("honest pushes that are missing", list((wanted - found).items())[:5], [])
        expect("honest pushes that are there twice", list((found - wanted).items())[:5], [])
        if len(found) < HONEST * self.sizes.seconds:
            raise Failure(f"only {len(found)} honest pushes")
        letters = [dict(each.headers) for each in self.cluster.read(self.topics["dead-letters"])]
        codes = collections.Counter(each["x-error-code"].decode() for each in letters)
        bombed = {each["__connect.errors.topic"].decode() for each in letters if each["x-error-code"] == b"unreadable_batch"}
        expect("topics with an unreadable batch", bombed, {self.topics[each] for each in ("broadcasts", "events", "requests")})
        self.say(f"{len(found)} honest pushes; dead letters {dict(codes)}; kinds {dict(self.kinds)}")
        if len(codes) < 4:
            raise Failure(f"hardly any hostile record was a dead letter: {codes}")
        for name, peak in self.peaks.items():
            if peak > self.sizes.memory:
                raise Failure(f"{name} took {peak} MiB, more than {self.sizes.memory}")


@scenario(
    "whatever is written to the topics that are read, each honest push is written once and accepted once, and memory is bounded"
)
def hostile(harness):
    siege = Siege(harness)
    try:
        siege.prepare()
        siege.start()
        siege.load()
        siege.finish()
        siege.verify()
    except Failure:
        missing = siege.missing()
        siege.say(f"{len(missing)} honest pushes are missing: {missing[:3]}")
        raise
    finally:
        siege.stand_in.end()
        siege.world.kill_daemons()


@scenario("a traceparent of a megabyte costs a place with 2,000 devices less than 10 MB, and the event behind it is sent")
def traceparent(harness):
    world = harness.make_world("traceparent", partitions=1).create_topics()
    world.cluster.produce(world.topics["subscriptions"], [subscription("many", f"made-up-{number}") for number in range(2_000)])
    order = {"id": "o1", "order_number": "1", "place_id": "many", "status": "pending"}
    events = [event_about(order, f"e{number}") for number in range(2)]
    world.cluster.produce(world.topics["events"], [events[0]._replace(headers=(("traceparent", b"0" * 1_000_000),)), events[1]])
    daemon = world.started()
    world.wait_until_done()
    daemon.stop()
    pushes = world.cluster.read(world.topics["dispatch"])
    expect("pushes", len(pushes), 4_000)
    size = sum(len(each.key) + len(each.value) + sum(len(name) + len(value) for name, value in each.headers) for each in pushes)
    print(f"{size / 1e6:.1f} MB for {len(pushes):,} pushes", flush=True)
    if size > 10_000_000:
        raise Failure(f"{size:,} bytes for {len(pushes):,} pushes")


def page(port, name):
    """Status and text; nothing where no process answers yet."""
    try:
        status, _, text = fetch(f"http://127.0.0.1:{port}/{name}")
        return status, text
    except OSError:
        return 0, ""


@scenario("a partition where three processes died of memory is held, the others are sent once, and a command passes the batch")
def held(harness):
    """The memory is made up: a debug build dies where it waits at this place."""
    world = harness.make_world("held", schedule=False).create_topics()
    events, port = world.topics["events"], free_port()
    world.cluster.produce(world.topics["subscriptions"], [subscription("held", "made-up")])
    for partition in range(2):
        orders = [{"id": f"{partition}-{each}", "order_number": "1", "place_id": "held", "status": "pending"} for each in range(3)]
        world.cluster.produce(events, [event_about(order, f"e{order['id']}") for order in orders], partition=partition)
    settings = world.settings("a", http=f"127.0.0.1:{port}")
    daemon = world.daemon("a", settings, binary=harness.require_debug_build())
    daemon.variables = {"CARILLON_FAULT_BOMB": f"{events}/0/0"}
    for _ in range(3):
        daemon.start().expect_exit(-signal.SIGKILL)
    daemon.start()
    place = f"{events}/0/0"
    wait_for_daemons("it is held", lambda: f"{place} is held" in page(port, "ready")[1], [daemon])
    wait_for_daemons("the other partition is read", lambda: world.committed.get(1) == 3, [daemon])
    expect("what is committed", world.committed, {0: 0, 1: 3})
    daemon.expect_line("is held", f"carillon offsets pass {place}")
    # The worker has another consumer once every partition has had its turn.
    series = f'carillon_held_partitions{{topic="{events}",partition="0"}} 1'
    wait_for_daemons("the metric has it", lambda: series in page(port, "metrics")[1].splitlines(), [daemon], 10)
    harness.command("offsets", "pass", f"{events}/0/1", settings=settings, expected=1)
    harness.command("offsets", "pass", place, settings=settings)
    daemon.stop()
    daemon.variables = {}
    daemon.start()
    world.wait_until_done()
    wait_for_daemons("it is ready", lambda: page(port, "ready")[0] == 200, [daemon])
    daemon.stop()
    sources = sorted(dict(each.headers)["source"].decode() for each in world.cluster.read(world.topics["dispatch"]))
    expect("the pushes' events", sources, [f"{events}/{each}" for each in ("0/1", "0/2", "1/0", "1/1", "1/2")])
    letters = [dict(each.headers) for each in world.cluster.read(world.topics["dead-letters"])]
    expect("the codes", [each["x-error-code"] for each in letters], [b"unreadable_batch"])
    expect("the offsets", [each["__connect.errors.offset"] for each in letters], [b"0"])


if __name__ == "__main__":
    sys.exit(main("hostile", __doc__, globals(), sizes=SIZES))
