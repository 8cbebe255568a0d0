"""Broadcasts against the limit: both write as many records of as many bytes, on the same broker, alternately.

    Scripts/bench --broadcasts [--devices N] [--runs N] [--workers N]     a broadcast to 1,000,000 devices of one channel
    Scripts/bench --broadcasts --against CARILLON                         another build in turn with this one

Throughput is the rate at which records are appended to the dispatch topic, from 10 % to 95 % of them. CPU is that of the
process between the same two moments; memory is its peak without the pages of the mapped tables. The tables of devices are
filled before anything is measured, and that is timed as well.
"""

import argparse
import hashlib
import itertools
import json
import os
import sys
import threading
import time

from bench_runs import Bench, medians_by_name
from figures import figures, ratio
from generator.inputs import Input, compact
from harness.waiting import Failure, pause, wait_for
from programs import Processes, Program, Run, as_arguments, limit, resident_mb

# Records of the limit for each of its events.
COPIES = 20
# Of a transaction of the limit, in milliseconds.
INTERVAL = 50
LAG = 30 * 86_400_000


def device(number):
    token = f"device-{number:08}-" + hashlib.sha512(str(number).encode()).hexdigest()
    audience = "channel/General"
    value = {"audience": audience, "token": token, "platform": "fcm", "app": "com.example.shop"} | {
        "locale": ("en-GB", "de-AT", "fr")[number % 3],
        "registered_at": "2026-02-01T00:00:00Z",
    }
    return Input(f"{audience}|{hashlib.sha256(token.encode()).hexdigest()}".encode(), compact(value))


def broadcast(identity):
    texts = {
        "en": ("Back at noon", "We are moving to larger machines. Orders are taken again at noon."),
        "de": ("Um zwölf zurück", "Wir ziehen auf größere Maschinen um. Bestellungen sind ab zwölf Uhr wieder möglich."),
    }
    fields = [{"language": language, "title": title, "msg": text} for language, (title, text) in texts.items()]
    value = {"actiontype": "display", "notificationtype": "downtime", "notificationid": identity}
    value |= {"expiry": "86400000millis", "published_at": int(time.time() * 1000), "fields": fields}
    return Input(identity.encode(), compact(value))


class Broadcasts(Bench):
    def load(self):
        options = self.options
        self.cluster.create_topics(
            {
                self.input: (options.partitions, {}),
                self.table: (
                    options.partitions,
                    {"cleanup.policy": "compact", "min.compaction.lag.ms": str(LAG)},
                ),
            }
        )
        numbers = iter(range(options.devices))
        while some := [device(number) for number in itertools.islice(numbers, 200_000)]:
            self.cluster.produce(self.table, some)
        self.call("load", self.input, options.devices // COPIES, 1_000, 100)

    def fill(self, program):
        """Starts once without a broadcast, so that the tables are filled; (seconds, peak MB without mapped pages)."""
        run = self.make_run(f"fill-{program.name}", program)
        began = time.monotonic()
        processes = Processes(program.commands(run), self.folder / f"{run.group}.log")
        group, (process,) = f"{run.group}-broadcasts", processes.all
        wait_for(
            "the tables are filled",
            lambda: len(self.cluster.committed(group, self.table)) == self.options.partitions or process.poll() is not None,
            self.options.deadline,
        )
        seconds, peak = time.monotonic() - began, resident_mb(process.pid, "RssAnon")
        processes.stop()
        processes.expect_well()
        return seconds, peak

    def make_run(self, group, program):
        """Topics for one run. Each program has tables of its own: another build may store them otherwise."""
        options = self.options
        output = {
            "broadcasts": f"{self.name}.{group}.messages",
            "journal": f"{self.name}.{group}.messages.journal",
            "dispatch": f"{self.name}.{group}.dispatch.broadcasts",
            "dead-letters": f"{self.name}.{group}.dead-letters",
        }
        sizes = {"dispatch": options.partitions}
        self.cluster.create_topics({topic: (sizes.get(kind, 1), {}) for kind, topic in output.items()})
        topics = (self.input, self.table, output)
        amounts = (options.workers, INTERVAL, options.devices // COPIES, self.value_bytes)
        return Run(self.cluster.bootstrap, group, *topics, self.folder / f"state-{program.name}", *amounts)

    def measure(self, program):
        """One run, with the rate and the CPU of records, and the peak without mapped pages."""
        self.runs += 1
        group, total = f"run-{self.runs}", self.options.devices
        run = self.make_run(group, program)
        if program.name != "limit":
            self.cluster.produce(run.output["broadcasts"], [broadcast(group)])
        processes = Processes(program.commands(run), self.folder / f"{group}.log")
        peaks = Peaks(processes.all[0].pid)
        try:
            samples = self.follow_ends(processes, run.output["dispatch"], total)
        finally:
            processes.stop()
            peaks.stop()
        if program.name != "limit" and self.value_bytes == 0:
            self.value_bytes = self.average_value(run.output["dispatch"])
            print(f"carillon writes {self.value_bytes} B a record, and so does the limit", flush=True)
        # Markers of transactions take offsets as well, so the records themselves are counted.
        found = json.loads(self.call("tally", run.output["dispatch"]))["records"]
        if found != total:
            raise Failure(f"{program.name} wrote {found:,} records, {total:,} are due")
        self.delete(run.output.values())
        return figures(samples, total, peaks.most)

    def follow_ends(self, processes, topic, total):
        samples, deadline, (process,) = [], time.monotonic() + self.options.deadline, processes.all
        while True:
            cpu, _ = processes.look()
            done = sum(self.cluster.ends(topic, uncommitted=True).values())
            samples.append((time.monotonic(), done, cpu))
            if done >= total and (process.poll() is not None or sum(self.cluster.ends(topic).values()) >= total):
                return samples
            processes.expect_well()
            if time.monotonic() > deadline:
                raise Failure(f"{done:,} records after {self.options.deadline} s:\n{processes.last_lines()}")
            pause(0.04)


def broadcasts(build, name="carillon"):
    def commands(run):
        settings = {
            "kafka.bootstrap.servers": run.bootstrap,
            "group.id": run.group,
            "instance.id": "bench",
            "workers": run.workers,
            "state.dir": run.state,
            "topic.broadcasts": run.output["broadcasts"],
            "topic.subscriptions": run.table,
            "topic.dispatch": run.output["dispatch"].removesuffix(".broadcasts"),
            "topic.dead-letters": run.output["dead-letters"],
        }
        return [[build, "broadcasts", "--include-valid", *as_arguments(settings)]]

    return Program(name, commands)


class Peaks:
    """The most memory of a process that is not mapped from files, looked at ten times a second."""

    def __init__(self, pid):
        self.most, self.ended = 0, threading.Event()
        self.thread = threading.Thread(target=self.look, args=(pid,), daemon=True)
        self.thread.start()

    def look(self, pid):
        while not self.ended.wait(0.1):
            try:
                self.most = max(self.most, resident_mb(pid, "RssAnon") or 0)
            except (FileNotFoundError, ProcessLookupError):
                return

    def stop(self):
        self.ended.set()
        self.thread.join()


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=1_000_000, help="of one channel; default 1,000,000")
    parser.add_argument("--runs", type=int, default=3, help="of each program, in turn; the medians are shown")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--against", help="another build of carillon, measured in turn with this one")
    options = parser.parse_args()
    options.carillon, options.limit = os.environ["CARILLON"], os.environ["LIMIT"]
    options.partitions, options.deadline = 24, 300
    bench = Broadcasts(options)
    bench.value_bytes = 0
    builds = [broadcasts(options.carillon)]
    if options.against:
        builds.append(broadcasts(options.against, name="against"))
    programs = [*builds, limit(options.limit, COPIES)]
    try:
        bench.load()
        for build in builds:
            seconds, peak = bench.fill(build)
            print(f"{build.name}: {options.devices:,} devices in tables after {seconds:.1f} s, {peak:.0f} MB", flush=True)
        bench.measure(builds[0])  # Not counted: it warms up the broker's JIT compiler.
        rows = {program.name: [] for program in programs}
        for _ in range(options.runs):
            for program in programs:
                rows[program.name].append(bench.measure(program))
        names = ("records/s", "µs CPU a record", "peak MB")
        found = {name: dict(zip(names, (round(value, 2) for value in row))) for name, row in medians_by_name(rows).items()}
        for other in programs[1:]:
            columns = zip(zip(*rows["carillon"]), zip(*rows[other.name]))
            found[f"to {other.name}"] = dict(zip(names, (str(ratio(mine, others)) for mine, others in columns)))
        print(json.dumps(found, indent=2))
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
