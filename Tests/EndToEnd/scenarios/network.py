"""Faults of the network, by a proxy between a role and a broker: nothing lost, nothing twice, order kept."""

import contextlib
import itertools
import sys
import threading
import time
from typing import NamedTuple

from generator.broadcasts import GENERAL
from generator.dispatch import Pushes
from generator.inputs import event_about, subscription
from harness.broadcasting import BroadcastWorld
from harness.brokers import free_port
from harness.cluster import Cluster
from harness.daemon import wait_for_daemons
from harness.delivering import DeliveryWorld
from harness.harness import Harness
from harness.prometheus import fetch
from harness.proxy import DROPPED, NOT_HELD, TXN_OFFSET_COMMIT, Faults, Hold, Proxy
from harness.redrive import check_once, missed, redrive_beside, wait_for_sent
from harness.replaying import CONFIRMATION, documents
from harness.scenario import main, scenario
from harness.stand_in import StandIn
from harness.waiting import Failure, expect, now_ms, pause, wait_for
from harness.world import check
from model.deliveries import verify_deliveries
from model.pushes import read_requests

# Short, so that a fault takes seconds: a request is given up after 2 s, a commit after 16 s.
TIMES = {"kafka.socket.timeout.ms": 2_000, "transaction.timeout": "6s", "session.timeout": "10s", "shutdown.timeout": "6s"}

MOST_DEVICES = 10_000


class Network(NamedTuple):
    """A broker, and a proxy before it."""

    harness: Harness
    cluster: Cluster
    proxy: Proxy


@contextlib.contextmanager
def one_broker_behind_a_proxy(harness):
    proxy = Proxy()
    with harness.brokers("--proxied", proxy.port) as brokers:
        cluster = Cluster(brokers.start())
        proxy.broker_port = int((brokers.folder / "proxied").read_text())
        yield Network(harness, cluster, proxy)


class Passage:
    """What a daemon behind the proxy meets."""

    def __init__(self, network, name):
        self.faults = network.proxy.faults[name] = Faults(network.harness.seed)
        # Its daemon, once it is made with these settings.
        self.daemon = None
        self.settings = TIMES | {"kafka.bootstrap.servers": f"127.0.0.1:{network.proxy.port}", "kafka.client.id": name}

    def until(self, what, condition, seconds=60):
        wait_for_daemons(f"{what} ({dict(self.faults.counts)})", condition, [self.daemon], seconds)

    def until_counted(self, **counts):
        for name, count in counts.items():
            words = name.replace("_", " ")
            self.until(f"{count} {words}", lambda: self.faults.counts[words] >= count)

    def calm(self):
        self.faults.lifetime, self.faults.latency, self.faults.commit = None, 0, lambda _: NOT_HELD

    def endure(self, work):
        """Connections that die, then no reply to any commit for longer than one may take, while `work` is done again and again."""

        def and_work(condition):
            work()
            return condition()

        counts, commits = self.faults.counts, self.faults.counts["commits"]
        self.faults.lifetime = (1, 3)
        self.until("connections die", lambda: and_work(lambda: counts["cut"] >= 40 and counts["commits"] >= commits + 10))
        self.calm()
        # Connections that die may have cost it one, too.
        before = self.replaced_producers()
        self.faults.commit = lambda _: Hold(reply=DROPPED)
        self.until("the producer is replaced", lambda: and_work(lambda: self.replaced_producers() > before))
        self.calm()

    def replaced_producers(self):
        """How many it has given up after a commit."""
        lines = self.daemon.log().splitlines()
        return sum("recreates its producer" in line and "commit_transaction" in line for line in lines)


class Journey(Passage):
    """A pipeline behind the proxy, and a steady load of events for it."""

    def __init__(self, network, name, **settings):
        super().__init__(network, name)
        harness = network.harness
        # A record that waits in the load's producer is not there before it is appended: no timer has overtaken it.
        world = harness.make_world(name, network.cluster, partitions=4, places=200, crowd=20)
        self.world = world.create_topics(message_timestamp_type="LogAppendTime")
        self.daemon = self.world.daemon("a", self.world.settings("a") | self.settings | {"workers": 2} | settings)

    @contextlib.contextmanager
    def under_load(self, rate=60):
        """Produces events at this rate while the body runs, which begins after the first commits."""
        halted = threading.Event()

        def load():
            producer, topic = self.world.cluster.producer(), self.world.topics["events"]
            while not halted.is_set():
                for _ in range(rate // 20):
                    each = self.world.events.next()
                    producer.produce(topic, key=each.key, value=each.value, headers=list(each.headers))
                producer.poll(0)
                halted.wait(0.05)
            producer.flush(60)

        self.daemon.start()
        loader = threading.Thread(target=load)
        loader.start()
        try:
            self.until("it has committed under load", lambda: sum(self.world.committed.values()) > rate // 2)
            yield
        finally:
            halted.set()
            loader.join()

    def arrive(self):
        """To the end of the events over a network without faults; then the verifier."""
        self.calm()
        self.world.wait_until_done(60)
        self.daemon.stop()
        report = self.world.verify()
        print(
            f"   {self.world.name}: {report.counts['events']:,} events, {report.counts['dispatched']:,} pushes; "
            f"{dict(self.faults.counts)} {dict(self.faults.late_answers)}",
            flush=True,
        )
        check(report)


@scenario("connections that die after 1 to 3 s", background=True)
def dying_connections(network):
    journey = Journey(network, "dying-connections")
    with journey.under_load():
        before = journey.faults.counts["commits"]
        journey.faults.lifetime = (1, 3)
        journey.until_counted(cut=60, commits=before + 10)
    journey.arrive()


@scenario("100 ms of latency in each direction", background=True)
def latency(network):
    # Times that hold beside eleven other scenarios, whose connections go through the same proxy.
    patient = {"kafka.socket.timeout.ms": 60_000, "transaction.timeout": "60s", "session.timeout": "60s"}
    journey = Journey(network, "latency", **patient)
    with journey.under_load():
        journey.faults.latency = 0.1
        before = journey.faults.counts["commits"]
        journey.until("20 commits", lambda: journey.faults.counts["commits"] >= before + 20)
    # Slow is not lost: no client had to be replaced.
    replaced = [line for line in journey.daemon.log().splitlines() if "recreates" in line]
    expect("clients that were replaced", replaced, [])
    journey.arrive()


@scenario("replies to commits that never come, one in five", background=True)
def dropped_replies(network):
    journey = Journey(network, "dropped-replies")
    with journey.under_load():
        journey.faults.commit = lambda count: Hold(reply=DROPPED) if count % 5 == 0 else NOT_HELD
        journey.until_counted(replies_held=8)
    journey.arrive()


@scenario("replies to commits that come late, within and after the time-outs", background=True)
def late_replies(network):
    journey = Journey(network, "late-replies")
    with journey.under_load():
        delays = itertools.cycle((0.5, 1.5, 3, 7))
        journey.faults.commit = lambda count: Hold(reply=next(delays)) if count % 3 == 0 else NOT_HELD
        journey.until_counted(replies_held=8)
    journey.arrive()


@scenario("no reply to any commit for longer than a commit may take", background=True)
def no_replies(network):
    journey = Journey(network, "no-replies")
    with journey.under_load():
        journey.faults.commit = lambda _: Hold(reply=DROPPED)
        journey.until("the producer is replaced", journey.replaced_producers)
    journey.arrive()


@scenario("commits that reach the broker when the client has sent them again and is in its next transaction", background=True)
def late_commits(network):
    # Transactions of a second: the next one is open when the late commit of the previous one arrives.
    journey = Journey(network, "late-commits", **{"commit.interval": "1s"})
    with journey.under_load():
        journey.faults.commit = lambda count: Hold(request=2.6) if count % 4 == 0 else NOT_HELD
        journey.until("8 commits came late", lambda: journey.faults.late_answers.total() >= 8)
    journey.arrive()


@scenario(
    "a broker that goes away while offsets are sent is waited for, for longer than a call may hang; not ready meanwhile",
    background=True,
)
def away(network):
    address = f"127.0.0.1:{free_port()}"
    journey = Journey(network, "away", http=address)
    # Twice the transaction's time-out and 20 s, and until the next question whether a broker answers.
    longest = 6 * 2 + 20 + 5

    def is_ready():
        return fetch(f"http://{address}/ready")[0] == 200

    def assignments(worker):
        return sum(" assigned " in line and f"worker={worker}" in line for line in journey.daemon.log().splitlines())

    with journey.under_load():
        journey.until("it is ready", is_ready)
        before = {worker: assignments(worker) for worker in ("a-0", "a-1")}
        journey.faults.leaves_at = TXN_OFFSET_COMMIT
        journey.until("the broker is away", lambda: journey.faults.is_away)
        began = time.monotonic()
        journey.until("it is not ready", lambda: not is_ready(), 10)
        journey.until("a call takes too long", lambda: time.monotonic() - began > longest + 3, longest + 10)
        if is_ready():
            raise Failure("it is ready without a broker")
        journey.faults.is_away = False
        journey.until("it is ready again", is_ready)
        # Also whoever was in a call when the broker went: one that is told to end within it may need longer than it has.
        journey.until("both workers read again", lambda: all(assignments(each) > count for each, count in before.items()))
    journey.arrive()


@scenario("broadcasts whose connections die, and whose commits are not answered for longer than they may take", background=True)
def broadcasts(network):
    passage = Passage(network, "broadcasts")
    world = BroadcastWorld(network.harness, "broadcasts", network.cluster, partitions=4, devices=1_200).create_topics()

    def publish():
        world.publish(world.broadcasts.to_channel(GENERAL, now_ms())[1])

    publish()
    try:
        # A broadcast to everybody takes two seconds.
        passage.daemon = world.daemon("p1", workers=2, broadcasts_rate=600, **passage.settings).start()
        world.wait_for_commits()
        published = time.monotonic()

        def work():
            nonlocal published
            if time.monotonic() - published > 2:
                published = time.monotonic()
                publish()
                world.subscribe([record for _ in range(10) for record in world.members.next()])

        passage.endure(work)
        world.wait_until_done(90)
        passage.daemon.stop(45)
        # A slice waits for its connections.
        report = world.verify(first_broadcast=0, slice_ms=5_000)
        report.print()
        print(f"   {world.name}: {dict(passage.faults.counts)}", flush=True)
        check(report)
    finally:
        world.kill_daemons()


@scenario("a sender whose connections die, and whose commits are not answered for longer than they may take", background=True)
def sender(network):
    passage = Passage(network, "sender")
    harness = network.harness
    world = DeliveryWorld(harness, "sender", network.cluster, partitions=4)
    world.create_topics()
    stand_in = StandIn(harness.stand_in, world.folder / "providers", harness.seed, "quota=0.02,unavailable=0.02,dead=0.01")
    pushes = Pushes(harness.seed, 300)
    try:
        passage.daemon = world.hurried_sender("p1", world.settings("p1") | stand_in.settings() | passage.settings).start()
        passage.until("it is ready", lambda: passage.daemon.is_ready)
        began = now_ms()

        def work():
            world.cluster.produce(world.dispatch, pushes.next(20, now_ms()))
            pause(0.1)

        passage.endure(work)
        # Whoever has its partitions back finds out a moment later.
        disturbed = (began, now_ms() + 10_000)
        ends, twice = world.wait_until_done([passage.daemon]), passage.daemon.possibly_twice()
        passage.daemon.stop(45)
        stand_in.end()
        report = verify_deliveries(
            world.finished_run(read_requests(stand_in.log), possibly_twice=int(twice), ends=ends, disturbances=[disturbed])
        )
        report.print()
        print(f"   {world.name}: {pushes.made:,} pushes, {twice} possibly sent twice; {dict(passage.faults.counts)}", flush=True)
        check(report)
    finally:
        stand_in.end()
        world.kill_daemons()


def crowded(network, name, devices):
    """A world with one partition and a crowded place, and a daemon whose broker takes as much as its faults say."""
    harness, proxy = network.harness, network.proxy
    faults = proxy.faults[name] = Faults(harness.seed)
    world = harness.make_world(name, network.cluster, partitions=1, places=2, crowd=1)
    world.subscriptions = []
    world.create_topics()
    subscriptions = [subscription("crowd", f"device-{number}") for number in range(devices)] + [subscription("quiet", "one")]
    world.cluster.produce(world.topics["subscriptions"], subscriptions)
    settings = {
        "kafka.bootstrap.servers": f"127.0.0.1:{proxy.port}",
        "kafka.client.id": name,
        "transaction.timeout": "3s",
        "shutdown.timeout": "3s",
        # What is in flight arrives within a second, and as many bytes as were produced.
        "kafka.batch.size": 65_536,
        "kafka.compression.type": "none",
        "fan-out.max-devices": MOST_DEVICES,
        "workers": 1,
    }
    daemon = world.daemon("a", world.settings("a") | settings).start()
    wait_for_daemons("it has joined", lambda: len(world.committed) == 1, [daemon], 60)
    events = [event_about({"id": place, "place_id": place, "status": "pending"}, place) for place in ("crowd", "quiet")]
    return faults, world, daemon, events


def keys_sent(world):
    return len(world.cluster.read(world.topics["dispatch"]))


@scenario(
    "an event that does not fit into a transaction at a slow broker becomes a dead letter, what is behind it is sent",
    background=True,
)
def too_slow(network):
    faults, world, daemon, events = crowded(network, "too-slow", 4_000)
    faults.rate = 500_000
    world.cluster.produce(world.topics["events"], events)
    world.wait_until_done(60)
    faults.rate = None
    daemon.stop()
    (letter,) = world.cluster.read(world.topics["dead-letters"])
    expect("the dead letter", (letter.key, dict(letter.headers)["x-error-code"]), (b"crowd", b"transaction_timeout"))
    expect("what is behind it", keys_sent(world), 1)
    settings = world.settings("replay") | {"fan-out.max-devices": MOST_DEVICES}
    ((found,), _) = documents(world, "replay", "diff", settings=settings)
    expect("refused, missing and extra", (found["refused"], found["missing"], found["extra"]), (4_000, 0, 0))


@scenario(
    "a broker that is slow for everybody makes no dead letter: the event waits, and is sent when it is fast again", background=True
)
def slow_for_all(network):
    faults, world, daemon, events = crowded(network, "slow-for-all", 1_000)
    faults.rate = 100_000
    world.cluster.produce(world.topics["events"], events)
    wait_for_daemons(
        "it was tried six times", lambda: daemon.log().count("open for longer than transaction.timeout") >= 6, [daemon], 60
    )
    faults.rate = None
    world.wait_until_done(60)
    daemon.stop()
    expect("dead letters", world.cluster.read(world.topics["dead-letters"]), [])
    expect("pushes", keys_sent(world), 1_001)


@scenario(
    "a re-drive whose commits are not answered: replies that never come, and for longer than a commit may take", background=True
)
def redriven(network):
    harness, proxy = network.harness, network.proxy
    world = missed(harness.make_world("redriven", network.cluster, partitions=2), 60, 5)
    faults = proxy.faults["redriven"] = Faults(harness.seed)
    faults.commit = lambda count: Hold(reply=DROPPED) if count % 3 == 0 else NOT_HELD
    through = {name.replace(".", "_"): value for name, value in TIMES.items()} | {
        "kafka_bootstrap_servers": f"127.0.0.1:{proxy.port}",
        "kafka_client_id": "redriven",
    }
    process = redrive_beside(
        world, CONFIRMATION, "--subscriptions", "now", "--confirm", "300", "--rate", "60", "--id", "unanswered", **through
    )
    wait_for_sent(world, 30, process)
    faults.commit = lambda _: Hold(reply=DROPPED)
    wait_for(
        "the producer is replaced after a commit", lambda: "recreates its producer after: commit_transaction" in process.said(), 60
    )
    faults.commit = lambda _: NOT_HELD
    process.wait(0, 60)
    check_once(world, ["unanswered"], 300)
    print(f"   {world.name}: {dict(faults.counts)}", flush=True)


if __name__ == "__main__":
    sys.exit(main("network", __doc__, globals(), around=one_broker_behind_a_proxy))
