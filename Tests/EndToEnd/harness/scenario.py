"""Scenarios: tests that each have a sentence, run by name, one after another or in the background, each with worlds of its own."""

import argparse
import pathlib
import random
import socket
import subprocess
import threading
import time

from harness.cluster import Cluster, Failure
from harness.daemon import Daemon, run, wait_for_daemons
from harness.world import World

SCENARIOS = []
seed, worlds = 0, []


def scenario(sentence, background=False):
    """A test. One in the background mostly waits, and runs beside the others."""

    def add(function):
        SCENARIOS.append((sentence, function, background))
        return function

    return add


def make_world(name, cluster=None, **more):
    worlds.append(World(cluster or Cluster(), name, seed, **({"partitions": 2, "places": 50, "crowd": 5} | more)))
    return worlds[-1]


def check(report):
    if report.differences:
        report.print()
        raise Failure("the verifier found differences")


def started(world, name="a", **settings):
    """A daemon that has committed a position for every partition."""
    start_at = settings.pop("start_at", "earliest")
    daemon = world.daemon(name, world.settings(name, **settings), start_at).start()
    wait_for_daemons("every partition has a committed offset", lambda: len(world.committed) == world.partitions, [daemon])
    return daemon


def command(*arguments, settings, expected=0):
    """One command to its end; what it said."""
    code, output, errors = run(*arguments, settings=settings)
    if code != expected:
        raise Failure(f"carillon {' '.join(arguments)} ended with {code}, expected {expected}: {output}{errors}")
    return output + errors


def free_port():
    """Below the range that outgoing connections take theirs from: else a client that waits there may meet itself."""
    for port in random.SystemRandom().sample(range(15_000, 32_000), 1_000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failure("no port is free")


def broker(*arguments):
    """`Scripts/kafka`, a broker of the test's own; what it printed."""
    script = pathlib.Path(__file__).resolve().parents[3] / "Scripts" / "kafka"
    done = subprocess.run([script, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failure(f"Scripts/kafka {arguments[0]}: {done.stderr[-500:]}")
    return done.stdout.strip()


def perform(sentence, function):
    began = time.monotonic()
    try:
        function()
        outcome = "ok"
    except Failure as failure:
        outcome = f"FAILED: {failure}"
    except Exception as error:  # A test that breaks is a test that fails; the others still run.
        outcome = f"FAILED: {type(error).__name__}: {error}"
    print(f"{time.monotonic() - began:6.1f} s  {sentence}: {outcome}", flush=True)
    return outcome == "ok"


def main(name, description, around=None, sizes=None):
    """The command line of a module of scenarios. `around` is a context manager that they all run in, `sizes` are numbers of
    the module's own, each with an option that changes it.

    The exit code: 0 where at least one ran and none failed.
    """
    global seed
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="default: a random one")
    parser.add_argument("--only", help="scenarios whose function has this in its name")
    for size, number in vars(sizes or argparse.Namespace()).items():
        parser.add_argument(f"--{size}", type=int, default=number, help=f"default: {number:,}")
    options = parser.parse_args()
    for size in vars(sizes or argparse.Namespace()):
        setattr(sizes, size, getattr(options, size))
    seed = options.seed
    print(f"seed {seed}: {name} --seed {seed}", flush=True)
    chosen = [each for each in SCENARIOS if not options.only or options.only in each[1].__name__]
    results = []
    try:
        if around:
            with around():
                _run(chosen, results)
        else:
            _run(chosen, results)
    finally:
        Daemon.kill_all()
    failed = results.count(False)
    for world in worlds:
        if failed:
            print(f"logs of the processes: {world.folder}")
        else:
            world.remove()
    print(f"{len(results) - failed} passed, {failed} failed", flush=True)
    return 1 if failed or not results else 0


def _run(chosen, results):
    threads = [threading.Thread(target=lambda each=each: results.append(perform(each[0], each[1]))) for each in chosen if each[2]]
    for thread in threads:
        thread.start()
    for sentence, function, background in chosen:
        if not background:
            results.append(perform(sentence, function))
    for thread in threads:
        thread.join()
