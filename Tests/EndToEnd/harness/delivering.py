"""What a sender needs: the dispatch topic, its retry topics, the topic of outcomes; and `carillon deliver` as a process."""

import contextlib
import pathlib
import re
import shutil
import tempfile
import threading

from confluent_kafka import KafkaException

from harness.brokers import free_port
from harness.daemon import Daemon, flags, wait_for_daemons
from harness.offsets import committed
from harness.prometheus import fetch
from harness.waiting import Failure
from model.deliveries import DeliveryRun
from model.pushes import lane_offset

# The delays in the names of the retry topics, and those that a debug build is told to wait.
RETRIES = ("10s", "1m", "15m")
SHORT_DELAYS = (1, 2, 5)
PROVIDERS = ("apns", "fcm")
GIVE_UP = 20
TWICE = re.compile(r"^carillon_delivery_possibly_twice_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)


class Sender(Daemon):
    """One instance of `carillon deliver`."""

    def configure(self, settings):
        self.address = settings["http"]
        self.arguments = [self.binary, "deliver", *flags(settings), "--from", self.start_at]

    def page(self, path):
        """The body of a page; None where it does not answer with 200."""
        try:
            status, _, body = fetch(f"http://{self.address}{path}")
        except OSError:
            return None
        return body if status == 200 else None

    @property
    def is_ready(self):
        return self.page("/ready") is not None

    def possibly_twice(self):
        """How many pushes it says it may have sent twice since its start; None where it does not answer."""
        page = self.page("/metrics")
        return None if page is None else sum(float(each) for each in TWICE.findall(page))


def by_debug_build(binary, sender):
    sender.binary = sender.arguments[0] = binary
    return sender


class DeliveryWorld:
    """Topics for one test, all named after it, and the processes that send from them."""

    def __init__(self, harness, name, cluster, partitions):
        self.harness, self.cluster, self.partitions = harness, cluster, partitions
        self.name = harness.unique(name)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"carillon-{name}."))
        self.topics = {topic: f"{self.name}.{topic}" for topic in ("subscriptions", "dispatch", "deliveries")}
        self.dispatch = self.topics["dispatch"]
        self.retries = [f"{self.dispatch}.retry.{delay}" for delay in RETRIES]
        self.daemons = []
        harness.worlds.append(self)

    def create_topics(self):
        by_broker = {"message.timestamp.type": "LogAppendTime"}
        self.cluster.create_topics(
            {
                self.topics["subscriptions"]: (4, by_broker | {"cleanup.policy": "compact"}),
                self.dispatch: (self.partitions, by_broker),
                self.topics["deliveries"]: (self.partitions, {}),
            }
            | {topic: (self.partitions, by_broker) for topic in self.retries}
        )

    def settings(self, instance, **more):
        """The settings of an instance; in the names of more of them an underscore stands for a dot."""
        return (
            {
                "kafka.bootstrap.servers": self.cluster.bootstrap,
                "group.id": self.name,
                "instance.id": instance,
                "state.dir": self.folder / instance,
                "http": f"127.0.0.1:{free_port()}",
                "log.format": "text",
                "delivery.give-up": f"{GIVE_UP}s",
                # Its start from zero takes a minute.
                "delivery.fcm-rate": 100_000_000,
            }
            | {f"topic.{topic}": name for topic, name in self.topics.items()}
            | {name.replace("_", "."): value for name, value in more.items()}
        )

    def sender(self, name, settings, *words):
        """A process that is not started yet; `words` are further arguments."""
        self.daemons.append(Sender(name, self.folder, settings, "earliest", self.harness.carillon))
        self.daemons[-1].arguments += words
        return self.daemons[-1]

    def hurried_sender(self, name, settings, *words):
        """The same by a debug build, of which retries wait for a shorter time."""
        sender = by_debug_build(self.harness.require_debug_build(), self.sender(name, settings, *words))
        sender.variables = {"CARILLON_FAULT_RETRY": ",".join(f"{each}s" for each in SHORT_DELAYS)}
        return sender

    def commits(self):
        """What each provider's group has committed: (offset, metadata) by topic and partition."""
        found = {}
        for provider in PROVIDERS:
            found[provider] = {
                (topic, partition): offset
                for topic in (self.dispatch, *self.retries)
                for partition, offset in committed(
                    self.cluster.bootstrap, f"{self.name}-delivery-{provider}", topic, range(self.partitions)
                ).items()
            }
        return found

    def ends(self):
        return {
            (topic, partition): end
            for topic in (self.dispatch, *self.retries)
            for partition, end in self.cluster.ends(topic).items()
        }

    def unsent(self):
        """How many dispatch records have neither an outcome nor a place in a retry topic. A sender commits its first unfinished
        offset, which says little about those above it."""
        ends = self.cluster.ends(self.dispatch)
        found = [
            (partition, lane_offset(*commit))
            for commits in self.commits().values()
            for (topic, partition), commit in commits.items()
            if topic == self.dispatch
        ]
        return sum(
            ends[partition] - each.offset - int.from_bytes(each.bits, "big").bit_count() for partition, each in found if each
        )

    def left(self):
        """How many offsets are not finished."""
        groups = [f"{self.name}-delivery-{provider}" for provider in PROVIDERS]
        return sum(self.cluster.lag(group, topic) for group in groups for topic in (self.dispatch, *self.retries))

    def wait_until_done(self, daemons, seconds=60):
        """Until nothing is left; seen twice: a record may be on its way from one topic to another. The ends then: markers may be
        written later."""
        left = [None]

        def is_done():
            ends, before, left[0] = self.ends(), left[0], self.left()
            return ends if before == left[0] == 0 else None

        return wait_for_daemons("everything is finished", is_done, daemons, seconds)

    def finished_run(self, requests, **known):
        """What the verifier is to look at, of a run that has ended."""
        commits = self.commits()
        if not all(commits.values()):
            raise Failure("a provider has no group")
        return DeliveryRun(
            topic=self.dispatch,
            dispatch=self.cluster.read(self.dispatch),
            deliveries=self.cluster.read(self.topics["deliveries"]),
            requests=requests,
            commits=commits,
            give_up=GIVE_UP * 1_000,
            longest_wait=max(SHORT_DELAYS) * 1_000,
            **known,
        )

    def kill_daemons(self):
        for each in self.daemons:
            each.kill_if_running()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Backlog(threading.Thread):
    """How far behind the senders are, now and then."""

    def __init__(self, world):
        super().__init__(name="backlog", daemon=True)
        self.world, self.unsent, self._halted = world, 0, threading.Event()

    def run(self):
        while not self._halted.wait(0.3):
            # A broker may be away.
            with contextlib.suppress(KafkaException, Failure, OSError):
                self.unsent = self.world.unsent()

    def halt(self):
        self._halted.set()
        self.join()
