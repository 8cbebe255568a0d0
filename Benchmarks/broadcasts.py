"""Broadcasts against the limit: both write as many records of as many bytes, on the same broker, alternately.

    Scripts/bench --broadcasts [--devices N] [--runs N] [--workers N]     a broadcast to 1,000,000 devices of one channel

Throughput is the rate at which records are appended to the dispatch topic, from 10 % to 95 % of them. CPU is that of the
process between the same two moments; memory is its peak without the pages of the mapped tables. The tables of devices are
filled before anything is measured, and that is timed as well.
"""

import argparse
import hashlib
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "EndToEnd"))
from bench import Bench, Program, cpu_seconds, crossing  # noqa: E402
from generator.inputs import Input, compact  # noqa: E402
from harness.waiting import Failure, pause, wait_for  # noqa: E402

# Records of the limit for each of its events.
COPIES = 20
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
        events = [options.limit, "load", self.cluster.bootstrap, self.input, str(options.devices // COPIES), "300", "100"]
        subprocess.run(events, check=True)

    def settings(self, group, output):
        return {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "group.id": group,
            "instance.id": "bench",
            "workers": self.options.workers,
            "state.dir": self.folder / "state",
            "topic.broadcasts": output["broadcasts"],
            "topic.subscriptions": self.table,
            "topic.dispatch": output["dispatch"].removesuffix(".broadcasts"),
            "topic.dead-letters": output["dead-letters"],
        }

    def command(self, program, group, output, workers):
        if program.name == "limit":
            events = str(self.options.devices // COPIES)
            fixed = [program.build, "run", self.cluster.bootstrap, group, program.input, output["dispatch"], events]
            return fixed + [str(workers), str(COPIES), str(self.value_bytes)]
        settings = [part for pair in self.settings(group, output).items() for part in ("--set", "{}={}".format(*pair))]
        return [program.build, "broadcasts", "--include-valid", *settings]

    def fill(self, build):
        """Starts once without a broadcast, so that the tables are filled; (seconds, peak MB without mapped pages)."""
        output = self.create("fill")
        began = time.monotonic()
        process = self.spawn(Program("carillon", build, self.table, {}), "fill", output, self.options.workers)
        group = "fill-broadcasts"
        wait_for(
            "the tables are filled",
            lambda: len(self.cluster.committed(group, self.table)) == self.options.partitions or process.poll() is not None,
            self.options.deadline,
        )
        seconds, peak = time.monotonic() - began, anonymous_mb(process.pid)
        self.end(process)
        if process.returncode:
            raise Failure(f"the daemon ended with {process.returncode}: {self.log('fill').read_text()[-2000:]}")
        return seconds, peak

    def create(self, group):
        output = {
            "broadcasts": f"{self.name}.{group}.messages",
            "journal": f"{self.name}.{group}.messages.journal",
            "dispatch": f"{self.name}.{group}.dispatch.broadcasts",
            "dead-letters": f"{self.name}.{group}.dead-letters",
        }
        sizes = {"dispatch": self.options.partitions}
        self.cluster.create_topics({topic: (sizes.get(kind, 1), {}) for kind, topic in output.items()})
        return output

    def log(self, group):
        return self.folder / f"{group}.log"

    def spawn(self, program, group, output, workers):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
        with open(self.log(group), "wb") as log:
            return subprocess.Popen(
                self.command(program, group, output, workers),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def measure(self, program, workers):
        """One run: (records/s, CPU µs a record, peak MB without mapped pages)."""
        self.runs += 1
        group, total = f"run-{self.runs}", self.options.devices
        output = self.create(group)
        if program.name != "limit":
            self.cluster.produce(output["broadcasts"], [broadcast(group)])
        process = self.spawn(program, group, output, workers)
        peaks = Peaks(process.pid)
        try:
            samples = self.follow_ends(process, output["dispatch"], total, self.log(group))
        finally:
            self.end(process)
            peaks.stop()
        if program.name != "limit" and self.value_bytes == 0:
            self.value_bytes = self.average_value(output["dispatch"])
            print(f"carillon writes {self.value_bytes} B a record, and so does the limit", flush=True)
        self.count(output["dispatch"], total)
        first, last = total // 10, total * 95 // 100
        (t0, c0), (t1, c1) = crossing(samples, first), crossing(samples, last)
        for future in self.cluster.admin.delete_topics(list(output.values())).values():
            future.result(30)
        return (last - first) / (t1 - t0), (c1 - c0) / (last - first) * 1e6, peaks.most

    def follow_ends(self, process, topic, total, log):
        samples, deadline = [], time.monotonic() + self.options.deadline
        while True:
            try:
                cpu = cpu_seconds(process.pid)
            except (FileNotFoundError, ProcessLookupError, IndexError):
                cpu = samples[-1][2] if samples else 0
            done = sum(self.cluster.ends(topic, uncommitted=True).values())
            samples.append((time.monotonic(), done, cpu))
            if done >= total and (process.poll() is not None or sum(self.cluster.ends(topic).values()) >= total):
                return samples
            if process.poll() not in (None, 0):
                raise Failure(f"{process.args[0]} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise Failure(f"{done:,} records after {self.options.deadline} s:\n{log.read_text()[-2000:]}")
            pause(0.04)

    def count(self, topic, total):
        """Markers of transactions take offsets as well, so the records themselves are counted."""
        found = sum(1 for _ in self.cluster.stream(topic))
        if found != total:
            raise Failure(f"{topic} has {found:,} records, {total:,} are due")


def anonymous_mb(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0)


class Peaks:
    """The most memory of a process that is not mapped from files, looked at ten times a second."""

    def __init__(self, pid):
        self.most, self.ended = 0, threading.Event()
        self.thread = threading.Thread(target=self.look, args=(pid,), daemon=True)
        self.thread.start()

    def look(self, pid):
        while not self.ended.wait(0.1):
            try:
                self.most = max(self.most, anonymous_mb(pid))
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
    options = parser.parse_args()
    options.carillon, options.limit = os.environ["CARILLON"], os.environ["LIMIT"]
    options.partitions, options.deadline = 24, 300
    bench = Broadcasts(options)
    bench.value_bytes = 0
    programs = [
        Program("carillon", options.carillon, bench.table, {}),
        Program("limit", options.limit, bench.input, {}),
    ]
    try:
        bench.load()
        seconds, peak = bench.fill(options.carillon)
        print(f"{options.devices:,} devices in tables after {seconds:.1f} s, {peak:.0f} MB", flush=True)
        bench.measure(programs[0], options.workers)  # Not counted: it warms up the broker's JIT compiler.
        rows = {program.name: [] for program in programs}
        for _ in range(options.runs):
            for program in programs:
                rows[program.name].append(bench.measure(program, options.workers))
        medians = {name: [statistics.median(column) for column in zip(*found)] for name, found in rows.items()}
        mine, limit = medians["carillon"], medians["limit"]
        names = ("records/s", "µs CPU a record", "peak MB")
        print(
            json.dumps(
                {name: dict(zip(names, (round(value, 2) for value in found))) for name, found in medians.items()}
                | {"to the limit": dict(zip(names, (round(one / two, 2) for one, two in zip(mine, limit))))},
                indent=2,
            )
        )
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
