"""The table of subscriptions at size: how fast it is filled, and after what end it is ready how soon.

    Scripts/bench --table [TOKENS] [--runs N] [--json]    10,000,000 tokens by default; --runs of each kind of start
    Scripts/bench --table --quick                         the same, small: it shows that all works, and no speed
    Scripts/bench --table --against CARILLON              another build fills a table of its own, before this one

A fill is timed from the start of `carillon run` until the log says that fan-out may begin; a start until /ready answers 200. Every
third of the tokens is a place. A look-up finds the devices of a random place in the stored table, without the rest of the
pipeline; the same is measured with 100,000 tokens.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

from harness.cluster import Cluster
from harness.daemon import Daemon
from harness.waiting import Failure, pause

SMALL = 100_000
PARTITIONS = 12
# What the log says of the table it has opened, by how the process before ended.
OPENINGS = {"stop": "table continues", "kill": "but the machine has been up since", "other boot": "table is rebuilt"}


class Memory(threading.Thread):
    """The most memory of a process, in MB, looked at ten times a second: resident, and of that what is not of files."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.status, self.ended = pathlib.Path(f"/proc/{pid}/status"), threading.Event()
        self.resident = self.anonymous = 0
        self.start()

    def run(self):
        while not self.ended.wait(0.1):
            with contextlib.suppress(OSError):
                fields = dict(line.split(":", 1) for line in self.status.read_text().splitlines())
                self.resident = max(self.resident, int(fields["VmHWM"].split()[0]) / 1024)
                self.anonymous = max(self.anonymous, int(fields["RssAnon"].split()[0]) / 1024)

    def stop(self):
        self.ended.set()
        self.join()


class Table:
    """A topic of subscriptions, and one process with a table of it."""

    def __init__(self, options, tokens, carillon):
        self.options, self.tokens, self.places = options, tokens, max(1, tokens * 3 // 10)
        self.cluster = Cluster(os.environ["KAFKA_BOOTSTRAP_SERVERS"])
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-table."))
        self.name = f"table-{os.getpid()}-{tokens}-{self.folder.name[-6:]}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.topics = {kind: f"{self.name}.{kind}" for kind in ("events", "dispatch", "dead-letters", "journal")}
        self.daemon = Daemon(
            "a", self.folder, self.settings(f"{options.topic or self.name}-{tokens}.subscriptions"), "earliest", carillon
        )

    def settings(self, subscriptions):
        self.subscriptions = subscriptions
        return {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "group.id": self.name,
            "instance.id": "bench",
            "state.dir": self.folder / "state",
            "http": f"127.0.0.1:{self.port}",
            "topic.subscriptions": subscriptions,
            "workers": 1,
        } | {f"topic.{kind}": topic for kind, topic in self.topics.items()}

    @property
    def stored(self):
        return self.folder / "state" / "subscriptions"

    def load(self):
        """Seconds."""
        topics = {topic: (1, {"retention.ms": str(30 * 86_400_000)}) for topic in self.topics.values()}
        is_new = not self.cluster.partitions(self.subscriptions)
        if is_new:
            topics[self.subscriptions] = (PARTITIONS, {"cleanup.policy": "compact", "min.compaction.lag.ms": str(30 * 86_400_000)})
        self.cluster.create_topics(topics)
        began = time.monotonic()
        if is_new:
            arguments = [self.cluster.bootstrap, self.subscriptions, str(self.tokens), str(self.places)]
            subprocess.run([self.options.limit, "subscriptions", *arguments], check=True)
        return time.monotonic() - began

    def start(self, watch=None):
        """Seconds until it is ready; `watch` is called with the process id at once."""
        began = time.monotonic()
        self.daemon.start()
        if watch:
            watch(self.daemon.process.pid)
        while not self.is_ready():
            self.daemon.expect_running()
            if time.monotonic() - began > self.options.deadline:
                raise Failure(f"not ready after {self.options.deadline} s:\n{self.daemon.last_lines()}")
            pause(0.005)
        return time.monotonic() - began

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def fill(self):
        before, memory = os.times(), []
        seconds = self.start(lambda pid: memory.append(Memory(pid)))
        memory[0].stop()
        self.end("stop")
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return {
            "tokens": self.tokens,
            "seconds": seconds,
            "tokens/s": self.tokens / seconds,
            "µs of CPU each": cpu / self.tokens * 1e6,
            "MB resident": memory[0].resident,
            "MB not of files": memory[0].anonymous,
            "MB on disk": sum(each.stat().st_blocks * 512 for each in self.stored.iterdir()) / 1e6,
        }

    def end(self, how):
        if how == "stop":
            self.daemon.stop(60)
            return
        self.daemon.kill()
        if how == "other boot":
            marker = self.stored / "in-use"
            count, _ = marker.read_text().split()
            marker.write_text(f"{count} {uuid.uuid4()}")

    def restarts(self, how):
        """Seconds of each start after such an end."""
        found = []
        for _ in range(self.options.runs):
            self.start()
            self.end(how)
            found.append(self.start())
            self.daemon.expect_line(OPENINGS[how])
            self.end("stop")
        return found

    def restart_memory(self):
        """The most MB of a process that finds its table, without pages of files."""
        memory = []
        self.start(lambda pid: memory.append(Memory(pid)))
        pause(1)
        memory[0].stop()
        self.end("stop")
        return memory[0].anonymous

    def look_up(self):
        """Nanoseconds."""
        arguments = [self.options.lookups, self.stored, str(self.places), str(self.options.looked_up)]
        found = []
        for _ in range(self.options.runs):
            found.append(json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout))
        share = statistics.median(each["devices"] / each["lookups"] for each in found)
        if not 0.9 < share / (self.tokens / self.places) < 1.1:
            raise Failure(f"{share:.2f} devices a place, not {self.tokens / self.places:.2f}")
        return statistics.median(each["ns"] for each in found)

    def check(self):
        """Every entry was read: as many as there are tokens."""
        code, output, errors = self.table_check()
        if code or json.loads(output)["devices"] != self.tokens:
            raise Failure(f"`carillon table check` ended with {code}: {output}{errors}")

    def table_check(self):
        settings = {"group.id": self.name, "state.dir": self.folder / "state"}
        options = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        done = subprocess.run([self.daemon.binary, "table", "check", "--json", *options], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def remove(self):
        self.daemon.kill_if_running()
        topics = list(self.topics.values()) + ([] if self.options.topic else [self.subscriptions])
        for future in self.cluster.admin.delete_topics(topics).values():
            with contextlib.suppress(Exception):
                future.result(30)
        shutil.rmtree(self.folder, ignore_errors=True)


def measure(options):
    tables, found = [], {"tokens": options.tokens, "runs": options.runs}
    builds = [("before", options.against)] if options.against else []
    try:
        for name, build in [*builds, ("", options.carillon)]:
            table = Table(options, options.tokens, build)
            tables.append(table)
            seconds = table.load()
            found.setdefault("loaded in s", seconds)
            found[f"fill {name}".strip()] = table.fill()
            if not name:
                found["ready s"] = {how: table.restarts(how) for how in OPENINGS}
                found["MB not of files, without a fill"] = table.restart_memory()
                found["look-up ns"] = {"": table.look_up()}
            if options.quick:
                table.check()
            table.remove()
        small = Table(options, SMALL, options.carillon)
        tables.append(small)
        small.load()
        small.fill()
        found["look-up ns"]["100,000 tokens"] = small.look_up()
    finally:
        for table in tables:
            table.remove()
    return found


def show(found):
    for name in ("fill before", "fill"):
        if row := found.get(name):
            print(
                f"{name}:",
                ", ".join(f"{value:,.0f} {unit}" if value > 50 else f"{value:.2f} {unit}" for unit, value in row.items()),
            )
    print(f"without a fill: {found['MB not of files, without a fill']:.0f} MB not of files")
    for how, seconds in found["ready s"].items():
        print(f"ready after {how}: {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s")
    large, small = found["look-up ns"].values()
    print(f"a look-up: {large:,.0f} ns; with {SMALL:,} tokens {small:,.0f} ns; {large / small:.2f} times as long")


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench --table", description=__doc__.splitlines()[0])
    parser.add_argument("tokens", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5, help="of each kind of start, and of the look-ups")
    parser.add_argument("--against", help="another build of carillon, whose fill is measured first")
    parser.add_argument("--topic", help="what the names of the topics begin with that are kept, and used again if they are there")
    parser.add_argument("--quick", action="store_true", help="everything, small")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args()
    options.carillon, options.limit, options.lookups = (os.environ[name] for name in ("CARILLON", "LIMIT", "LOOKUPS"))
    options.deadline, options.looked_up = 3_600, 1_000_000
    if options.quick:
        options.tokens, options.runs, options.looked_up = 50_000, 1, 10_000
    try:
        found = measure(options)
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
