"""Every command of the sources has its place in the command line: one that nobody lists compiles, and cannot be called."""

import re
import unittest

from program import ROOT

COMMANDS = ROOT / "Sources/carillon"


class Commands(unittest.TestCase):
    def test_every_command_is_a_subcommand_of_another(self):
        text = "\n".join(path.read_text() for path in sorted(COMMANDS.rglob("*.swift")))
        declared = set(re.findall(r"struct (\w+): ParsableCommand\b", text))
        listed = {
            name
            for commands in re.findall(r"(?:\bsubcommands:|\bCommandGroup\(\s*\"[^\"]*\",)\s*\[(.*?)\]", text, re.S)
            for name in re.findall(r"(\w+)\.self", commands)
        }
        self.assertEqual(declared - listed, {"Carillon"})
        self.assertGreater(len(declared), 20)


if __name__ == "__main__":
    unittest.main()
