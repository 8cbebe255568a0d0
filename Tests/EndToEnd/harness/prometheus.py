"""A Prometheus of the tests' own: scrapes `/metrics` as it does in production, and answers by its query API."""

import json
import pathlib
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from harness.waiting import Failure, wait_for


def fetch(url, method="GET"):
    """(status, headers, body), whatever the status is. Raises OSError where no server answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


class Prometheus:
    """Scrapes the targets every second until it is stopped."""

    def __init__(self, folder, port, targets):
        self.url = f"http://127.0.0.1:{port}"
        folder = pathlib.Path(folder)
        configuration = folder / "prometheus.yml"
        configuration.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                    "scrape_configs": [{"job_name": "carillon", "static_configs": [{"targets": targets}]}],
                }
            )
        )
        with open(folder / "prometheus.log", "wb") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={configuration}",
                    f"--storage.tsdb.path={folder / 'prometheus'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdout=log,
                stderr=log,
            )
        wait_for("Prometheus is up", self._is_up, 30)

    def _is_up(self):
        if self.process.poll() is not None:
            raise Failure(f"prometheus ended with {self.process.returncode}")
        try:
            return fetch(f"{self.url}/-/ready")[0] == 200
        except OSError:
            return False

    def query(self, expression):
        """The values of an instant query, by their labels as sorted pairs of name and value."""
        status, _, body = fetch(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        answer = json.loads(body)
        if status != 200 or answer["status"] != "success":
            raise Failure(f"Prometheus refuses {expression}: {answer.get('error')}")
        return {tuple(sorted(each["metric"].items())): float(each["value"][1]) for each in answer["data"]["result"]}

    def value(self, expression):
        """The only value of a query; None where there is none."""
        return next(iter(self.query(expression).values()), None)

    def by(self, label, expression):
        return {dict(labels).get(label): value for labels, value in self.query(expression).items()}

    def stop(self):
        self.process.terminate()
        self.process.wait()
