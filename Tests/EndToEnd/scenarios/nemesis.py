"""What goes wrong: processes are killed, stopped, join and leave, brokers are killed; when, and how each comes back."""

import collections
import random
import shutil
import signal
import threading
import time
from dataclasses import dataclass
from typing import Optional

from harness.brokers import Brokers
from harness.daemon import EXIT_DEFECT, EXIT_DRAINED, EXIT_NOT_IN_TIME, Daemon
from harness.waiting import Failure
from harness.world import World

SESSION_TIMEOUT, TRANSACTION_TIMEOUT = 6, 10
# With which chance a fault happens when a point is passed, so that a process has worked for a while before. See FaultPoint.swift.
KILL_POINTS = {
    "after-produce": "1/6",
    "before-commit": "1/6",
    "after-send-offsets": "1/6",
    "after-commit": "1/6",
    "before-table-commit": "1/2",
    "after-table-commit": "1/2",
    "in-revoke": "1/1",
    "in-catch-up": "1/1",
}
STOP_POINTS = {
    "anywhere": None,
    "after-send-offsets": "1/6",
    "after-produce": "1/6",
    "before-commit": "1/6",
    "after-commit": "1/6",
    "in-revoke": "1/1",
}
FAULTS = ("kill", "point", "freeze", "join", "broker")
# How long a process may take to reach the point that it was told to fail at.
ARMED_SECONDS = 60


@dataclass
class Targets:
    """What faults happen to."""

    world: World
    # The processes: the daemon of each, whether it has the hooks, and its settings from its second start on, where they differ.
    daemons: list
    # The process that joins and leaves.
    visitor: Daemon
    # None where they are not the test's own.
    brokers: Optional[Brokers]


class Process:
    """An instance with a slot of its own, and what is being done to it."""

    RUNNING, DRAINING, AWAY, STOPPED = "running", "draining", "away", "stopped"

    def __init__(self, daemon, has_hooks, later=None):
        self.daemon, self.has_hooks, self.later = daemon, has_hooks, later
        self.state, self.due = Process.AWAY, 0
        # (action, point) of its next fault, since when it has been running with that, and how often it did not get there.
        self.armed, self.armed_at, self.attempts = None, 0, 0
        self.starts = 0

    @property
    def name(self):
        return self.daemon.name

    @property
    def is_free(self):
        return self.state == Process.RUNNING and self.armed is None

    @property
    def is_at_work(self):
        """It has partitions, and drains at a SIGTERM, which before ends it at once."""
        return self.is_free and self.daemon.has_line("assigned")


class Nemesis:
    """Plans faults by a seed, makes them happen, and brings back what they have ended. One thread calls it."""

    def __init__(self, targets, monitor, options, say):
        self.world, self.brokers = targets.world, targets.brokers
        self.monitor, self.options, self.say = monitor, options, say
        self.chance = random.Random(f"faults {options.seed}")
        self.processes = [Process(*each) for each in targets.daemons]
        self.visitor, self.leave_at, self.leaving_since = targets.visitor, None, None
        self.counts, self.points = collections.Counter(), collections.Counter()
        self.copies = {}
        self.node, self.node_due, self.node_thread, self.node_problem = None, 0, None, None
        self.waiting = collections.deque()
        self.faults = dict(zip(FAULTS, (self._kill, self._point, self._freeze, self._join, self._broker), strict=True))
        self.kill_points = self._order(KILL_POINTS)
        self.stop_points = self._order(STOP_POINTS)

    def _order(self, points):
        """The points in a random order, again and again."""
        while True:
            yield from self.chance.sample(sorted(points), len(points))

    def plan(self):
        """The faults by the number of events after which they happen."""
        count = self.options.events
        names = [name for name in FAULTS for _ in range(self.options.faults[name])]
        self.chance.shuffle(names)
        window = range(count // 20, count * 17 // 20)
        return list(zip(sorted(self.chance.sample(window, len(names))), names))

    def cause(self, fault):
        """Makes a fault happen as soon as there is something that it can happen to."""
        self.waiting.append(fault)
        self.tick()

    @property
    def is_done(self):
        """Whether every fault has happened, and every process and broker is back."""
        return (
            not self.waiting
            and self.node is None
            and self.leave_at is None
            and self.leaving_since is None
            and all(each.is_at_work for each in self.processes)
        )

    def tick(self):
        """Moves everything on; has to be called all the time."""
        now = time.monotonic()
        for each in self.processes:
            self._advance(each, now)
        self._advance_visitor(now)
        self._advance_node(now)
        if self.waiting and self.faults[self.waiting[0]](now):
            self.waiting.popleft()
        elif len(self.waiting) > 1:
            self.waiting.rotate(-1)

    # -- Faults: each returns whether it could happen now -------------------------------------------

    def _kill(self, now):
        # One in three may be while it starts.
        is_early = self.counts["kills at random moments"] % 3 == 2
        victim = self._choose(lambda each: each.is_free if is_early else each.is_at_work)
        if not victim:
            return False
        self.counts["kills at random moments"] += 1
        if self.counts["kills at random moments"] == 1:
            # Long enough for the broker to end its transaction: until then readers wait (I10).
            delay = TRANSACTION_TIMEOUT + 12
        elif self.chance.random() < 0.67:
            # Back within its session.
            delay = self.chance.uniform(0, 2)
        else:
            delay = self.chance.uniform(SESSION_TIMEOUT + 1, SESSION_TIMEOUT + 4)
        victim.daemon.kill()
        self._note_killed(victim, now + delay)
        self.say(f"kill -9 {victim.name}, back in {delay:.1f} s")
        return True

    def _point(self, _):
        victim = self._choose(
            lambda each: each.has_hooks and (each.is_at_work or each.state == Process.AWAY and each.armed is None)
        )
        if not victim:
            return False
        self._arm(victim, "kill", next(self.kill_points))
        return True

    def _freeze(self, now):
        victim = self._choose(lambda each: each.is_at_work)
        if not victim:
            return False
        point = next(self.stop_points)
        if victim.has_hooks and point != "anywhere":
            self._arm(victim, "stop", point)
        else:
            victim.daemon.signal(signal.SIGSTOP)
            self._note_stopped(victim, now, "anywhere")
        return True

    def _join(self, now):
        if self.leave_at is not None or self.leaving_since is not None:
            return False
        self.visitor.start()
        self.leave_at = now + self.chance.uniform(6, 12)
        self.counts["joins and leaves"] += 1
        self.say(f"{self.visitor.name} joins")
        return True

    def _broker(self, now):
        if self.node is not None or (self.brokers.nodes > 1 and not self.world.cluster.in_sync()):
            return False
        # Each in turn.
        self.node = self.counts["brokers killed hard"] % self.brokers.nodes + 1
        self.node_due = now + self.chance.uniform(1, 5)
        self.brokers.kill("--node", self.node)
        self.monitor.note_outage()
        self.counts["brokers killed hard"] += 1
        self.say(f"kill -9 broker {self.node}, back in {self.node_due - now:.1f} s")
        return True

    # -- Processes ----------------------------------------------------------------------------------

    def _choose(self, condition):
        found = [each for each in self.processes if condition(each)]
        return self.chance.choice(found) if found else None

    def start(self, process):
        process.starts += 1
        if process.starts == 2 and process.later:
            process.daemon.configure(process.later)
            self.counts["processes that have turned requests on"] += 1
        rules = []
        if process.has_hooks and self.options.faults["abort"]:
            # One transaction in so many, at three places.
            chance = f"1/{3 * self.options.faults['abort']}"
            rules += [f"abort@{point}:{chance}" for point in ("after-produce", "before-commit", "after-send-offsets")]
        if process.armed:
            action, point = process.armed
            rules.insert(0, f"{action}@{point}:{(KILL_POINTS if action == 'kill' else STOP_POINTS)[point]}")
            if point == "in-catch-up":
                shutil.rmtree(self.world.folder / process.name, ignore_errors=True)
        seed = self.options.seed * 1_000 + process.starts
        process.daemon.variables = {"CARILLON_FAULT": ",".join(rules), "CARILLON_FAULT_SEED": str(seed)} if rules else {}
        process.daemon.start()
        process.state, process.armed_at = Process.RUNNING, time.monotonic()

    def _arm(self, process, action, point):
        """Starts it again with a fault ahead of it. It is stopped by SIGTERM, so that clean ends are among the faults, too."""
        process.armed, process.attempts = (action, point), 0
        if process.state == Process.RUNNING:
            process.daemon.signal(signal.SIGTERM)
            process.state, process.due = Process.DRAINING, time.monotonic() + TRANSACTION_TIMEOUT + 20
        self.say(f"{process.name} starts again, to {action} {point}")

    def _note_killed(self, process, due):
        """It was killed. Its table must be the fold up to the position that it names (I6)."""
        process.state, process.due = Process.AWAY, due
        source = self.world.folder / process.name
        if source.exists():
            name = f"{process.name} after kill {sum(count for what, count in self.counts.items() if 'kills' in what)}"
            self.copies[name] = self.world.folder / "copies" / name.replace(" ", "-")
            shutil.copytree(source, self.copies[name])

    def _note_stopped(self, process, now, point):
        process.state, process.due, process.attempts = Process.STOPPED, now + SESSION_TIMEOUT + 5, 0
        self.counts["stopped for longer than a session"] += 1
        self.points[f"stop {point}"] += 1
        self.say(f"{process.name} is stopped ({point})")

    def _continue(self, process, now):
        """Lets it continue once the group has removed it: only then it was away for longer than its session."""
        process.due, process.attempts = now + 1, process.attempts + 1
        if process.attempts > 60:
            raise Failure(f"{process.name} is stopped, and the group has kept it for a minute")
        if self.node is None and process.name not in self._members():
            process.daemon.signal(signal.SIGCONT)
            process.state = Process.RUNNING
            self.counts["removed by the group while stopped"] += 1
            self.say(f"{process.name} continues")

    def _members(self):
        """The instances that the group has members of: `<group>.<instance>-<worker>` is what a static one is called."""
        ids = [each.group_instance_id or "" for each in self.world.cluster.members(self.world.name)]
        return {each.removeprefix(f"{self.world.name}.").rpartition("-")[0] for each in ids}

    def _advance(self, process, now):
        match process.state:
            case Process.AWAY:
                if now >= process.due:
                    self.start(process)
                    self.say(f"{process.name} is back")
            case Process.STOPPED:
                if now >= process.due:
                    self._continue(process, now)
            case Process.DRAINING:
                if not process.daemon.is_running:
                    self._expect_end(process.daemon)
                    process.state, process.due = Process.AWAY, now
                elif now > process.due:
                    raise Failure(f"{process.name} did not drain in time:\n{process.daemon.last_lines()}")
            case Process.RUNNING:
                self._advance_running(process, now)

    def _advance_running(self, process, now):
        daemon = process.daemon
        if process.armed is None:
            if not daemon.is_running:
                self._expect_fenced(process, now)
            return
        action, point = process.armed
        if not daemon.is_running:
            if daemon.process.returncode != -signal.SIGKILL or not daemon.has_line(f"fault: kill@{point}"):
                return self._expect_fenced(process, now)
            self.counts["kills at fixed points"] += 1
            self.points[f"kill {point}"] += 1
            process.armed = None
            self._note_killed(process, now + self.chance.uniform(0, 2))
            self.say(f"{process.name} was killed {point}")
        elif action == "stop" and daemon.is_stopped:
            process.armed = None
            self._note_stopped(process, now, point)
        elif point == "in-revoke" and daemon.has_line("assigned") and now - process.armed_at > 3:
            # A rebalance, so that there is a revoke.
            if self.leave_at is None and self.leaving_since is None:
                self._join(now)
        if process.armed and now - process.armed_at > ARMED_SECONDS:
            process.attempts += 1
            if process.attempts == 3:
                raise Failure(f"{process.name} never came to {point}; its last lines:\n{daemon.last_lines()}")
            daemon.kill()
            self.start(process)

    def _expect_fenced(self, process, now):
        """The only way in which a process may end by itself: its own transactions timed out three times in 10 minutes, because
        it was stopped or brokers were away. Whatever starts services starts it again."""
        daemon = process.daemon
        may_be = self.options.faults["freeze"] or self.options.faults["broker"]
        if daemon.process.returncode != EXIT_DEFECT or not daemon.has_line("fenced three times") or not may_be:
            daemon.expect_running()
        self.counts["ended after three fencings"] += 1
        self._note_killed(process, now)

    def _expect_end(self, daemon):
        """Drained; or not in time, where a broker was away meanwhile."""
        code = daemon.wait(0)
        if code == EXIT_NOT_IN_TIME and self.options.faults["broker"]:
            self.counts["not drained in time"] += 1
        elif code != EXIT_DRAINED:
            raise Failure(f"{daemon.name} ended with {code}, expected {EXIT_DRAINED}; its last lines:\n{daemon.last_lines()}")

    # -- The visitor and the brokers ------------------------------------------------------------------

    def _advance_visitor(self, now):
        if self.leave_at is not None:
            self.visitor.expect_running()
            if now >= self.leave_at and self.visitor.has_line("assigned"):
                self.visitor.signal(signal.SIGTERM)
                self.leave_at, self.leaving_since = None, now
        elif self.leaving_since is not None:
            if not self.visitor.is_running:
                self._expect_end(self.visitor)
                self.say(f"{self.visitor.name} left")
                self.leaving_since = None
            elif now - self.leaving_since > TRANSACTION_TIMEOUT + 20:
                raise Failure(f"{self.visitor.name} did not leave:\n{self.visitor.last_lines()}")

    def _advance_node(self, now):
        if self.node is None:
            return
        if self.node_thread is None:
            if now >= self.node_due:
                # The load continues meanwhile.
                self.node_thread = threading.Thread(target=self._start_node, daemon=True)
                self.node_thread.start()
        elif not self.node_thread.is_alive():
            if self.node_problem:
                raise Failure(self.node_problem)
            self.monitor.note_outage()
            self.say(f"broker {self.node} is back")
            self.node = self.node_thread = None

    def _start_node(self):
        """A broker that ends at its start, as Kafka does on a machine that is too busy, is started again."""
        for _ in range(3):
            try:
                self.brokers.start("--node", self.node)
                self.node_problem = None
                return
            except Failure as failure:
                self.node_problem = str(failure)
