"""The targets of Package.swift are what docs/code.md says they are, and each one declares what its files import."""

import functools
import json
import os
import re
import subprocess
import unittest

from program import ROOT

PAGE = ROOT / "docs" / "code.md"

# What Swift's toolchain and the system bring.
SYSTEM = {"Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Testing"}

# Each of Debian's C libraries has one door; HTTP/2 has two sides.
DOORS = {
    "CCurl": "HTTPClient",
    "CLMDB": "StateStore",
    "CMicrohttpd": "HTTPServer",
    "CNGHTTP2": "HTTPClient ProviderStandIn",
    "COpenSSL": "Digests",
    "CRDKafka": "KafkaClient",
    "CSQLite": "Replay",
    "CSimdJSON": "JSONReader",
    "CTLS": "ProviderStandIn",
}

# Pure: no thread, no clock, no log, no file.
PURE = {"Time", "NotificationPayload", "Digests", "JSONReader", "Notifications"}

# The stages of the flow that keep something on disk, by an ordered store.
STORED = {"Orders", "Requests", "FanOut"}

# The folders of the flow: the types of each use those of the folders before it.
STAGES = "Text Time Identity Consume Extract Orders Requests FanOut Dispatch Render Flow".split()

# What is handed from stage to stage: a batch holds it for the one that fills it in.
HANDED_ON = {"DeadLetter", "MappedMembers", "Notification", "RequestNotification", "RequestValue"}

# The folders of roles that decide and do not call Kafka: they are tested without a broker.
DECIDING = {
    "Broadcasts": "Core Explain Journal Table",
    "Sender": "Answers Core Message Offsets Order Rate",
    "Pipeline": "Render",
    "Registrar": "Core Record Table",
}

DECLARED = re.compile(r"^(?:@\w+ |package |public |final |indirect )*(?:struct|enum|class|protocol|typealias) (\w+)", re.M)
NO_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
IMPORT = re.compile(r"^\s*(?:@\w+ )*(?:public |package |internal |private |fileprivate )?import (?:\w+ (?=\w+\.))?(\w+)", re.M)


@functools.cache
def targets():
    """Every target of the package by its name, those for fuzzing included."""
    dumped = subprocess.run(
        ["swift", "package", "--package-path", str(ROOT), "dump-package"],
        env=os.environ | {"CARILLON_FUZZING": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {target["name"]: target for target in json.loads(dumped.stdout)["targets"]}


def is_test(target):
    """Whether a target is for tests alone, as its place says."""
    return target["type"] == "test" or (target.get("path") or "").startswith("Tests/")


def declared(target):
    """The targets of this package that it depends on."""
    return {dependency["byName"][0] for dependency in target["dependencies"]}


def sources(target):
    """The Swift files of a target."""
    folder = target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}"
    return sorted((ROOT / folder).rglob("*.swift"))


def imports(path):
    """The modules that a file imports."""
    return set(IMPORT.findall(path.read_text()))


def reached(name):
    """What a target depends on, directly and by others."""
    found, open_names = set(), [name]
    while open_names:
        for other in declared(targets()[open_names.pop()]) - found:
            found.add(other)
            open_names.append(other)
    return found


def diagram():
    """The product's targets as a Mermaid diagram; an arrow points to what a target imports.

    An arrow that follows from others is left out.
    """
    lines = ["```mermaid", "flowchart TD"]
    for name, target in sorted(targets().items()):
        if is_test(target):
            continue
        direct = declared(target)
        indirect = set().union(*(reached(other) for other in direct)) if direct else set()
        lines += [f"    {name} --> {other}" for other in sorted(direct - indirect)]
    return "\n".join([*lines, "```"])


class Targets(unittest.TestCase):
    def test_every_target_declares_what_it_imports_and_nothing_more(self):
        problems, count = [], 0
        for name, target in targets().items():
            if target["type"] == "system" or name == "CSimdJSON":
                continue
            used = set()
            for path in sources(target):
                count += 1
                used |= imports(path)
            modules = {other.replace("-", "_") for other in declared(target)}
            problems += [f"{name} imports {other}, which it does not declare" for other in sorted(used - SYSTEM - modules)]
            problems += [f"{name} declares {other} and does not import it" for other in sorted(modules - used)]
        self.assertEqual(problems, [])
        self.assertGreater(count, 300)

    def test_every_file_belongs_to_a_target(self):
        owned = {path for target in targets().values() if target["type"] != "system" for path in sources(target)}
        found = set((ROOT / "Sources").rglob("*.swift")) | set((ROOT / "Tests").rglob("*.swift"))
        found.discard(ROOT / "Tests/Threads/planted.swift")  # Scripts/threads compiles it by itself.
        self.assertEqual(sorted(str(path.relative_to(ROOT)) for path in found - owned), [])

    def test_the_tests_have_the_folders_of_what_they_test(self):
        sources = {f"{path.name[0].upper()}{path.name[1:]}": path for path in (ROOT / "Sources").iterdir()}
        problems = []
        for name in (name for name, target in targets().items() if target["type"] == "test"):
            tested = sources.get(name.removesuffix("Tests"))
            if tested is None:
                problems.append(f"{name} tests no target")
                continue
            folders = {path.name for path in (ROOT / "Tests" / name).iterdir() if path.is_dir()} - {"Support"}
            strangers = sorted(folder for folder in folders if not (tested / folder).is_dir())
            problems += [f"{name}/{folder}: {tested.name} has no such folder" for folder in strangers]
        self.assertEqual(problems, [])

    def test_a_c_library_has_one_door(self):
        for library, door in DOORS.items():
            found = [name for name, target in targets().items() if library in declared(target) and not is_test(target)]
            self.assertEqual(found, door.split())

    def test_the_payload_library_imports_nothing(self):
        self.assertEqual(declared(targets()["NotificationPayload"]), set())
        used = set().union(*(imports(path) for path in sources(targets()["NotificationPayload"])))
        self.assertEqual(used, set())

    def test_the_payload_library_compiles_by_itself(self):
        files = map(str, sources(targets()["NotificationPayload"]))
        command = "swiftc -typecheck -parse-as-library -swift-version 6 -warnings-as-errors -package-name carillon".split()
        checked = subprocess.run([*command, *files], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_registration_of_an_app_imports_the_payload_alone(self):
        used = set().union(*(imports(path) for path in sources(targets()["DeviceRegistration"])))
        self.assertEqual(used, {"NotificationPayload"})

    def test_the_stages_do_no_io(self):
        for name in PURE:
            self.assertTrue(reached(name).isdisjoint({"KafkaClient", "Telemetry", "Hosting", "Pipeline"}), name)
        flow = ROOT / "Sources" / "Notifications"
        stored = {path.relative_to(flow).parts[0] for path in flow.rglob("*.swift") if "StateStore" in imports(path)}
        self.assertEqual(stored, STORED)

    def test_a_stage_uses_the_stages_before_it(self):
        flow = ROOT / "Sources" / "Notifications"
        files = {path: path.relative_to(flow).parts[0] for path in flow.rglob("*.swift") if path.parent != flow}
        self.assertEqual(set(files.values()), set(STAGES))
        stage_of = {name: stage for path, stage in files.items() for name in DECLARED.findall(path.read_text())}
        against = [
            f"{path.relative_to(flow)} uses {name} of {stage_of[name]}"
            for path, stage in files.items()
            for name in sorted(set(re.findall(r"\b[A-Z]\w+", NO_CODE.sub("", path.read_text()))) & stage_of.keys() - HANDED_ON)
            if STAGES.index(stage_of[name]) > STAGES.index(stage)
        ]
        self.assertEqual(against, [])

    def test_what_decides_in_a_role_calls_no_broker(self):
        cores = {path.parent.name for path in (ROOT / "Sources").glob("*/Core")}
        self.assertLessEqual(cores, {role for role, folders in DECIDING.items() if "Core" in folders.split()})
        for role, folders in DECIDING.items():
            for folder in folders.split():
                files = list((ROOT / "Sources" / role / folder).rglob("*.swift"))
                self.assertGreater(len(files), 0, folder)
                called = set().union(*map(imports, files)) & {"Hosting", "KafkaClient", "Streaming"}
                self.assertEqual(called, set(), f"{role}/{folder}")

    def test_a_replay_cannot_deliver(self):
        self.assertTrue(reached("Replay") >= {"Pipeline", "KafkaClient", "Notifications"})
        self.assertTrue(reached("Replay").isdisjoint({"Sender", "HTTPClient", "Console", "HTTPServer", "carillon"}))

    def test_the_page_of_the_code_has_each_target_in_its_table(self):
        rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text().split("\n## ")[1], re.M)
        named = set(re.findall(r"`(\w+)`", "\n".join(rows)))
        # Those of C are one row.
        own = {name for name, target in targets().items() if not is_test(target) and not re.match("C[A-Z]", name)}
        self.assertEqual(own - named, set())

    def test_the_page_of_the_code_shows_this_graph(self):
        page = PAGE.read_text()
        self.assertIn(diagram(), page, f"docs/code.md should have:\n{diagram()}")


if __name__ == "__main__":
    unittest.main()
