"""A terminal with an interactive shell, into which blocks of commands are pasted as a person pastes them: all lines at once.

The shell has job control, history expansion and line editing. What commands in the background print arrives whenever it does, and a
command that reads its terminal swallows the lines that follow it. Standard output is a second terminal, so that it can be compared
by itself: prompts, echo, notices of jobs and everything on standard error are on the first.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from typing import NamedTuple, Optional

# Stands before and behind the exit code of a block: no page prints it.
MARK = b"\x1e"
END = re.compile(MARK + rb"(\d+)" + MARK + rb"\n")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A line of progress that is wiped: what it said is not on the screen any more.
WIPED = re.compile(r"[^\n]*(?:\r\x1b\[[02]?K|\x1b\[2K\r)")
ROWS, COLUMNS = 50, 200


class Result(NamedTuple):
    """What became of a block."""

    # None where it did not end in time, or ended the shell.
    code: Optional[int]
    # Without colours.
    output: str
    # The rest of what a person would see.
    screen: str


class Terminal:
    """`folder` is where the shell starts; `home` an empty folder; `variables` are added to a bare environment."""

    def __init__(self, folder, home, variables):
        (home / ".inputrc").write_text("set enable-bracketed-paste off\n")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "HISTFILE": "/dev/null",
        } | variables
        self.screen, screen = opened()
        self.output, output = opened()
        # Bytes as they are: the first terminal alone translates line ends.
        attributes = termios.tcgetattr(output)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(output, termios.TCSANOW, attributes)
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-i"],
            cwd=folder,
            env=environment,
            stdin=screen,
            stdout=output,
            stderr=screen,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(screen)
        os.close(output)
        self.printed = {self.output: b"", self.screen: b""}

    def paste(self, text, seconds):
        """Pastes the lines, and waits until the shell has run them; what is printed until then belongs to them."""
        # The exit code is on standard output behind everything that the block has printed there.
        pasted = f"{text}\nprintf '\\036%s\\036\\n' $?\n".encode()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not END.search(self.printed[self.output]):
            readable, writable, _ = select.select([self.output, self.screen], [self.screen] if pasted else [], [], left)
            if writable:
                pasted = pasted[os.write(self.screen, pasted[:512]) :]
            if not all([self.read(source) for source in readable]):
                break
        output, code = self.printed[self.output], None
        if end := END.search(output):
            code, output, self.printed[self.output] = int(end.group(1)), output[: end.start()], output[end.end() :]
        screen, self.printed[self.screen] = self.printed[self.screen], b""
        return Result(code, plain(output), plain(screen).replace("\r\n", "\n"))

    def read(self, source):
        """Whether there is still somebody at the other end."""
        try:
            data = os.read(source, 65536)
        except OSError:
            return False
        self.printed[source] += data
        return bool(data)

    def running(self):
        """The processes of this terminal besides its shell, as their command lines by id."""
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat") as file:
                    state, _, _, session = file.read().rpartition(")")[2].split()[:4]
                with open(f"/proc/{name}/cmdline") as file:
                    command = file.read().replace("\0", " ").strip()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(session) == self.process.pid != int(name) and state != "Z":
                found[int(name)] = command
        return found

    def left(self, seconds):
        """What still runs after so long, where something does."""
        deadline = time.monotonic() + seconds
        while (found := self.running()) and time.monotonic() < deadline:
            readable, _, _ = select.select([self.output, self.screen], [], [], 0.05)
            for source in readable:
                self.read(source)
        return found

    def close(self):
        """Ends the shell, and whatever was started from it."""
        # One that is stopped takes the other only once it continues.
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        self.left(15)
        self.signal(signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.screen)

    def signal(self, number):
        for process in self.running():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass


def opened():
    """Both ends of a terminal: ours, and the shell's."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return ours, theirs


def plain(printed):
    return ESCAPE.sub("", WIPED.sub("", printed.decode(errors="replace")))
