"""`carillon api` as a process, and what a client of it is told."""

import contextlib
import http.client
import json
import time

from harness.brokers import free_port
from harness.daemon import Daemon, wait_for_daemons
from harness.prometheus import fetch
from harness.waiting import pause

TOPIC = "notifications.requests"


def create_key(harness, folder, *scopes):
    """A key that may do this, by default send; its file is `keys.json`."""
    words = [word for scope in scopes or ("send",) for word in ("--scope", scope)]
    made = harness.command("api", "key", "create", *words, "--file", f"{folder}/keys.json", "--json", settings={})
    return json.loads(made)["key"]


class APIProcess(Daemon):
    """One instance of `carillon api`, on ports of its own."""

    def __init__(self, harness, cluster, folder, name="api", **settings):
        self.port, self.health = free_port(), free_port()
        settings = {
            "kafka.bootstrap.servers": cluster.bootstrap,
            "topic.requests": TOPIC,
            "api.http": f"127.0.0.1:{self.port}",
            "http": f"127.0.0.1:{self.health}",
            "api.keys": f"@{folder}/keys.json",
            "api.rate": 1_000_000,
            "state.dir": f"{folder}/state",
        } | {name.replace("_", "-").replace("api-", "api."): value for name, value in settings.items()}
        super().__init__(name, folder, settings, None, harness.carillon)

    def configure(self, settings):
        super().configure(settings)
        self.arguments[1] = "api"

    def page(self, path):
        """What it answers to monitoring; "" where it does not."""
        try:
            return fetch(f"http://127.0.0.1:{self.health}{path}")[2]
        except OSError:
            return ""

    def ask(self, key, method, path, body=None, headers=None):
        """The status and the answer. A body in bytes goes as it is."""
        response, answer = self.exchange(key, method, path, body, headers)
        return response.status, answer

    def exchange(self, key, method, path, body=None, headers=None):
        """The same, with what has the answer's headers."""
        response, text = self.fetch(key, method, path, body, headers)
        return response, json.loads(text or "{}")

    def fetch(self, key, method, path, body=None, headers=None):
        """The same, with the answer's bytes as they are."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"} | (headers or {})
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return response, response.read()

    @property
    def is_ready(self):
        return self.page("/ready") == "ready\n"


def wait_until_ready(*processes, seconds=30):
    wait_for_daemons("the API is ready", lambda: all(each.is_ready for each in processes), processes, seconds)


class Attempt:
    """One PUT, known by its traceparent; `status` is None where the connection ended without an answer."""

    def __init__(self, number, request_id, body):
        self.trace = f"00-{number + 1:032x}-{1:016x}-01"
        self.id, self.body, self.status, self.answer = request_id, body, None, {}
        self.began, self.seconds = 0, 0

    def send(self, connection, key, late=0):
        """Over a connection that is not open yet, and is closed behind it; its second half comes so many seconds late."""
        self.began = time.monotonic()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "traceparent": self.trace}
        body = json.dumps(self.body).encode()
        try:
            if late:
                connection.request("PUT", f"/v1/requests/{self.id}", body[:9], headers | {"Content-Length": str(len(body))})
                pause(late)
                connection.send(body[9:])
            else:
                connection.request("PUT", f"/v1/requests/{self.id}", body, headers)
            response = connection.getresponse()
            self.answer = json.loads(response.read())
            self.status = response.status
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
            self.seconds = time.monotonic() - self.began
        return self

    def overlaps(self, other):
        return self.began <= other.began + other.seconds and other.began <= self.began + self.seconds
