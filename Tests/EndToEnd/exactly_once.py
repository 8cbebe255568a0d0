"""Exactly once under faults: two processes, kill -9, joins and leaves, poison, while events keep coming; then the verifier."""

import argparse
import random
import signal
import sys
import time

from cluster import Cluster, Failure
from daemon import EXIT_DRAINED, Daemon
from world import World


class Run:
    def __init__(self, options):
        self.options = options
        self.chance = random.Random(f"faults {options.seed}")
        self.world = World(Cluster(), "exactly-once", options.seed, options.partitions)
        self.restarts, self.leaving, self.is_c_away = {}, None, True
        self.began = time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def prepare(self):
        world = self.world.create_topics()
        # The one that comes and goes leaves at once, or its partitions would have no owner for a session.
        settings = {"a": {"workers": 1}, "b": {"workers": 2}, "c": {"static-membership": "false"}}
        self.daemons = {name: world.daemon(name, world.settings(name, **more)) for name, more in settings.items()}
        # Made beforehand: the processes under test need the machine while the events flow.
        self.inputs = [world.events.next() for _ in range(self.options.events)]
        self.say("topics, subscriptions and events are made")
        self.daemons["a"].start()
        self.daemons["b"].start()

    def plan(self):
        """Faults by the number of events after which they happen."""
        count, plan = self.options.events, []
        window = range(count // 20, count - count // 10)
        for at in sorted(self.chance.sample(window, self.options.kills)):
            plan.append((at, self.kill))
        # One join and leave in each of as many spans, far enough apart that it takes part in the work.
        span = len(window) // max(1, self.options.joins)
        for first in range(window.start, window.start + span * self.options.joins, max(1, span)):
            plan += [(first + self.chance.randrange(span * 2 // 5), self.join),
                     (first + span - 1 - self.chance.randrange(span * 2 // 5), self.leave)]
        return sorted(plan, key=lambda each: each[0])

    def kill(self):
        running = [self.daemons[name] for name in "ab" if self.daemons[name].is_running]
        if not running:
            self.restart(next(iter(self.restarts)))
            return self.kill()
        victim = self.chance.choice(running)
        victim.kill()
        # Mostly back within its session; one in three times not, and its partitions move to others meanwhile.
        delay = self.chance.uniform(0, 2) if self.chance.random() < 0.67 else self.chance.uniform(10, 13)
        self.restarts[victim.name] = time.monotonic() + delay
        self.say(f"kill -9 {victim.name}, back in {delay:.1f} s; lag {self.world.lag():,}")

    def join(self):
        if self.leaving:
            self.check_leave()
        self.is_c_away = False
        self.daemons["c"].start()
        self.say(f"c joins; lag {self.world.lag():,}")

    def leave(self):
        # It drains while the load goes on.
        self.leaving, self.is_c_away = time.monotonic(), True
        self.daemons["c"].signal(signal.SIGTERM)
        self.say(f"c is told to leave; lag {self.world.lag():,}")

    def check_leave(self, seconds=10):
        left = max(0, self.leaving + seconds - time.monotonic())
        self.daemons["c"].expect_exit(EXIT_DRAINED, seconds=left)
        self.say(f"c left, drained in {time.monotonic() - self.leaving:.1f} s")
        self.leaving = None

    def restart(self, name):
        self.daemons[name].start()
        del self.restarts[name]
        self.say(f"{name} is back; lag {self.world.lag():,}")

    def load(self):
        """Produces the events at the rate, in uneven bursts, and lets the faults happen on their way."""
        producer, plan, made = self.world.cluster.producer(), self.plan(), 0
        began = time.monotonic()
        while made < self.options.events:
            # A burst of up to half a second's worth; then no earlier than the rate allows.
            burst = self.chance.randrange(1, max(2, self.options.rate // 2))
            for each in self.inputs[made : made + burst]:
                producer.produce(self.world.topics["events"], key=each.key, value=each.value, headers=list(each.headers))
                made += 1
            # Faults come while the burst is on its way.
            while plan and plan[0][0] <= made:
                producer.poll(self.chance.uniform(0, 0.03))
                plan.pop(0)[1]()
            while (early := began + made / self.options.rate - time.monotonic()) > 0:
                producer.poll(early)
            for name in [name for name, due in self.restarts.items() if time.monotonic() >= due]:
                self.restart(name)
            if self.leaving and not self.daemons["c"].is_running:
                self.check_leave()
            for each in self.daemons.values():
                if each.process and each.name not in self.restarts and not (each.name == "c" and self.is_c_away):
                    each.expect_running()
        if producer.flush(60):
            raise Failure("events were not delivered")
        self.say(f"{made:,} events produced")
        for name in list(self.restarts):
            self.restart(name)
        if self.leaving:
            self.check_leave()

    def finish(self):
        self.world.wait_until_done(120)
        self.say("the group is at the end")
        for each in self.daemons.values():
            if each.is_running:
                self.say(f"{each.name} drained in {each.stop():.1f} s")

    def verify(self):
        report = self.world.verify()
        if report.counts["events"] != self.options.events:
            report.add("input", f"{report.counts['events']:,} events in the topic, {self.options.events:,} were made")
        report.print()
        self.say("verified")
        return not report.differences


def main():
    parser = argparse.ArgumentParser(prog="exactly-once", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a random one")
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--rate", type=int, default=1_500, help="events a second")
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--joins", type=int, default=3)
    options = parser.parse_args()
    print(f"seed {options.seed}: exactly-once --seed {options.seed} --events {options.events} --rate {options.rate} "
          f"--partitions {options.partitions} --kills {options.kills} --joins {options.joins}", flush=True)
    run = Run(options)
    passed = False
    try:
        run.prepare()
        run.load()
        run.finish()
        passed = run.verify()
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
    finally:
        Daemon.kill_all()
        if passed:
            run.world.remove()
        else:
            print(f"logs of the processes: {run.world.folder}", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
