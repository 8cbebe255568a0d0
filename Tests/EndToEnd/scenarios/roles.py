"""Pipeline, broadcasts and sender in one process, apart, and together again: each push of an order and each of a broadcast is
written once, and has one outcome at its provider, whatever is killed; and a role that fails leaves the others at work."""

import collections
import itertools
import re
import signal
import sys
import threading
import time

from harness.broadcasting import GENERAL
from harness.brokers import free_port
from harness.daemon import EXIT_CONFIGURATION, Daemon, wait_for_daemons
from harness.project import ROOT
from harness.prometheus import fetch
from harness.scenario import main, scenario
from harness.waiting import Failure, now_ms
from model.pushes import read_requests
from scenarios.together import SHARED, Together

SIZES = {"seconds": 10, "rate": 60, "devices": 600, "kills": 8, "brokers": 0, "partitions": 4, "away": 4}
ALERTS = ROOT / "docs/operations/alerts.yml"
# What alerts ask for and is there only once something has gone wrong, or with timers.
LATER = {
    "carillon_broadcast_skipped_total",
    "carillon_delivery_held_back",
    "carillon_delivery_stopped",
    "carillon_delivery_retries_total",
    "carillon_delivery_unreadable_records_total",
    "carillon_held_partitions",
    "carillon_table_unreadable",
    "carillon_unreadable_batches_total",
    "carillon_watermark_ahead_seconds",
}
# What a role says of a broker that is away.
AWAY = re.compile(r"^\S+ warning .*(?:broker|connection).*; waiting\b", re.IGNORECASE | re.MULTILINE)
# How long a role that has never worked waits for what only a person can mend.
GRACE = 30


class Process(Daemon):
    """One instance of `carillon run` with these roles."""

    def __init__(self, name, folder, settings, roles, binary):
        self.roles, self.address = roles, settings["http"]
        super().__init__(name, folder, settings, None, binary)

    def configure(self, settings):
        super().configure(settings)
        self.arguments += ["--roles", self.roles]

    def page(self, path):
        """The body of a page, whatever its status; empty where it does not answer."""
        try:
            return fetch(f"http://{self.address}{path}")[2]
        except OSError:
            return ""


class Roles(Together):
    """All roles have the same settings: one group's names, one folder."""

    def __init__(self, harness, brokers):
        super().__init__(harness, brokers)
        self.orders.name = self.channels.name
        self.orders.produce(200)
        self.harness.command("offsets", "set", "--to", "earliest", settings=self.settings("operator"))

    def settings(self, instance):
        return (
            self.orders.settings(instance)
            | self.channels.settings(instance)
            | SHARED
            | self.sending
            | {"http": f"127.0.0.1:{free_port()}", "delivery.reap": "off", "delivery.fcm-rate": 100_000_000}
        )

    def process(self, name, roles="all", **settings):
        process = Process(name, self.channels.folder, self.settings(name) | settings, roles, self.harness.carillon)
        self.channels.daemons.append(process)
        return process.start()

    def until_ready(self, *processes):
        for each in processes:
            wait_for_daemons(f"{each.roles} is ready", lambda each=each: each.page("/ready") == "ready\n", processes, 60)

    def publish(self):
        self.channels.publish(self.channels.broadcasts.to_channel(GENERAL, now_ms())[1])

    def without_broker(self, said):
        """The broker is gone for `--away` seconds. Each process says so and is not ready, and is ready when it is back. `said` is
        how much each had said before: in a call that waits for the broker it says no more than that it went."""
        began, processes = time.monotonic(), list(said)
        for each in processes:
            wait_for_daemons(
                f"{each.roles} says that its broker is away, and is not ready",
                # Its reason is its own: a worker in a call that waits for the broker does not say more.
                lambda each=each: AWAY.search(each.log()[said[each] :]) and each.page("/ready") != "ready\n",
                processes,
            )
        wait_for_daemons("the time is over", lambda: time.monotonic() - began >= self.sizes.away, processes, self.sizes.away)
        if ready := [each.roles for each in processes if each.page("/ready") == "ready\n"]:
            raise Failure(f"{ready} is ready without a broker")
        self.brokers.start()
        self.until_ready(*processes)
        self.say(f"the broker was away, and {len(processes)} processes are ready again")

    def start(self):
        self.until_ready(self.process("all-1"), self.process("all-2"))
        self.say("two processes with all roles are at work")

    def stop(self, *processes):
        """By SIGTERM."""
        for each in processes:
            each.stop(45)
            self.channels.daemons.remove(each)

    def check_series(self, process):
        """A process with all of these roles that has sent has every series that alerts ask for, and a lag of each role."""
        wanted = set(re.findall(r"\b(?:carillon(?!_api|_registrar)|process)_[a-z_]+\b", ALERTS.read_text())) - LATER
        wanted |= {f'carillon_consumer_lag_records{{role="{role}"' for role in ("pipeline", "broadcasts")}

        def missing():
            metrics = process.page("/metrics")
            return sorted(each for each in wanted if each not in metrics)

        try:
            # Lags come with the clients' statistics, each 5 s.
            wait_for_daemons("alerts have their series", lambda: not missing(), [process], 10)
        except Failure as failure:
            raise Failure(f"{failure}; missing: {missing()}") from None

    def outcomes(self):
        return sum(map(len, self._ended().values()))

    def until_more(self, count=30):
        """Waits until so many more pushes have an outcome."""
        wanted = self.outcomes() + count
        wait_for_daemons("outcomes go on", lambda: self.outcomes() >= wanted, self.daemons, 60)

    def apart_and_back(self):
        """One process, then three, then one, of one instance, each ended by SIGTERM, while records arrive all the time."""
        load = Load(self)
        load.start()
        for number, roles in enumerate((["all"], ["pipeline", "broadcasts", "deliver"], ["pipeline,broadcasts,deliver"])):
            processes = [self.process("a", each) for each in roles]
            self.until_ready(*processes)
            self.until_more()
            if roles == ["all"]:
                self.check_series(processes[0])
            self.stop(*processes)
            self.say(f"{len(roles)} processes were at work, and have drained")
        load.halt()
        accepted = collections.Counter((each.device, each.message) for each in read_requests(self.stand_in.log) if each.is_accepted)
        # An event that comes again is a new one, with the same message id, where its order no longer remembers it.
        written = collections.Counter(push for topic in self.dispatched for _, push in self.pushes_of(topic))
        if twice := list((accepted - written).items()):
            raise Failure(f"{len(twice)} pushes were sent twice without a kill: {twice[:3]}")


class Load(threading.Thread):
    """Orders all the time and broadcasts now and then, until it is halted."""

    def __init__(self, roles):
        super().__init__(name="load", daemon=True)
        self.roles, self._halted = roles, threading.Event()

    def run(self):
        for number in itertools.count():
            self.roles.orders.produce(20)
            if number % 8 == 0:
                self.roles.publish()
            if self._halted.wait(0.5):
                return

    def halt(self):
        self._halted.set()
        self.join()


class Lame:
    """A process whose sender lacks its topics: a group and a dispatch topic of its own, and the events of the others."""

    def __init__(self, roles):
        self.cluster, name = roles.cluster, f"{roles.channels.name}.lame"
        self.topics = {topic: f"{name}.{topic}" for topic in ("dispatch", "journal")}
        self.cluster.create_topics({topic: (1, {}) for topic in self.topics.values()})
        settings = roles.settings("lame") | {f"topic.{topic}": each for topic, each in self.topics.items()}
        settings |= {"group.id": name, "topic.deliveries": f"{name}.deliveries", "topic.broadcasts": "", "from": "earliest"}
        self.process = Process("lame", roles.channels.folder, settings, "pipeline,deliver", roles.harness.carillon).start()

    def verify(self, orders):
        """Its sender has stopped alone; what arrives now is dispatched still; and it ends with the sender's code."""
        words = "deliver: it has stopped: no such topic"
        wait_for_daemons("the sender has stopped", lambda: words in self.process.page("/ready"), [self.process], GRACE + 15)
        metrics = self.process.page("/metrics")
        for line in ('carillon_role_stopped{role="deliver"} 1', 'carillon_ready{role="pipeline"} 1'):
            if line not in metrics.splitlines():
                raise Failure(f"/metrics has no line {line}")
        before = self.cluster.ends(self.topics["dispatch"])
        orders.produce(200)
        wait_for_daemons("the pipeline goes on", lambda: self.cluster.ends(self.topics["dispatch"]) != before, [self.process], 30)
        self.process.signal(signal.SIGTERM)
        self.process.expect_exit(EXIT_CONFIGURATION, "deliver has stopped, and the other roles go on", "no such topic")


@scenario("one process, three and one again without a gap or a repeat; two that are killed; and one whose sender stops alone")
def faults(harness):
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms=2000"
    with harness.brokers("--set", interval) as brokers:
        roles = Roles(harness, brokers)
        lame = Lame(roles)
        try:
            roles.apart_and_back()
            roles.start()
            roles.load()
            lame.verify(roles.orders)
            roles.finish()
            roles.verify()
        finally:
            roles.stand_in.end()
            for each in [*roles.daemons, lame.process]:
                each.kill_if_running()


@scenario("a broker that is away, at the start and in the middle, is waited for by each role; one outcome each", background=True)
def broker_away(harness):
    with harness.brokers() as brokers:
        roles = Roles(harness, brokers)
        try:
            roles.publish()
            brokers.stop()
            processes = [roles.process(each, each) for each in ("pipeline", "broadcasts", "deliver", "all")]
            roles.without_broker(dict.fromkeys(processes, 0))
            wait_for_daemons("pushes have outcomes", roles.outcomes, processes)
            roles.orders.produce(400)
            roles.publish()
            said = {each: len(each.log()) for each in processes}
            brokers.kill()
            roles.without_broker(said)
            roles.finish()
            roles.verify()
        finally:
            roles.stand_in.end()
            for each in roles.daemons:
                each.kill_if_running()


if __name__ == "__main__":
    sys.exit(main("roles", __doc__, globals(), sizes=SIZES))
