"""What broadcasts need: their topic and those that follow from it, the channels; and `carillon broadcasts` as a process."""

import pathlib
import re
import shutil
import tempfile

from generator.broadcasts import GENERAL, Broadcasts, Members
from harness.daemon import Daemon, flags, wait_for_daemons
from harness.offsets import committed
from harness.waiting import now_ms
from model.broadcast_passes import SLICE_MS
from model.broadcasts import BroadcastRun, verify_broadcasts
from model.records import Settings

CHANNELS = (GENERAL, "sport", "kino ü")
TOPICS = ("events", "subscriptions", "dispatch", "dead-letters", "journal", "broadcasts")
METADATA = re.compile(r"v1 n=(?P<n>\d+) t=(?P<t>\d+) b=(?P<b>\d+)(?: s=(?P<s>\d+)(?: k=(?P<k>[\w-]{43}))?)?", re.ASCII)


class Broadcaster(Daemon):
    """One instance of `carillon broadcasts`."""

    def configure(self, settings):
        self.state = pathlib.Path(settings["state.dir"])
        self.arguments = [self.binary, "broadcasts", *flags(settings), "--include-valid"]

    def forget(self):
        """Removes its table, while it does not run. Whether it had one: not where it was killed as soon as it had started."""
        table = self.state / "broadcasts"
        had_one = table.exists()
        shutil.rmtree(table, ignore_errors=True)
        return had_one


class BroadcastWorld:
    """Topics for one test, all named after it, the channels and what is broadcast to them, and the processes."""

    def __init__(self, harness, name, cluster, partitions, devices):
        self.rules = Settings()
        self.harness, self.cluster, self.partitions = harness, cluster, partitions
        self.name = harness.unique(name)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"carillon-{name}."))
        self.topics = {topic: f"{self.name}.{topic}" for topic in TOPICS}
        # Those that have no setting.
        self.dispatch, self.journal = f"{self.topics['dispatch']}.broadcasts", f"{self.topics['broadcasts']}.journal"
        self.group = f"{self.name}-broadcasts"
        self.members = Members(harness.seed, CHANNELS, devices, now_ms())
        self.broadcasts = Broadcasts(harness.seed, CHANNELS)
        self.max_late = 2
        # How many records of broadcasts there are; by key the offset of the newest one, -1 where it cancels.
        self.published, self.newest = 0, {}
        self.daemons = []
        harness.worlds.append(self)

    def create_topics(self):
        self.harness.command("topics", "create", "--partitions", str(self.partitions), settings=self.settings("operator"))
        self.subscribe(self.members.records)
        # The first commits are made when nothing moves.
        self.starts = self.cluster.ends(self.topics["subscriptions"])
        return self

    def settings(self, instance, **more):
        """The settings of an instance; in the names of more of them an underscore stands for a dot."""
        return (
            {
                "kafka.bootstrap.servers": self.cluster.bootstrap,
                "group.id": self.name,
                "instance.id": instance,
                "state.dir": self.folder / instance,
                "log.format": "text",
                "broadcasts.max-late": self.max_late,
            }
            | {f"topic.{topic}": name for topic, name in self.topics.items()}
            | {name.replace("_", "."): value for name, value in more.items()}
        )

    def daemon(self, name, **settings):
        """A process that is not started yet."""
        self.daemons.append(Broadcaster(name, self.folder, self.settings(name, **settings), None, self.harness.carillon))
        return self.daemons[-1]

    def subscribe(self, records):
        # Fewer at a time than a producer's queue holds.
        for start in range(0, len(records), 50_000):
            self.cluster.produce(self.topics["subscriptions"], records[start : start + 50_000])

    def publish(self, *records):
        self.cluster.produce(self.topics["broadcasts"], records, 0)
        for each in records:
            self.newest[each.key] = self.published if each.value is not None else -1
            self.published += 1

    def commits(self):
        """By partition of the subscriptions that has a commit: the offset, and the words of its metadata, None where they are not
        those of broadcasts."""
        found = committed(self.cluster.bootstrap, self.group, self.topics["subscriptions"], range(self.partitions))
        matches = {partition: (offset, METADATA.fullmatch(text)) for partition, (offset, text) in found.items() if offset >= 0}
        return {partition: (offset, match and match.groupdict()) for partition, (offset, match) in matches.items()}

    def under_way(self):
        """The partitions with a pass under way."""
        return [partition for partition, (_, words) in self.commits().items() if words and words["s"]]

    def wait_for_commits(self):
        wait_for_daemons("every partition has a commit", lambda: len(self.commits()) == self.partitions, self.daemons, 30)

    def is_done(self):
        """Whether everything of the subscriptions was read, and every broadcast that is not cancelled has had its pass."""
        commits, newest = self.commits(), max(self.newest.values())

        def is_at(partition, end):
            offset, words = commits[partition]
            return offset == end and words is not None and words["s"] is None and int(words["b"]) > newest

        return all(is_at(*each) for each in self.cluster.ends(self.topics["subscriptions"]).items())

    def wait_until_done(self, seconds=60):
        wait_for_daemons("all passes have ended", self.is_done, self.daemons, seconds)

    def verify(self, first_broadcast, frozen=(), slice_ms=SLICE_MS):
        """The verifier's report. `first_broadcast` is where the group began, `frozen` which instances
        were stopped, from when and until when, `slice_ms` how long a slice may take."""
        read = self.cluster.read
        return verify_broadcasts(
            BroadcastRun(
                settings=self.rules,
                subscriptions=read(self.topics["subscriptions"]),
                broadcasts=read(self.topics["broadcasts"]),
                dispatch=self.cluster.stream(self.dispatch),
                dead_letters=read(self.topics["dead-letters"]),
                journal=read(self.journal),
                group=self.group,
                subscriptions_topic=self.topics["subscriptions"],
                dispatch_topic=self.dispatch,
                dispatch_partitions=len(self.cluster.partitions(self.dispatch)),
                starts=self.starts,
                ends=self.cluster.ends(self.topics["subscriptions"]),
                first_broadcast=first_broadcast,
                max_late=self.max_late,
                frozen=frozen,
                slice_ms=slice_ms,
            )
        )

    def kill_daemons(self):
        for each in self.daemons:
            each.kill_if_running()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
