"""FCM and APNs, played on loopback by a process of their own, with faults that can be changed while it runs."""

import json
import pathlib
import queue
import signal
import subprocess
import threading

from harness.waiting import PATIENCE, Failure


class Providers:
    """A process that plays both; it ends with this one."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._said = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self._said.put(json.loads(line))

    def _next(self):
        try:
            return self._said.get(timeout=20 * PATIENCE)
        except queue.Empty:
            raise Failure(f"the providers' stand-in says nothing; it has ended with {self.process.poll()}") from None

    def _take(self, places):
        self.fcm, self.apns, self.ca = places["fcm"], places["apns"], places["ca"]
        self.credentials, self.log = places["credentials"], places["log"]

    def settings(self):
        """What a sender needs to send here."""
        return {
            "delivery.credentials": f"@{self.credentials}",
            "delivery.ca-file": self.ca,
            "delivery.fcm-url": self.fcm,
            "delivery.apns-url": self.apns,
        }

    def end(self):
        """Its log is whole afterwards."""
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(20 * PATIENCE)


class StandIn(Providers):
    """The project's own. `folder` gets the credentials and, where it `logs`, the log of requests."""

    def __init__(self, binary, folder, seed, faults="", logs=True):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        (self.folder / "faults").write_text(faults)
        super().__init__([binary, self.folder, str(seed), *([] if logs else ["--no-log"])])
        self._next()
        self._take(self._next())

    def set_faults(self, faults):
        """Returns when they count."""
        (self.folder / "faults").write_text(faults)
        self.process.send_signal(signal.SIGHUP)
        self._next()
