"""Examples/receiving-app shows what users see of the pushes that `carillon render` writes."""

import subprocess
import tempfile
import unittest

from program import ROOT, run

APP = ROOT / "Examples/receiving-app"


def build():
    """The program, which Scripts/test has built already."""
    command = ["swift", "build", "--package-path", APP, "--scratch-path", ROOT / ".build/receiving-app"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return f"{shown.stdout.strip()}/receiving-app"


def first_events(count):
    """What is rendered for the first sample events."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as events:
        events.writelines((ROOT / "Examples/events.jsonl").read_text().splitlines(keepends=True)[:count])
        events.flush()
        code, output, errors = run(["render", "--subscriptions", str(ROOT / "Examples/subscriptions.jsonl"), events.name])
    if code != 0:
        raise AssertionError(errors)
    return output


class ReceivingApp(unittest.TestCase):
    maxDiff = None

    def test_each_device_shows_every_push_once(self):
        records = first_events(4)
        shown = subprocess.run([build()], input=records * 2, capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown, (APP / "expected.txt").read_text())


if __name__ == "__main__":
    unittest.main()
