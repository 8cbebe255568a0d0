"""What devices and people cost: the registrar, the HTTP API before it, and a fleet that moves to new addresses.

    Scripts/bench --devices [DEVICES] [--seconds N] [--json]    1,000,000 devices by default, each with three audiences
    Scripts/bench --devices --quick                             the same, small: it shows that all works, and no speed

One broker, one registrar and one process of the API, on this machine with the clients. The registrar's rates are those at which the
group's offset moves, of commands that wait already. A PUT is decided when its verdict is there: many connections ask in turns, and
wait about 100 ms after each answer. Cores are the CPU seconds of the process that is named.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from broadcasts import broadcast
from figures import Target
from harness.brokers import free_port
from harness.cluster import Cluster
from harness.daemon import Daemon, flags
from harness.prometheus import fetch
from harness.waiting import Failure, wait_for
from programs import cpu_seconds
from results import tell

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ("events", "requests", "broadcasts", "subscriptions", "dispatch", "dead-letters", "journal", "commands", "devices")
KINDS += ("people", "erasures", "verdicts", "control")
SCOPES = ("devices:read", "devices:write", "people:read", "people:write", "people:erase")
# Connections, and milliseconds between an answer and the next request of each: about 1,000 a second.
MANY, PAUSE = 100, 95
ERASED_DEVICES, ERASED_AUDIENCES = 100, 20
# Of the kinds of signature, so many tokens each.
TOKENS = 5_000


def say(text):
    print(text, file=sys.stderr, flush=True)


def change(number, generation=0):
    """A command about a whole device with three audiences, as devices.lua puts it; another generation has another address."""
    name = f"{number:08}"
    token = f"token-{name}" + "x" * 130 if generation == 0 else f"fid-{generation}-{name}"
    kind = "registration_token" if generation == 0 else "installation_id"
    value = {"version": 1, "by": "key:bench", "action": "change_device", "device": f"installation-{name}", "whole": True}
    value |= {"address": {"kind": kind, "value": token}, "app": "com.example.shop", "locale": "de"}
    return value | {"audiences": ["channel/General", f"place/{number % 1000}", "place/filled"]}


class Issuer:
    """A shop that signs tokens, with an algorithm."""

    def __init__(self, folder, algorithm):
        self.algorithm, self.name = algorithm, f"shop-{algorithm}"
        self.entry = {"iss": self.name, "kid": "1", "alg": algorithm, "audiences": ["place/*"]}
        if algorithm == "HS256":
            self.key = os.urandom(32).hex().encode()
            (folder / "secret").write_bytes(self.key)
            self.entry["secret_file"] = "secret"
            return
        makers = {"ES256": lambda: ec.generate_private_key(ec.SECP256R1()), "EdDSA": ed25519.Ed25519PrivateKey.generate}
        makers["RS256"] = lambda: rsa.generate_private_key(65537, 2048)
        self.key = makers[algorithm]()
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        self.entry["key"] = self.key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()

    def token(self, person):
        now = int(time.time())
        claims = {"iss": self.name, "aud": "carillon", "sub": person, "iat": now, "exp": now + 3_600}
        return jwt.encode(claims, self.key, self.algorithm, {"kid": "1"})


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.cluster, self.name = Cluster(os.environ["KAFKA_BOOTSTRAP_SERVERS"]), f"devices-{os.getpid()}"
        self.topics = {kind: f"{self.name}.{kind}" for kind in KINDS}
        self.port, self.daemons = free_port(), {}
        self.call("topics", "create", "--partitions", "6", *flags(self.settings("operator")))
        made = self.call("api", "key", "create", *(part for scope in SCOPES for part in ("--scope", scope)), "--json")
        self.key = json.loads(made)["key"]
        self.issuers = [Issuer(folder, algorithm) for algorithm in ("HS256", "EdDSA", "ES256", "RS256")]
        (folder / "issuers.json").write_text(json.dumps([each.entry for each in self.issuers]))

    def call(self, *arguments):
        if arguments[:2] == ("api", "key"):
            arguments += ("--file", str(self.folder / "keys.json"))
        done = subprocess.run([self.options.carillon, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"carillon {arguments[0]}: {done.stderr}{done.stdout}")
        return done.stdout

    def settings(self, instance):
        return {
            "kafka.bootstrap.servers": self.cluster.bootstrap,
            "group.id": self.name,
            "instance.id": instance,
            "state.dir": self.folder / instance,
            "log.format": "text",
        } | {f"topic.{kind}": name for kind, name in self.topics.items()}

    def start(self, role, **more):
        """A process with a role of its own, once it is ready."""
        health = free_port()
        settings = self.settings(role) | {"http": f"127.0.0.1:{health}"} | more
        daemon = Daemon(role, self.folder, settings, "earliest", self.options.carillon)
        daemon.arguments += ["--roles", role]
        self.daemons[role] = daemon.start()

        def is_ready():
            daemon.expect_running()
            with contextlib.suppress(OSError):
                return fetch(f"http://127.0.0.1:{health}/ready")[2] == "ready\n"

        wait_for(f"{role} is ready", is_ready, self.options.deadline)
        return daemon

    def start_api(self):
        address, keys, issuers = f"127.0.0.1:{self.port}", f"@{self.folder}/keys.json", f"@{self.folder}/issuers.json"
        settings = {"api.http": address, "api.keys": keys, "api.issuers": issuers, "api.rate": 1_000_000, "api.wait": "10s"}
        return self.start("api", **settings)

    def stop(self, role):
        self.daemons.pop(role).stop(60)

    # Commands by Kafka.

    def send(self, commands):
        producer, count = self.cluster.producer(**{"linger.ms": 20}), 0
        for each in commands:
            value = json.dumps(each, separators=(",", ":")).encode()
            while True:
                try:
                    producer.produce(self.topics["commands"], value, partition=0)
                    break
                except BufferError:
                    producer.poll(0.1)
            count += 1
        if producer.flush(60):
            raise Failure("commands were not delivered")
        return count

    def decided(self):
        return self.cluster.committed(f"{self.name}-registrar", self.topics["commands"]).get(0, 0)

    def decide(self, commands):
        """Commands a second, and the registrar's µs of CPU for each: those that wait when it starts."""
        before = self.decided()
        count = self.send(commands)
        daemon = self.start("registrar")
        wait_for("it decides", lambda: self.decided() > before + count // 20, self.options.deadline)
        began, first, cpu = time.monotonic(), self.decided(), cpu_seconds(daemon.process.pid)
        wait_for("all are decided", lambda: self.decided() == before + count, self.options.deadline)
        done = max(before + count - first, 1)
        found = {"rate": done / (time.monotonic() - began), "cpu": (cpu_seconds(daemon.process.pid) - cpu) / done * 1e6}
        return found | {"commands": count}

    def again(self):
        """The same commands once more: what most apps say at a start."""
        self.stop("registrar")
        return self.decide(change(number) for number in range(self.options.devices))

    def refill(self):
        """Seconds and MB of a registrar's table that is gone."""
        self.stop("registrar")
        shutil.rmtree(self.folder / "registrar" / "registrar")
        began = time.monotonic()
        daemon, before = self.start("registrar"), self.decided()
        self.send([change(0)])
        wait_for("it decides", lambda: self.decided() > before, self.options.deadline)
        seconds = time.monotonic() - began
        return {"seconds": seconds, "devices/s": self.options.devices / seconds, "peak_mb": daemon.peak}

    # HTTP.

    def put(self, first, count, delay, connections):
        """One run of wrk."""
        pid, seconds = self.daemons["api"].process.pid, self.options.seconds
        cpu = cpu_seconds(pid)
        arguments = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", HERE / "api" / "devices.lua"]
        url = f"http://127.0.0.1:{self.port}"
        words = map(str, [self.key, first, count, delay])
        done = subprocess.run(["wrk", *arguments, url, "--", *words], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"wrk: {done.stderr}{done.stdout}")
        found = json.loads(done.stdout.splitlines()[-1])
        if found["errors"] or not found["requests"]:
            raise Failure(f"wrk: {done.stdout}")
        cost = (cpu_seconds(pid) - cpu) / found["requests"] * 1e6
        return {"rate": found["requests"] / found["seconds"], "cpu": cost, "p50": found["p50"], "p99": found["p99"]}

    def unchanged(self, count):
        """PUTs of what is so already. Nothing is recorded for them."""
        wait_for("what was asked before is decided", lambda: self.decided() == self.cluster.ends(self.topics["commands"])[0])
        before = self.cluster.ends(self.topics["commands"])
        found = self.put(0, count, 0, 64)
        if made := self.cluster.ends(self.topics["commands"])[0] - before[0]:
            raise Failure(f"{made} of {found['rate'] * self.options.seconds:,.0f} unchanged PUTs have made a command")
        return found

    def ask(self, connection, method, path, credential, body=None):
        headers = {"Authorization": f"Bearer {credential}", "Content-Type": "application/json"}
        connection.request(method, path, body and json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()

    def connect(self):
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120))

    def tokens(self):
        """µs of CPU for a GET that finds nothing, by what it shows: a token for the first time, and again."""
        pid, found = self.daemons["api"].process.pid, {}
        with self.connect() as connection:
            for issuer in [None, *self.issuers]:
                people = [f"person-{number}" for number in range(self.options.tokens)]
                shown = [issuer.token(each) if issuer else self.key for each in people]
                costs = []
                for _ in ("first", "again"):
                    cpu = cpu_seconds(pid)
                    for person, credential in zip(people, shown):
                        status, answer = self.ask(connection, "GET", f"/v1/people/{person}", credential)
                        if status != 404:
                            raise Failure(f"{issuer and issuer.name}: {status} {answer}")
                    costs.append((cpu_seconds(pid) - cpu) / len(shown) * 1e6)
                found[issuer.algorithm if issuer else "key"] = costs
        return found

    def erase(self):
        """Milliseconds until a person with many devices is erased: as the client sees it."""
        devices = range(90_000_000, 90_000_000 + ERASED_DEVICES)
        audiences = [f"place/{number}" for number in range(ERASED_AUDIENCES)]
        self.send(change(number) | {"person": "erased", "audiences": audiences} for number in devices)
        end = self.cluster.ends(self.topics["commands"])[0]
        wait_for("they are registered", lambda: self.decided() == end, self.options.deadline)
        with self.connect() as connection:
            began = time.monotonic()
            status, answer = self.ask(connection, "DELETE", "/v1/people/erased", self.key)
            if status != 200 or json.loads(answer)["devices"] != ERASED_DEVICES:
                raise Failure(f"erase: {status} {answer}")
            return (time.monotonic() - began) * 1_000

    # A fleet that moves.

    def pushes(self):
        tally = [self.options.limit, "tally", self.cluster.bootstrap, f"{self.topics['dispatch']}.broadcasts"]
        return json.loads(subprocess.run(tally, check=True, capture_output=True, text=True).stdout)["records"]

    def reach(self, identity, total):
        """A broadcast to everybody, until so many pushes are written; there are markers of transactions between them."""
        topic = f"{self.topics['dispatch']}.broadcasts"
        self.cluster.produce(self.topics["broadcasts"], [broadcast(identity)])
        wait_for(f"{identity} is sent", lambda: sum(self.cluster.ends(topic).values()) >= total, self.options.deadline)
        wait_for(f"{identity} has reached each", lambda: self.pushes() >= total, self.options.deadline)

    def rotate(self):
        """Every device gets another address after a broadcast has reached each: how many pushes of it there are then."""
        count = self.options.devices
        self.start("broadcasts")
        self.reach("1300", count)
        # There are those that were put over HTTP, too.
        everybody = self.pushes()
        self.stop("registrar")
        found = self.decide(change(number, generation=1) for number in range(count))
        # When another broadcast has reached the new addresses, the first one has passed by them.
        self.reach("1301", 2 * everybody)
        self.stop("broadcasts")
        return found | {"old broadcasts": self.pushes() - 2 * everybody}

    def close(self):
        for each in self.daemons.values():
            each.kill_if_running()
        for future in self.cluster.admin.delete_topics(list(self.topics.values())).values():
            with contextlib.suppress(Exception):
                future.result(30)


def measure(options):
    found, seconds = {"devices": options.devices}, options.seconds
    with tempfile.TemporaryDirectory(prefix="carillon-bench-devices.") as folder:
        bench = Bench(options, pathlib.Path(folder))

        def note(name, value):
            found[name] = value
            say(f"  {name}: {value}")

        try:
            note("registered", bench.decide(change(number) for number in range(options.devices)))
            note("unchanged commands", bench.again())
            note("table filled again", bench.refill())
            bench.start_api()
            note("decided PUT", bench.put(10_000_000, 0, PAUSE, MANY))
            note("unchanged PUT", bench.unchanged(min(options.devices, 100_000)))
            note("µs of CPU by token, first and again", bench.tokens())
            note(f"erase of {ERASED_DEVICES} devices with {ERASED_AUDIENCES} audiences, ms", bench.erase())
            bench.stop("api")
            note("rotated", bench.rotate())
        finally:
            bench.close()
    return found | {"seconds": seconds}


def show(found):
    for name, value in found.items():
        if isinstance(value, dict):
            value = ", ".join(f"{each} {figure(number)}" for each, number in value.items())
        print(f"{name}: {value if isinstance(value, str) else figure(value)}")


def figure(value):
    if isinstance(value, list):
        return "/".join(map(figure, value))
    return f"{value:,.0f}" if value >= 50 else f"{value:.2f}"


def targets(found):
    yield Target("registrar, changing commands/s with three audiences", found["registered"]["rate"], 10_000, True)
    yield Target("p50 of a decided PUT, ms", found["decided PUT"]["p50"], 40, False)
    yield Target("p99 of a decided PUT, ms", found["decided PUT"]["p99"], 100, False)
    yield Target("unchanged PUTs/s and core", 1e6 / found["unchanged PUT"]["cpu"], 40_000, True)
    yield Target("old broadcasts after the rotations", found["rotated"]["old broadcasts"], 0, False)


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench --devices", description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=15, help="of each run of wrk; default 15")
    parser.add_argument("--quick", action="store_true", help="everything, small")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args()
    options.carillon, options.limit = os.environ["CARILLON"], os.environ["LIMIT"]
    options.deadline, options.tokens = 3_600, TOKENS
    if options.quick:
        options.devices, options.seconds, options.tokens = 2_000, 2, 100
    return tell(options.json, lambda: measure(options), show, targets)


if __name__ == "__main__":
    sys.exit(main())
