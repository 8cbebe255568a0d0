"""FCM and APNs, played by Node's HTTP/2, and not by the project's own code: `endpoint/providers.mjs` says what it can be told."""

import json
import pathlib
import shutil
import urllib.request

from harness.stand_in import Providers
from harness.waiting import Skipped

PROGRAM = pathlib.Path(__file__).parent.parent / "endpoint" / "providers.mjs"


class Endpoint(Providers):
    """The process; it ends with this one. `folder` gets the credentials and the log of requests."""

    def __init__(self, folder, seed):
        if not (node := shutil.which("node")):
            raise Skipped("it needs Node, Debian's package nodejs")
        super().__init__([node, PROGRAM, folder, str(seed)])
        places = self._next()
        self._take(places)
        self.control = places["control"]

    def set(self, **state):
        """Changes how it answers, and returns when that counts: the number of requests so far, and of those taken."""
        with urllib.request.urlopen(self.control, json.dumps(state).encode(), timeout=20) as answer:
            return json.load(answer)
