"""Exactly once, proved under faults: processes are killed, stopped, join and leave, transactions are aborted, brokers are killed,
subscriptions change, poison comes in, while events and requests keep coming; then the verifier, and one summary."""

import argparse
import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from harness.cluster import Cluster
from harness.daemon import EXIT_CONFIGURATION
from harness.harness import Harness
from harness.monitor import Monitor
from harness.replaying import documents
from harness.seed import add_seed
from harness.waiting import PATIENCE, Failure, expect, now_ms, pause
from model.stalls import check_stalls
from scenarios.nemesis import FAULTS, SESSION_TIMEOUT, TRANSACTION_TIMEOUT, Nemesis, Targets

MAX_LAG = 10
# A table may be as old as the setting says, and a process that was stopped notices only when it continues.
MAX_TABLE_AGE = MAX_LAG + SESSION_TIMEOUT + 5 + 10
# I10, and the time to write the markers and to notice; where one node of several is killed, also until the others know.
MAX_STALL, MAX_STALL_NODES = TRANSACTION_TIMEOUT + 10 + 2, TRANSACTION_TIMEOUT + 10 + 2 + 10
# From when a timer is due until it is sent, where nothing delays it.
MAX_TICK = 5
# How often a broker looks for transactions that timed out, in seconds. Its default of 10 uses up all the time that I10 gives.
ABORT_INTERVAL = 2
# The headers of dispatch records beyond the standard ones.
HEADERS = ("event-type",)
# Of the changes of subscriptions half are for the audiences of requests.
USERS = 500
DEFAULT_FAULTS = "kill=5,point=4,freeze=2,join=2,broker=1,abort=3"


class Chaos:
    """One run: a world, the load on it, what goes wrong meanwhile, and what the verifier says afterwards."""

    def __init__(self, harness, options, brokers):
        self.harness, self.options, self.brokers = harness, options, brokers
        self.chance = random.Random(f"load {options.seed}")
        cluster = Cluster(brokers.start()) if brokers else harness.cluster()
        self.world = harness.make_world(
            "chaos",
            cluster,
            schedule=options.schedule == "on",
            partitions=options.partitions,
            places=2000,
            crowd=200,
            users=USERS if options.requests_share else 0,
        )
        self.world.rules.headers = frozenset(HEADERS)
        self.max_stall = MAX_STALL_NODES if options.nodes > 1 and options.faults["broker"] else MAX_STALL
        self.began = time.monotonic()

    def say(self, text):
        lag = self.monitor.lag
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}{'' if lag is None else f'; lag {lag:,}'}", flush=True)

    def prepare(self):
        # The broker's time, by which the verifier sees whether a tick has overtaken the log.
        world, topics = self.world.create_topics(message_timestamp_type="LogAppendTime"), self.world.topics
        self.monitor = Monitor(world.cluster.bootstrap, [topics["dispatch"], topics["journal"]], world.name, world.inputs)
        # Small transactions even with a lag, so that there are many of them.
        shared = {
            "commit.max-records": self.options.records,
            "session.timeout": f"{SESSION_TIMEOUT}s",
            "transaction.timeout": f"{TRANSACTION_TIMEOUT}s",
            "shutdown.timeout": f"{TRANSACTION_TIMEOUT}s",
            "subscriptions.max-lag": f"{MAX_LAG}s",
            "dispatch.headers": ",".join(HEADERS),
        }
        daemons = []
        for number in range(self.options.processes):
            # The first is the release build; the others have the hooks, and more than one worker.
            name, has_hooks = f"p{number + 1}", number > 0 and self.harness.debug_carillon is not None
            settings = world.settings(name, workers=1 if number == 0 else 2) | shared
            # The last one does not know requests before it starts again.
            is_late = world.requests and 0 < number == self.options.processes - 1
            binary = self.harness.debug_carillon if has_hooks else None
            daemon = world.daemon(name, settings | {"topic.requests": ""} if is_late else settings, binary=binary)
            daemons.append((daemon, has_hooks, settings if is_late else None))
        # It leaves the group at once: otherwise its partitions would have no owner for a session.
        visitor = world.daemon("visitor", world.settings("visitor") | shared | {"static-membership": "false"})
        self.nemesis = Nemesis(Targets(world, daemons, visitor, self.brokers), self.monitor, self.options, self.say)
        self.say("topics and subscriptions are made")
        self.monitor.start()
        for each in self.nemesis.processes:
            self.nemesis.start(each)

    def load(self):
        """Produces the events at the rate, in uneven bursts, their share of requests, and makes the faults and the changes happen
        meanwhile."""
        producer, plan, options = self.world.cluster.producer(), self.nemesis.plan(), self.options
        made, changed, requested, allowed, now = 0, 0, 0, 0.0, time.monotonic()
        while made < options.events or not self.nemesis.is_done:
            # More events, slowly, as long as faults are still to come: most of them need a load.
            rate = options.rate if made < options.events * 9 // 10 or self.nemesis.is_done else options.rate / 10
            # A burst of up to a fifth of a second's worth, and the next one when the rate allows it.
            burst = min(int(allowed), self.chance.randrange(1, max(2, options.rate // 5)))
            self.world.events.mix.slots_from = now_ms()
            for _ in range(burst):
                self._produce(producer, "events", self.world.events.next())
            made, allowed = made + burst, allowed - burst
            while requested < int(made * options.requests_share):
                self._produce(producer, "requests", self.world.next_request())
                requested += 1
            while changed < made * options.changes // options.events:
                self._produce(producer, "subscriptions", self.world.changes.next())
                changed += 1
            while plan and plan[0][0] <= made:
                # Faults happen while the burst is on its way.
                producer.poll(self.chance.uniform(0, 0.03))
                self.nemesis.cause(plan.pop(0)[1])
            self.nemesis.tick()
            producer.poll(0.02)
            last, now = now, time.monotonic()
            allowed = min(allowed + rate * (now - last), options.rate)
        self.made, self.requested = made, requested
        self._wait("what was produced is delivered", lambda: producer.flush(0.1) == 0, 120)
        self.say(f"{made:,} events, {requested:,} requests and {changed:,} changes of subscriptions produced")

    def _produce(self, producer, topic, each):
        producer.produce(self.world.topics[topic], key=each.key, value=each.value, headers=list(each.headers))
        producer.poll(0)

    def _wait(self, what, condition, seconds):
        """As `wait_for`, while the processes are looked after."""
        seconds *= PATIENCE
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                daemons = [each for each in self.world.daemons if each.is_running]
                raise Failure(
                    "\n".join([f"not within {seconds} s: {what}"] + [f"  {each.name}:\n{each.last_lines()}" for each in daemons])
                )
            self.nemesis.tick()
            pause()

    def finish(self):
        while (lag := self.monitor.lag) != 0:
            self._wait(
                "the group comes nearer to the end",
                lambda: self.monitor.lag is not None and (lag is None or self.monitor.lag < lag),
                120,
            )
        self.world.wait_until_done(60)
        self.timers_until, at_end = now_ms(), time.monotonic()
        self._wait("timers that were due have had their time", lambda: time.monotonic() > at_end + MAX_TICK, MAX_TICK + 10)
        self.say("the group is at the end")
        self.monitor.halt()
        for each in self.nemesis.processes:
            self.say(f"{each.name} drained in {each.daemon.stop(TRANSACTION_TIMEOUT + 20):.1f} s")

    def verify(self):
        # Much is read, and all of it lives to the end: there would be nothing to collect.
        gc.disable()
        report = self.world.verify(max_table_age_ms=MAX_TABLE_AGE * 1_000, timers_until=self.timers_until)
        if report.counts["events"] != self.made:
            report.add("input", f"{report.counts['events']:,} events in the topic, {self.made:,} were made")
        if report.counts.get("requests", 0) != self.requested:
            report.add("input", f"{report.counts.get('requests', 0):,} requests in the topic, {self.requested:,} were made")
        if self.requested > 1_000:
            for what in ("expected pushes of requests", "dead letters of requests", "requests expired", "requests no_subscriber"):
                if not report.counts.get(what):
                    report.add("nothing to compare", f"{self.requested:,} requests, and no {what}")
        tables = self.nemesis.copies | {each.name: self.world.folder / each.name for each in self.nemesis.processes}
        self.world.check_tables(tables, report)
        stall = check_stalls(self.monitor.samples, self.max_stall, report)
        if self.options.schedule == "on" and time.monotonic() - self.began > 240 and not report.counts.get("timers sent"):
            report.add("no timer", "the run has seen several full minutes, and no timer was due")
        self.say("verified")
        self.summarize(report, len(tables), stall)
        if not report.differences:
            self.replay(report.counts["dispatched"])
        return not report.differences

    def replay(self, sent):
        """Renders again from the journal what was sent, with Carillon itself: nothing may differ, in either topic."""
        settings = self.world.settings("replay") | {"dispatch.headers": ",".join(HEADERS)}
        (found,), _ = documents(self.world, "replay", "diff", settings=settings)
        wanted = {"equal": sent, "unequal": 0, "missing": 0, "extra": 0, "duplicates": 0, "approximations": []}
        expect("carillon replay diff", {name: found[name] for name in wanted}, wanted)
        print(f"carillon replay diff: {sent:,} records are the same, byte for byte; {found['transactions']:,} transactions")

    @property
    def log(self):
        return "".join(each.log(whole=True) for each in self.world.daemons)

    def summarize(self, report, tables, stall):
        counts, options, log = self.nemesis.counts, self.options, self.log
        print(
            f"\nseed {options.seed}, {self.made:,} events at up to {options.rate:,} a second, {self.requested:,} requests, "
            f"{options.changes:,} changes of subscriptions, {options.processes} processes and a visitor, "
            f"{options.partitions} partitions, schedule={options.schedule}, {self.brokers or 'brokers that were there'}"
        )
        for what, count in sorted(counts.items()):
            print(f"  {count:6,} {what}")
        for word, what in (
            ("fault: abort@", "transactions aborted on purpose"),
            ("lost its partitions", "times partitions lost"),
            ("gives its partitions back", "revocations"),
            ("recreates its producer", "producers replaced"),
            ("recreates its consumer", "consumers replaced"),
        ):
            print(f"  {log.count(word):6,} {what}")
        print("  points: " + (", ".join(f"{count} {point}" for point, count in sorted(self.nemesis.points.items())) or "none"))
        print(
            f"  {tables} tables compared with the fold; the longest stall of a last stable offset {stall:.1f} s, "
            f"{self.max_stall} s allowed"
        )
        report.print()


def faults(text):
    """Counts by fault; `abort` is one in so many transactions."""
    chosen = dict.fromkeys((*FAULTS, "abort"), 0)
    for part in filter(None, text.split(",")):
        name, _, count = part.partition("=")
        if name not in chosen or not count.isdigit():
            raise argparse.ArgumentTypeError(f"{part}: not one of {', '.join(chosen)}, each with =N")
        chosen[name] = int(count)
    return chosen


def check_builds(release, debug):
    """The release build has no hooks, and the debug build has them: otherwise a run would prove less than it says. A run under a
    sanitizer uses one build for both."""
    words = (b"CARILLON_FAULT", b"after-send-offsets", b"FaultPlan")
    if release != debug and (found := [word.decode() for word in words if word in pathlib.Path(release).read_bytes()]):
        raise Failure(f"{release} has hooks for tests in it, and is to be a release build: {', '.join(found)}")
    if not debug:
        return
    arguments = [debug, "run", "--set", "kafka.bootstrap.servers=127.0.0.1:1"]
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=30, env=os.environ | {"CARILLON_FAULT": "nonsense"})
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != EXIT_CONFIGURATION or b"CARILLON_FAULT" not in done.stderr + done.stdout:
        raise Failure(f"{debug} has no hooks in it, and is to be a debug build")


def parse_options():
    """The options, and the harness for them."""
    parser = argparse.ArgumentParser(prog="Scripts/chaos", description=__doc__)
    add_seed(parser)
    parser.add_argument("--events", type=int, default=30_000, help="at least; more where faults are still to come then")
    parser.add_argument("--rate", type=int, default=800, help="events a second, at most")
    parser.add_argument(
        "--requests-share", type=float, default=0.25, help="requests for each event; default: 0.25; 0: requests are off"
    )
    parser.add_argument("--changes", type=int, help="of subscriptions, meanwhile; default: a tenth of the events")
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--records", type=int, default=250, help="pushes in a transaction, about")
    parser.add_argument("--processes", type=int, default=2, help="that are there all the time; all but the first have the hooks")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3), help="brokers")
    parser.add_argument(
        "--faults",
        type=faults,
        default=DEFAULT_FAULTS,
        help="how many of each: kill at random moments, point: kill at a fixed point, freeze: SIGSTOP for longer "
        "than a session, join and leave, broker: kill one hard; abort=3: one transaction in three. Those "
        f"not named do not happen. Default: {DEFAULT_FAULTS}",
    )
    parser.add_argument("--schedule", choices=("on", "off"), default="on", help="whether timers fire; default: on")
    parser.add_argument(
        "--keep", action="store_true", help="leave the test's own brokers running where the run fails, to look into"
    )
    options = parser.parse_args()
    options.changes = options.events // 10 if options.changes is None else options.changes
    harness = Harness(options.seed, os.environ)
    if not harness.debug_carillon and (options.faults["point"] or options.faults["abort"]):
        parser.error("point and abort need a debug build: CARILLON_DEBUG names it")
    if options.faults["broker"] and not harness.kafka_home:
        print("SKIPPED: killing brokers; they have to be the test's own, from KAFKA_HOME", flush=True)
        options.faults["broker"] = 0
    return options, harness


def end_early(*_):
    """Ends the run so that it cleans up, which a second signal must not interrupt: `timeout` sends two."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def main():
    options, harness = parse_options()
    chosen = ",".join(f"{name}={count}" for name, count in options.faults.items() if count)
    sizes = " ".join(
        f"--{name} {getattr(options, name.replace('-', '_'))}"
        for name in (
            "seed",
            "events",
            "rate",
            "requests-share",
            "changes",
            "partitions",
            "records",
            "processes",
            "nodes",
            "schedule",
        )
    )
    print(f"seed {options.seed}: Scripts/chaos {sizes} --faults {chosen}", flush=True)
    signal.signal(signal.SIGTERM, end_early)
    interval = f"transaction.abort.timed.out.transaction.cleanup.interval.ms={ABORT_INTERVAL}000"
    brokers = harness.brokers("--set", interval, nodes=options.nodes) if harness.kafka_home else None
    passed = False
    try:
        check_builds(harness.carillon, harness.debug_carillon)
        chaos = Chaos(harness, options, brokers)
        chaos.prepare()
        chaos.load()
        chaos.finish()
        passed = chaos.verify()
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
    finally:
        harness.close(passed)
        if brokers and options.keep and not passed:
            print(
                f"the brokers are still running: {brokers.folder}, {brokers.bootstrap}; Scripts/kafka stop {brokers.folder}",
                flush=True,
            )
        elif brokers:
            brokers.remove()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
