"""One pipeline's world: its topics, its subscriptions, its events and its processes; all named after the test."""

import json
import pathlib
import shutil
import tempfile
from dataclasses import dataclass

from generator.events import Events, Mix
from generator.requests import Requests
from generator.subscriptions import SubscriptionChanges, make_audiences, make_subscriptions
from harness.daemon import Daemon, wait_for_daemons
from harness.waiting import Failure, now_ms
from model.records import Settings
from model.subscriptions import Subscriptions
from model.tables import check_table
from model.verify import Run, verify

TOPICS = ("events", "subscriptions", "dispatch", "dead-letters", "journal")
OUTPUTS = ("dispatch", "dead-letters", "journal")


@dataclass
class Size:
    """How much there is of everything in a world."""

    partitions: int = 2
    places: int = 50
    # The devices of the first place.
    crowd: int = 5
    poison_rate: float = 0.001
    # How many users requests are for; without any there is no topic of requests.
    users: int = 0


class World:
    """Topics, and whatever uses them; `rules` are the settings that decide what has to be sent."""

    def __init__(self, harness, name, cluster, size, schedule=True):
        self.harness, self.cluster, self.partitions = harness, cluster, size.partitions
        self.name = harness.unique(name)
        self.topics = {topic: f"{self.name}.{topic}" for topic in TOPICS}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"carillon-{name}."))
        self.rules = Settings("Europe/Berlin", schedule=schedule)
        now = now_ms()
        # Some events are of the generator's month, others and all timers of now: neither must find the devices too old.
        names, self.subscriptions = make_subscriptions(harness.seed, size.places, size.crowd, now)
        self.events = Events(harness.seed, names, Mix(size.poison_rate, slots_zone=self.rules.time_zone))
        self.requests, audiences = None, ()
        if size.users:
            self.topics["requests"] = f"{self.name}.requests"
            audiences, subscribed = make_audiences(harness.seed, names, size.users, now)
            self.subscriptions += subscribed
            self.requests = Requests(harness.seed, audiences, bad_rate=0.02, brief_rate=0.15)
        self.changes = SubscriptionChanges(harness.seed, names, self.subscriptions, audiences, now)
        self.daemons = []

    def settings(self, instance, **more):
        """The settings of an instance; in the names of more of them an underscore stands for a dot."""
        return (
            {
                "kafka.bootstrap.servers": self.cluster.bootstrap,
                "group.id": self.name,
                "instance.id": instance,
                "state.dir": self.folder / instance,
                "workers": 1,
                "time-zone": self.rules.time_zone,
                "schedule": "on" if self.rules.schedule else "off",
                "log.format": "text",
            }
            | {f"topic.{topic}": name for topic, name in self.topics.items()}
            | {name.replace("_", "."): value for name, value in more.items()}
        )

    def create_topics(self, **events):
        """`events` are settings of the events' topic."""
        self.cluster.create_topics(
            {
                # Slightly more than twice state.horizon.
                self.topics["events"]: (
                    self.partitions,
                    {"retention.ms": str(30 * 86_400_000)} | {name.replace("_", "."): value for name, value in events.items()},
                ),
                # The broker's time: a record that waits for its leader in a producer is not old when it comes.
                self.topics["subscriptions"]: (4, {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}),
                self.topics["dispatch"]: (self.partitions, {}),
                self.topics["dead-letters"]: (2, {"max.message.bytes": str(2 << 20)}),
                self.topics["journal"]: (1, {"message.timestamp.type": "LogAppendTime"}),
            }
        )
        if self.requests:
            self.cluster.create_topics({self.topics["requests"]: (self.partitions, {})})
        self.cluster.produce(self.topics["subscriptions"], self.subscriptions)
        return self

    def daemon(self, name, settings=None, start_at="earliest", binary=None):
        """A process that is not started yet; the release build, unless `binary` names another one."""
        daemon = Daemon(name, self.folder, settings or self.settings(name), start_at, binary or self.harness.carillon)
        self.daemons.append(daemon)
        return daemon

    def started(self, name="a", start_at="earliest", **settings):
        """A process that has committed an offset for every partition."""
        daemon = self.daemon(name, self.settings(name, **settings), start_at).start()
        wait_for_daemons("every partition has a committed offset", lambda: len(self.committed) == self.partitions, [daemon])
        return daemon

    def happen_now(self):
        """From now on events happen about as fast as they are produced: their pushes can be sent before they expire."""
        self.events.now, self.events.mix.longest_step = now_ms(), 40

    def produce(self, count, partition=-1):
        self.cluster.produce(self.topics["events"], [self.events.next() for _ in range(count)], partition)

    def next_request(self):
        return self.requests.next(now_ms()).input

    def produce_requests(self, count):
        self.cluster.produce(self.topics["requests"], [self.next_request() for _ in range(count)])

    @property
    def inputs(self):
        """The topics of which the group commits offsets."""
        return [self.topics[each] for each in ("events", "requests") if each in self.topics]

    @property
    def committed(self):
        return self.cluster.committed(self.name, self.topics["events"])

    @property
    def ends(self):
        return self.ends_of("events")

    def ends_of(self, topic):
        return self.cluster.ends(self.topics[topic])

    def lag(self):
        return self.cluster.lag(self.name, self.topics["events"])

    def wait_until_done(self, seconds=60):
        """Until all is committed, and what was written for it can be read."""
        running = [each for each in self.daemons if each.is_running]
        wait_for_daemons(
            "the group has committed to the end of every partition",
            # A broker that has only just started may know of no partition.
            lambda: all(self.cluster.committed(self.name, topic) == self.cluster.ends(topic) != {} for topic in self.inputs),
            running,
            seconds,
        )
        self.cluster.wait_until_readable([self.topics[each] for each in OUTPUTS], seconds)

    def verify(self, starts=None, **known):
        """The verifier's report. `starts` are the first offsets of the events' partitions, where they are not those of the log;
        `known` is what else is known of the run, by the names of `verify.Run`."""
        read, topic = self.cluster.read, self.topics["events"]
        firsts = {each: self.cluster.starts(each) for each in self.inputs} | ({topic: starts} if starts else {})
        run = Run(
            settings=self.rules,
            events=read(topic),
            subscriptions=read(self.topics["subscriptions"]),
            dispatch=self.cluster.stream(self.topics["dispatch"]),
            dead_letters=read(self.topics["dead-letters"]),
            journal=read(self.topics["journal"]),
            dispatch_partitions=len(self.cluster.partitions(self.topics["dispatch"])),
            starts={(each, partition): at for each, found in firsts.items() for partition, at in found.items()},
            ends={(each, partition): at for each in self.inputs for partition, at in self.cluster.ends(each).items()},
            requests=read(self.topics["requests"]) if self.requests else [],
            **known,
        )
        return verify(run)

    def check_tables(self, folders, report):
        """Compares the tables in these state folders with the fold of the topic (I6). Nothing may have them open."""
        subscriptions = Subscriptions(self.cluster.read(self.topics["subscriptions"]))
        for name, folder in folders.items():
            marker = folder / "subscriptions" / "in-use"
            if marker.exists() and marker.read_text().startswith("2 "):
                # Two unclean starts in a row, and killed again: the next one wipes it, whatever it holds.
                continue
            code, output, errors = self.harness.run(
                "table", "check", "--json", settings={"group.id": self.name, "state.dir": folder}
            )
            if code:
                report.add("table cannot be used (I6)", f"{name}: `carillon table check` ended with {code}: {output}{errors}")
            else:
                check_table(json.loads(output), name, subscriptions, report)

    def kill_daemons(self):
        for each in self.daemons:
            each.kill_if_running()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def check(report):
    """Fails where the verifier has found differences."""
    if report.differences:
        report.print()
        kind, sentence = report.differences[0]
        raise Failure(f"the verifier found {len(report.differences):,} differences, the first: {kind}: {sentence}")
