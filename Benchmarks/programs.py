"""What is measured: carillon, the limit, and programs that other people would write for the same work; and their processes."""

import os
import pathlib
import re
import signal
import subprocess
import sys
from typing import Callable, NamedTuple

from harness.waiting import Failure

COPIES = 3
TICKS = os.sysconf("SC_CLK_TCK")
HERE = pathlib.Path(__file__).resolve().parent


class Run(NamedTuple):
    """One start of a program: its group and topics, and how much of the machine it may use. `interval` is in milliseconds."""

    bootstrap: str
    group: str
    input: str
    table: str
    output: dict
    state: pathlib.Path
    workers: int
    interval: int
    # The limit's alone: it ends after so many events, and does not know how large a push is.
    events: int
    value_bytes: int


class Program(NamedTuple):
    """`commands` gives the command line of each of its processes. `input` is the topic whose offsets tell how far it is, if that
    is not the topic of events."""

    name: str
    commands: Callable[[Run], list]
    input: str = ""


def as_arguments(settings):
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def limit(build, copies=COPIES):
    """`copies` are the records that it writes for each event."""

    def commands(run):
        topics = [run.bootstrap, run.group, run.input, run.output["dispatch"]]
        numbers = [run.events, run.workers, copies, run.value_bytes, run.interval]
        return [[build, "run", *topics, *map(str, numbers)]]

    return Program("limit", commands)


def carillon(build, name="carillon", topic="", settings=()):
    """`settings` are more of them by name, or others; `topic` is where its progress shows."""

    def commands(run):
        own = {
            "kafka.bootstrap.servers": run.bootstrap,
            "group.id": run.group,
            "instance.id": "bench",
            "workers": run.workers,
            "state.dir": run.state,
            "commit.interval": f"{run.interval}ms",
            "topic.events": run.input,
            "topic.subscriptions": run.table,
            "topic.dispatch": run.output["dispatch"],
            "topic.dead-letters": run.output["dead-letters"],
            "topic.journal": run.output["journal"],
        }
        return [[build, "run", "--from", "earliest", *as_arguments(own | dict(settings))]]

    return Program(name, commands, topic)


def streams(folder, name="streams", interval=None):
    """`folder` has the compiled classes; `interval` takes the place of the run's, because Kafka Streams has one and the same for a
    backlog and for events that arrive. The heap is fixed, because by default it would be a quarter of the machine's memory; with
    the parallel collector it does a quarter more than with the default one."""
    classes = f"{folder}:{os.environ['KAFKA_HOME']}/libs/*"

    def commands(run):
        topics = [run.bootstrap, run.group, run.input, run.table, run.output["dispatch"]]
        amounts = [str(run.workers), str(interval or run.interval), str(run.state)]
        options = ["-Xms512m", "-Xmx512m", "-XX:+UseParallelGC", "-Dlog4j2.level=ERROR"]
        return [["java", *options, "-cp", classes, "FanOut", *topics, *amounts]]

    return Program(name, commands)


def python():
    """A process for each worker: one process runs Python on one core."""

    def commands(run):
        topics = [run.bootstrap, run.group, run.input, run.table, run.output["dispatch"]]
        # -P: `requests` is PyPI's and not the file beside it.
        command = [sys.executable, "-P", str(HERE / "fan_out.py"), *topics]
        return [[*command, str(number), str(run.interval)] for number in range(run.workers)]

    return Program("python", commands)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid, name):
    """A process's `VmHWM`, the most so far, or another of its figures; None once it has ended."""
    found = re.search(rf"^{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else None


class Processes:
    """The processes of a program, with their output in one file."""

    def __init__(self, commands, log):
        self.log, self.cpus, self.peaks, self.all = log, {}, {}, []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
        with open(log, "wb") as output:
            for command in commands:
                self.all.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=output,
                        env=environment,
                        start_new_session=True,
                    )
                )

    def look(self):
        """(CPU seconds, the most MB of resident memory) of all; of one that has ended what was last seen."""
        for each in self.all:
            try:
                self.cpus[each.pid] = cpu_seconds(each.pid)
                self.peaks[each.pid] = resident_mb(each.pid, "VmHWM") or self.peaks.get(each.pid, 0)
            except (FileNotFoundError, ProcessLookupError):
                continue
        return sum(self.cpus.values()), sum(self.peaks.values())

    def expect_well(self):
        for each in self.all:
            if each.poll():
                raise Failure(f"{each.args[0]} ended with {each.returncode}:\n{self.last_lines()}")

    def last_lines(self):
        return self.log.read_text(errors="replace")[-2000:]

    def stop(self):
        for each in self.all:
            if each.poll() is None:
                each.send_signal(signal.SIGTERM)
        for each in self.all:
            try:
                each.wait(15)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
