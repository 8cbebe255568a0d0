"""What a run of tests is made with: the builds of `carillon`, the brokers, the seed, and what the tests have started."""

import os
import subprocess
import time

from harness.brokers import Brokers
from harness.cluster import Cluster
from harness.daemon import EXIT_DONE, flags
from harness.waiting import PATIENCE, Failure, Skipped
from harness.world import Size, World


class Harness:
    """One run of tests; it owns its worlds and their processes, until `close`.

    `variables` are those of the environment. `sizes` are the numbers of a module of scenarios that an option may change.
    """

    def __init__(self, seed, variables, sizes=None):
        self.seed, self.sizes = seed, sizes
        self.carillon = variables.get("CARILLON", "carillon")
        # A build with the hooks of CARILLON_FAULT, where there is one.
        self.debug_carillon = variables.get("CARILLON_DEBUG") or None
        # Both providers as a program.
        self.stand_in = variables.get("PROVIDER_STAND_IN") or None
        self.bootstrap = variables.get("KAFKA_BOOTSTRAP_SERVERS") or None
        self.kafka_home = variables.get("KAFKA_HOME") or None
        self.worlds = []

    def unique(self, name):
        """A name for topics and groups: other runs with this seed, before it or beside it, have others on the same broker."""
        return f"{name}-{self.seed}-{int(time.time())}-{os.getpid()}"

    def cluster(self):
        """The brokers that are there already."""
        if not self.bootstrap:
            raise Failure("KAFKA_BOOTSTRAP_SERVERS is not set")
        return Cluster(self.bootstrap)

    def brokers(self, *options, nodes=1):
        """Brokers of the test's own, not started yet."""
        if not self.kafka_home:
            raise Skipped("it needs brokers of its own, from KAFKA_HOME")
        return Brokers(self.kafka_home, *options, nodes=nodes)

    def require_debug_build(self):
        if not self.debug_carillon:
            raise Skipped("it needs a debug build, which CARILLON_DEBUG names")
        return self.debug_carillon

    def make_world(self, name, cluster=None, schedule=True, **size):
        self.worlds.append(World(self, name, cluster or self.cluster(), Size(**size), schedule))
        return self.worlds[-1]

    def run(self, *arguments, input=None, timeout=60, settings=None):
        """One command of `carillon` to its end: (exit code, output, errors)."""
        done = subprocess.run(
            [self.carillon, *arguments, *flags(settings or {})], input=input, capture_output=True, timeout=timeout * PATIENCE
        )
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def command(self, *arguments, settings, expected=EXIT_DONE):
        """One command to its end, with the exit code that is expected: what it said."""
        code, output, errors = self.run(*arguments, settings=settings)
        if code != expected:
            raise Failure(f"carillon {' '.join(arguments)} ended with {code}, expected {expected}: {output}{errors}")
        return output + errors

    def close(self, passed=True):
        """Ends every process. The folders of the worlds stay where a test failed, for the logs in them."""
        for world in self.worlds:
            world.kill_daemons()
            if passed:
                world.remove()
            else:
                print(f"logs of the processes: {world.folder}", flush=True)
