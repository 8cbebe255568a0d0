"""The network's faults, by a proxy between `carillon run` and a broker: nothing lost, nothing twice, order kept."""

import contextlib
import itertools
import pathlib
import shutil
import sys
import tempfile
import threading

from harness import scenario as scenarios
from harness.cluster import Cluster, Failure, wait_for
from harness.daemon import wait_for_daemons
from harness.proxy import DROPPED, NOT_HELD, Faults, Hold, Proxy
from harness.redrive import FLAG, Redrive, check_once, missed, wait_for_sent
from harness.scenario import broker, check, make_world, scenario

# Short, so that a fault takes seconds: a request is given up after 2 s, a commit after 16 s.
TIMES = {"kafka.socket.timeout.ms": 2_000, "transaction.timeout": "6s", "session.timeout": "10s", "shutdown.timeout": "6s"}

proxy, cluster = None, None


@contextlib.contextmanager
def one_broker_behind_a_proxy():
    global proxy, cluster
    folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-network."))
    try:
        proxy = Proxy()
        cluster = Cluster(broker("start", folder, "--proxied", proxy.port))
        proxy.broker_port = int((folder / "proxied").read_text())
        yield
    finally:
        broker("stop", folder)
        shutil.rmtree(folder, ignore_errors=True)


class Journey:
    """A daemon behind the proxy, with faults of its own, and a steady load of events for it."""

    def __init__(self, name, **settings):
        self.faults = proxy.faults[name] = Faults(scenarios.seed)
        self.world = make_world(name, cluster, partitions=4, places=200, crowd=20).create_topics()
        self.daemon = self.world.daemon(
            "a",
            self.world.settings("a")
            | TIMES
            | {"kafka.bootstrap.servers": f"127.0.0.1:{proxy.port}", "kafka.client.id": name, "workers": 2}
            | settings,
        )

    @contextlib.contextmanager
    def under_load(self, rate=200):
        """Events come at this rate while the body runs, which begins with the first commits."""
        halted = threading.Event()

        def load():
            producer, topic = cluster.producer(), self.world.topics["events"]
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

    def until(self, what, condition, seconds=60):
        wait_for_daemons(f"{what} ({dict(self.faults.counts)})", condition, [self.daemon], seconds)

    def until_counted(self, **counts):
        for name, count in counts.items():
            words = name.replace("_", " ")
            self.until(f"{count} {words}", lambda: self.faults.counts[words] >= count)

    def arrive(self):
        """To the end of the events over a sound network; then the verifier."""
        self.faults.lifetime, self.faults.latency, self.faults.commit = None, 0, lambda count: NOT_HELD
        self.world.wait_until_done(60)
        self.daemon.stop()
        report = self.world.verify()
        print(
            f"   {self.world.name}: {report.counts['events']:,} events, {report.counts['dispatched']:,} pushes; "
            f"{dict(self.faults.counts)} {dict(self.faults.late_answers)}",
            flush=True,
        )
        check(report)


@scenario("connections that die after 0.5 to 1.5 s", background=True)
def dying_connections():
    journey = Journey("dying-connections")
    with journey.under_load():
        before = journey.faults.counts["commits"]
        journey.faults.lifetime = (0.5, 1.5)
        journey.until_counted(cut=60, commits=before + 10)
    journey.arrive()


@scenario("100 ms of latency in each direction", background=True)
def latency():
    journey = Journey("latency", **{"kafka.socket.timeout.ms": 10_000, "transaction.timeout": "20s"})
    with journey.under_load():
        journey.faults.latency = 0.1
        before = journey.faults.counts["commits"]
        journey.until("20 commits", lambda: journey.faults.counts["commits"] >= before + 20)
    # Slow is not lost: nothing was sent twice, and nothing had to be made anew.
    if journey.daemon.has_line("anew"):
        raise Failure(f"a client was made anew:\n{journey.daemon.last_lines()}")
    journey.arrive()


@scenario("replies to commits that never come, one in five", background=True)
def dropped_replies():
    journey = Journey("dropped-replies")
    with journey.under_load():
        journey.faults.commit = lambda count: Hold(reply=DROPPED) if count % 5 == 0 else NOT_HELD
        journey.until_counted(replies_held=8)
    journey.arrive()


@scenario("replies to commits that come late, within and after the time-outs", background=True)
def late_replies():
    journey = Journey("late-replies")
    with journey.under_load():
        delays = itertools.cycle((0.5, 1.5, 3, 7))
        journey.faults.commit = lambda count: Hold(reply=next(delays)) if count % 3 == 0 else NOT_HELD
        journey.until_counted(replies_held=8)
    journey.arrive()


@scenario("no reply to any commit for longer than a commit may take", background=True)
def no_replies():
    journey = Journey("no-replies")
    with journey.under_load():
        journey.faults.commit = lambda count: Hold(reply=DROPPED)
        journey.until("the producer is made anew", lambda: journey.daemon.has_line("makes its producer anew", "commit_transaction"))
    journey.arrive()


@scenario("commits that reach the broker when the client has sent them again and is in its next transaction", background=True)
def late_commits():
    # Transactions of a second: the next one is open when the late commit of the last one comes.
    journey = Journey("late-commits", **{"commit.interval": "1s"})
    with journey.under_load():
        journey.faults.commit = lambda count: Hold(request=2.6) if count % 4 == 0 else NOT_HELD
        journey.until("8 commits came late", lambda: journey.faults.late_answers.total() >= 8)
    journey.arrive()


@scenario(
    "a re-drive whose commits are not answered: replies that never come, and for longer than a commit may take", background=True
)
def redriven():
    world = missed("redriven", 60, 5, cluster)
    faults = proxy.faults["redriven"] = Faults(scenarios.seed)
    faults.commit = lambda count: Hold(reply=DROPPED) if count % 3 == 0 else NOT_HELD
    through = {name.replace(".", "_"): value for name, value in TIMES.items()} | {
        "kafka_bootstrap_servers": f"127.0.0.1:{proxy.port}",
        "kafka_client_id": "redriven",
    }
    process = Redrive(
        world, FLAG, "--subscriptions", "now", "--confirm-devices", "300", "--rate", "60", "--id", "unanswered", **through
    )
    wait_for_sent(world, 60, process)
    faults.commit = lambda count: Hold(reply=DROPPED)
    wait_for("the producer is made anew after a commit", lambda: "anew after: commit_transaction" in process.said(), 60)
    faults.commit = lambda count: NOT_HELD
    process.wait(0, 60)
    check_once(world, ["unanswered"], 300)
    print(f"   {world.name}: {dict(faults.counts)}", flush=True)


if __name__ == "__main__":
    sys.exit(scenarios.main("network", __doc__, one_broker_behind_a_proxy))
