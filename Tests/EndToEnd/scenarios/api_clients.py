"""The HTTP API as software that others have written meets it: clients, checkers, a proxy with TLS, slow attackers."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import ssl
import subprocess
import sys
import tempfile

from harness.brokers import free_port
from harness.cluster import Cluster
from harness.http_api import TOPIC, APIProcess, Attempt, create_key, wait_until_ready
from harness.nginx import Nginx
from harness.project import ROOT
from harness.scenario import main, scenario
from harness.waiting import Failure, expect, now_ms, wait_for
from model.registrar import sha256
from model.registrar_decisions import iso
from scenarios.registrar import SECRET, Registrar, user_token

SIZES = {"examples": 20, "connections": 1_200}
DESCRIPTION = ROOT / "Schemas/openapi.json"
CLIENTS = ROOT / "Tests/EndToEnd/clients"
# Where Tests/EndToEnd/run has installed the list in that folder.
PROGRAMS = pathlib.Path(os.environ.get("API_CLIENTS", ""), "bin")
# Addresses of loopback: that of the proxy, and that of its client.
PROXY, CLIENT = "127.0.0.1", "127.0.0.7"


def call(*command, folder=None, **variables):
    """What a program says, which must end well."""
    done = subprocess.run(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | variables, cwd=folder
    )
    if done.returncode:
        # Some lines have a whole body of a request.
        lines = "\n".join(line[:500] for line in done.stdout.splitlines()[-60:])
        raise Failure(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{lines}")
    return done.stdout


class World:
    """Two processes of the API, and a key."""

    def __init__(self, harness, brokers, folder):
        self.harness, self.folder = harness, folder
        self.cluster = Cluster(brokers.start())
        # Some operations read what a pipeline has.
        others = [f"notifications.{name}" for name in ("subscriptions", "dispatch", "dead-letters", "journal", "deliveries")]
        self.cluster.create_topics({topic: (3, {}) for topic in (TOPIC, "orders.events", *others)})
        registered = ("commands", "devices", "people", "erasures", "verdicts", "control", "receipts")
        self.cluster.create_topics({f"notifications.{name}": (1, {}) for name in registered})
        scopes = ("devices:write", "devices:read", "people:write", "people:read", "people:erase", "operate")
        self.key = create_key(harness, folder, "send", "trace:read", *scopes)
        # More than it takes of connections: the limit is to be its own.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # The second is attacked: connections of others could make room there.
        devices = {f"topic.{name}": f"notifications.{name}" for name in ("commands", "control", "receipts")}
        (folder / "secret").write_bytes(SECRET)
        issuer = {"iss": "shop", "kid": "1", "alg": "HS256", "secret_file": "secret", "audiences": ["place/*"]}
        (folder / "issuers.json").write_text(json.dumps([issuer]))
        more = {"api_trusted_proxies": PROXY, "api_issuers": f"@{folder}/issuers.json"}
        self.api = APIProcess(harness, self.cluster, folder, "api", **more, **devices).start()
        self.attacked = APIProcess(harness, self.cluster, folder, "attacked", api_trusted_proxies=PROXY).start()
        settings = {"kafka.bootstrap.servers": self.cluster.bootstrap, "state.dir": f"{folder}/registrar"} | devices
        self.registrar = Registrar("registrar", folder, settings, None, harness.carillon).start()
        self.processes = [self.api, self.attacked, self.registrar]
        self.url = f"http://127.0.0.1:{self.api.port}"
        # The description of what this process offers.
        self.served = folder / "openapi.json"


@contextlib.contextmanager
def around(harness):
    with harness.brokers() as brokers, tempfile.TemporaryDirectory(prefix="carillon-api-clients.") as folder:
        world = World(harness, brokers, pathlib.Path(folder))
        try:
            wait_until_ready(world.api, world.attacked)
            world.served.write_bytes(served(world.api.port))
            yield world
            for each in world.processes:
                each.stop(30)
        finally:
            for each in world.processes:
                each.kill_if_running()


def served(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/openapi.json")
        return connection.getresponse().read()


@scenario("the description is OpenAPI, and the one that is served")
def description(world):
    call(PROGRAMS / "openapi-spec-validator", DESCRIPTION)
    served, kept = json.loads(world.served.read_text()), json.loads(DESCRIPTION.read_text())
    served["info"].pop("version"), kept["info"].pop("version")
    # A process has the operations whose settings are there.
    paths = {path: {name: kept["paths"][path][name] for name in methods} for path, methods in served["paths"].items()}
    expect("what is served", served, kept | {"paths": paths})


@scenario("a generated client sends, repeats, hears what is wrong, and asks; its limits are structured fields")
def generated(world):
    settings = world.folder / "generator.yml"
    # Formatting would need a program more; lines of JSON are bytes to it.
    overrides = "content_type_overrides:\n  application/x-ndjson: application/octet-stream\n"
    settings.write_text(f"post_hooks: []\n{overrides}")
    options = ["--path", DESCRIPTION, "--output-path", world.folder / "generated", "--meta", "none", "--config", settings]
    call(PROGRAMS / "openapi-python-client", "generate", "--fail-on-warning", *options)
    call(PROGRAMS / "python", CLIENTS / "speak.py", world.url, world.key, PYTHONPATH=str(world.folder))


@scenario("whatever is generated from the description is answered as it says, receipts of a phone, too", background=True)
def schemathesis(world):
    amount = ["--max-examples", world.harness.sizes.examples]
    run_schemathesis(world, CLIENTS / "schemathesis.toml", *amount, "--header", f"Authorization: Bearer {world.key}")
    credential = f"Authorization: {register(world, 'eve')}"
    run_schemathesis(world, CLIENTS / "schemathesis.toml", *amount, "--header", credential, "--include-path", RECEIPTS)


def run_schemathesis(world, settings, *more):
    common = ["--url", world.url, "--no-color", "--warnings", "off", "--seed", world.harness.seed, "--generation-database", "none"]
    patience = ["--request-timeout", 60, "--suppress-health-check", "all"]
    command = [PROGRAMS / "schemathesis", "--config-file", settings, "run", world.served, *common, *patience, *more]
    said = call(*command, folder=world.folder)
    cases = re.search(r"([0-9,]+) generated", said)
    print(f"   {cases[0] if cases else said}", flush=True)


RECEIPTS = "/v1/receipts"
MESSAGE = "msg-1751875337000-tap195iux"
# By operation, what a user asks for who has the right to; the others have no body.
BODIES = {
    "putDevice": {"app": "com.example.shop", "locale": "de", "audiences": ["place/42"]},
    "patchDevice": {"locale": "fr"},
    "patchPerson": {"locale": "fr"},
    "putPersonAudiences": ["place/42"],
    "recordReceipts": {"receipts": [{"message_id": MESSAGE, "kind": "opened", "at": iso(now_ms())}]},
}


def phone_of(person):
    return f"installation-of-{person}"


def register(world, person):
    """Who is logged in on a phone with an address: the credential of the phone."""
    body = BODIES["putDevice"] | {"address": {"kind": "installation_id", "value": f"fid-of-{person}"}}
    status, answer = world.api.ask(user_token(person), "PUT", f"/v1/devices/{phone_of(person)}", body)
    expect(f"the phone of {person}: {answer}", status, 201)
    return f"Device {phone_of(person)}:{answer['secret']}"


@scenario("what a user may ask for about the own devices and person no other user may, nor the other's phone")
def others(world):
    tokens = {person: f"Bearer {user_token(person)}" for person in ("ada", "ben")}

    def ask(authorization, method, path, operation):
        headers = {"Authorization": authorization}
        return world.api.ask(None, method, path, BODIES.get(operation), headers)

    def known():
        return [world.api.ask(world.key, "GET", f"/v1/{each}")[1] for each in (f"devices/{phone_of('ada')}", "people/ada")]

    credentials = {person: register(world, person) for person in tokens}
    expect("a person", ask(tokens["ada"], "PATCH", "/v1/people/ada", "patchPerson")[0], 200)
    names = {"device": phone_of("ada"), "person": "ada", "audience": "place%2F42", "position": known()[0]["revision"]}
    operations = [
        (method.upper(), re.sub(r"{(\w+)}", lambda name: str(names[name[1]]), path), each)
        for path, methods in json.loads(world.served.read_text())["paths"].items()
        for method, each in methods.items()
        if re.search(r"/(devices|people|commands)/", path)
    ]
    before = known()
    for kind, authorization in (("user", tokens["ben"]), ("device", credentials["ben"])):
        for method, path, each in operations:
            status, answer = ask(authorization, method, path, each["operationId"])
            wanted = 404 if {kind: []} in each["security"] else 401
            expect(f"{method} {path} by another {kind}", (status, "ada" in json.dumps(answer)), (wanted, False))
    expect("what is known then", known(), before)
    mixed = f"Device {phone_of('ada')}:{credentials['ben'].rpartition(':')[2]}"
    for authorization, wanted in (
        (tokens["ada"], 401),
        (f"Bearer {world.key}", 401),
        (mixed, 401),
        (credentials["ben"], {"recorded": 1, "repeated": 0}),
        (credentials["ben"], {"recorded": 0, "repeated": 1}),
        (credentials["ada"], {"recorded": 1, "repeated": 0}),
    ):
        status, answer = ask(authorization, "POST", RECEIPTS, "recordReceipts")
        expect("a receipt", answer if status == 202 else status, wanted)
    # Whatever message it names, a receipt is of the phone that has sent it.
    said = [each.key.decode() for each in world.cluster.read("notifications.receipts") if MESSAGE.encode() in each.value]
    expect("whose receipts", said, [sha256(f"fid-of-{person}") for person in ("ben", "ada")])
    # What deletes comes last, and of that the device itself.
    for method, path, each in sorted(operations, key=lambda each: (each[0] == "DELETE", -len(each[1]))):
        if {"user": []} in each["security"]:
            status = ask(tokens["ada"], method, path, each["operationId"])[0]
            expect(f"{method} {path} by the own user", status in (200, 204), True)


@scenario(
    "of two users neither is shown what the other has made, and nobody without a credential, whatever is generated", background=True
)
def two_users(world):
    users = [
        {"name": person, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {user_token(person)}"}]}
        for person in ("cleo", "dan")
    ]
    (world.folder / "users.json").write_text(json.dumps({"auth": users}))
    settings = world.folder / "users.toml"
    settings.write_text(f'[auth.wfc]\npath = "{world.folder}/users.json"\npeers = ["cleo", "dan"]\n')
    checks = ["--checks", "ignored_auth,object_level_authorization", "--include-path-regex", "^/v1/(devices/|people/|receipts)"]
    run_schemathesis(world, settings, *checks, "--max-examples", 5, "--phases", "fuzzing")


def server_block(world, port):
    """What docs/api.md shows for nginx, with this test's addresses."""
    (block,) = re.findall(r"```text\n# nginx[^\n]*\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)
    for shown, own, count in (
        ("listen 443 ssl;", f"listen 0.0.0.0:{port} ssl;", 1),
        ("/etc/nginx/api.pem", f"{world.folder}/api.pem", 1),
        ("/etc/nginx/api.key", f"{world.folder}/api.key", 1),
        ("http://127.0.0.1:8080", world.url, 4),
    ):
        expect(f"how often the page has {shown}", block.count(shown), count)
        block = block.replace(shown, own)
    return block


@scenario("behind the proxy that the page shows there is TLS, and the log has the client's address, not what it claims")
def proxy(world):
    certificate = ["-keyout", world.folder / "api.key", "-out", world.folder / "api.pem", "-addext", "subjectAltName=IP:127.0.0.1"]
    call("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", *certificate)
    trusting, port = ssl.create_default_context(cafile=world.folder / "api.pem"), free_port()
    folder = world.folder / "nginx"
    folder.mkdir()
    with Nginx(folder, server_block(world, port), port):
        body = json.dumps({"audience": "user/17", "message": {"title": "by TLS"}})
        said = []
        for source, claims in ((CLIENT, {}), (CLIENT, {"X-Forwarded-For": "203.0.113.9"})):
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=trusting, source_address=(source, 0))
            with contextlib.closing(connection):
                headers = {"Authorization": f"Bearer {world.key}", "Content-Type": "application/json"}
                connection.request("PUT", "/v1/requests/by-tls", body, headers | claims)
                answer = connection.getresponse()
                answer.read()
                said.append((answer.status, answer.headers["X-Request-Id"]))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=trusting)
        with contextlib.closing(connection):
            connection.request("PUT", "/v1/requests/large", b"x" * 70_000, {"Authorization": f"Bearer {world.key}"})
            expect("a body that is too large", connection.getresponse().status, 413)
    expect("the answers", [status for status, _ in said], [202, 200])
    for _, name in said:
        wait_for(f"the log has {name} with its client", lambda name=name: world.api.has_line(name, f'"client":"{CLIENT}"'), 20)
    # Without the proxy in between its header says nothing.
    connection = http.client.HTTPConnection("127.0.0.1", world.api.port, timeout=60, source_address=(CLIENT, 0))
    with contextlib.closing(connection):
        connection.request("GET", "/openapi.json", headers={"X-Forwarded-For": "203.0.113.9"})
        name = connection.getresponse().headers["X-Request-Id"]
    wait_for("the log has the client itself", lambda: world.api.has_line(name, f'"client":"{CLIENT}"'), 20)
    if world.api.has_line("203.0.113.9"):
        raise Failure("the log has what a client claimed")


@scenario("while slow clients hold more connections than there are, the process is live, and requests are answered")
def slow(world):
    api = world.attacked
    page = f"http://127.0.0.1:{api.port}/openapi.json"
    amount = ["-c", world.harness.sizes.connections, "-r", 600, "-i", 2, "-l", 240, "-p", 60, "-u", page, "-m", "application/json"]
    attacks = [
        ["-H", "-x", 24],
        # A body that is ignored, of a GET: another one would be refused before it is read.
        ["-B", "-t", "GET", "-s", 512],
        ["-X", "-w", 16, "-y", 64, "-z", 8, "-k", 3],
    ]
    running = []
    try:
        for attack in attacks:
            command = ["slowhttptest", *map(str, attack + amount)]
            running.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        held = lambda: len(os.listdir(f"/proc/{api.process.pid}/fd"))  # noqa: E731
        wait_for("slow clients hold connections", lambda: held() > world.harness.sizes.connections // 3, 60)
        for number in range(5):
            wait_for("it is live", lambda: api.page("/live"), 60)
            attempt = Attempt(number, f"slow-{number}", {"audience": "user/17", "message": {"title": "in time"}})
            connection = lambda: http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)  # noqa: E731
            wait_for("an answer", lambda: attempt.send(connection(), world.key).status in (200, 202), 60)
    finally:
        for each in running:
            each.kill()
            each.wait()
    api.expect_running()


if __name__ == "__main__":
    sys.exit(main("api-clients", __doc__, globals(), around, SIZES))
