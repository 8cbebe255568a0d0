"""Commands of `carillon` that look at what was sent and send again: to their end, or beside the test."""

import json
import os
import subprocess
import tempfile

from harness.daemon import EXIT_DONE, flags
from harness.waiting import PATIENCE, Failure

# Without this option nothing is sent, and nothing is put back.
CONFIRMATION = "--i-understand-this-notifies-people"


def documents(world, *words, settings, expected=EXIT_DONE):
    """`carillon … --json` to its end: the documents that it printed, and what it said. No token may be in either."""
    code, output, errors = world.harness.run(*words, "--json", settings=settings, input=b"", timeout=600)
    if code != expected:
        raise Failure(f"carillon {' '.join(words)} ended with {code}, expected {expected}: {output[-800:]}{errors[-800:]}")
    if "-device-" in output + errors:
        raise Failure(f"a device's token is shown: {output}{errors}")
    # A request's text may have U+2028, at which splitlines() would split.
    return [json.loads(line) for line in output.split("\n") if line], errors


class ReplayProcess:
    """A `carillon replay` that runs beside the test."""

    command = "replay"

    def __init__(self, world, *arguments, settings):
        self.errors, self.output = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        # Where it keeps what it has looked up.
        self.folder = tempfile.TemporaryDirectory(prefix="carillon-replay.")
        self.process = subprocess.Popen(
            [world.harness.carillon, self.command, *arguments, *flags(settings)],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.errors,
            env=os.environ | {"TMPDIR": self.folder.name},
        )

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait(self, expected, seconds=30):
        """Until it ends, with this exit code; what it said."""
        code = self.process.wait(seconds * PATIENCE)
        if code != expected:
            raise Failure(f"carillon {self.command} ended with {code}, expected {expected}: {self.said()}")
        return self.said()

    def said(self):
        return self._read(self.errors)

    def printed(self):
        return self._read(self.output)

    @staticmethod
    def _read(file):
        # Not by seek(): the process writes at the same position.
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()

    def expect_running(self):
        if self.process.poll() is not None:
            raise Failure(f"carillon {self.command} ended with {self.process.returncode}: {self.said()}")
