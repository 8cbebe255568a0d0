"""`carillon run` as a process: started with settings of its own, stopped in every way that it must bear."""

import os
import pathlib
import re
import signal
import subprocess
import time

from harness.waiting import PATIENCE, Failure, wait_for

# The exit codes of `carillon`.
EXIT_DONE = EXIT_DRAINED = 0
EXIT_IN_USE = 3
EXIT_USAGE = 64
EXIT_DEFECT = 70
EXIT_NOT_IN_TIME = 75
EXIT_LOGIN = 77
EXIT_CONFIGURATION = EXIT_REFUSED = 78
PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


def flags(settings):
    """The settings as options of a command line."""
    return [flag for key, value in settings.items() for flag in ("--set", f"{key}={value}")]


class Daemon:
    """One instance of `carillon run`. Its log continues over restarts, in `<folder>/<name>.log`."""

    def __init__(self, name, folder, settings, start_at, binary):
        self.name = name
        self.log_path = pathlib.Path(folder) / f"{name}.log"
        self.log_path.touch()
        self.process = None
        self.started_log_at = 0
        # For the next start: variables of the environment, such as CARILLON_FAULT and CARILLON_FAULT_SEED.
        self.variables = {}
        self.binary, self.start_at = binary, start_at
        self.configure(settings)

    def configure(self, settings):
        """The settings of the next start."""
        self.arguments = [self.binary, "run", *flags(settings)]
        if self.start_at:
            self.arguments += ["--from", self.start_at]

    def start(self):
        self.started_log_at = self.log_path.stat().st_size
        with open(self.log_path, "ab") as log:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
            environment |= self.variables
            self.process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        return self

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def is_stopped(self):
        """Whether it is stopped by SIGSTOP."""
        try:
            return pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except OSError:
            return False

    @property
    def peak(self):
        """The most memory that it has had, in MiB."""
        return int(PEAK.search(pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) // 1024

    def log(self, whole=False):
        """What this process has said since it was last started; or since the first start."""
        with open(self.log_path, "rb") as log:
            log.seek(0 if whole else self.started_log_at)
            return log.read().decode(errors="replace")

    def last_lines(self, count=8):
        return "\n".join("    | " + line for line in self.log().splitlines()[-count:])

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def kill_if_running(self):
        if self.is_running:
            self.kill()

    def wait(self, seconds):
        """The exit code."""
        seconds *= PATIENCE
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not end within {seconds} s; its last lines:\n{self.last_lines()}") from None

    def expect_exit(self, code, *words, seconds=60):
        """Waits until it ends by itself, with `code`, and one line of its log has all the `words`."""
        found = self.wait(seconds)
        if found != code:
            raise Failure(f"{self.name} ended with {found}, expected {code}; its last lines:\n{self.last_lines()}")
        self.expect_line(*words)

    def has_line(self, *words):
        return any(all(word.lower() in line.lower() for word in words) for line in self.log().splitlines())

    def expect_line(self, *words):
        if words and not self.has_line(*words):
            raise Failure(f"{self.name}: no line with {' and '.join(map(repr, words))}; its last lines:\n{self.last_lines()}")

    def stop(self, seconds=10):
        """Sends SIGTERM, upon which it drains in time and ends with 0. Returns how long it took."""
        began = time.monotonic()
        self.signal(signal.SIGTERM)
        self.expect_exit(EXIT_DRAINED, seconds=seconds)
        return time.monotonic() - began

    def expect_running(self):
        if not self.is_running:
            raise Failure(f"{self.name} ended by itself with {self.process.returncode}; its last lines:\n{self.last_lines()}")


def wait_for_daemons(what, condition, daemons, seconds=60):
    """As `wait_for`; fails at once when one of the daemons ends by itself."""

    def checked():
        for each in daemons:
            each.expect_running()
        return condition()

    try:
        return wait_for(what, checked, seconds)
    except Failure as failure:
        raise Failure("\n".join([str(failure)] + [f"  {each.name}:\n{each.last_lines(5)}" for each in daemons])) from None
