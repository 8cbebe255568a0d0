"""The real `carillon` (the one that CARILLON names), asked whether it would take a command line and variables."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
USAGE = 64

# A setting that is wrong. The program names every problem of a configuration at once and then ends, so a command line
# whose only problem is this one is a good command line, and nothing was started.
PLANTED = ["--set", "log.level=planted"]


def carillon():
    return os.environ.get("CARILLON", str(ROOT / ".build/release/carillon"))


def run(arguments, variables=None, **options):
    """(exit code, output, errors) of the program in an environment that has nothing but `variables`."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere"} | (variables or {})
    done = subprocess.run([carillon(), *arguments], env=environment, capture_output=True, text=True, timeout=30, **options)
    return done.returncode, done.stdout, done.stderr


def problems(arguments, variables=None, **options):
    """What the program objects to in a command line, as lines; none where it would run."""
    if arguments[-1:] in (["--help"], ["--version"]):
        code, output, errors = run(arguments, variables, **options)
        return [] if code == 0 and output else errors.splitlines()
    code, _, errors = run([*arguments, *PLANTED], variables, **options)
    found = [line for line in errors.splitlines() if "'planted' is not allowed" not in line]
    if not found and (code, len(errors.splitlines())) != (USAGE, 1):
        found = [f"it ended with {code} instead of refusing the planted setting"]
    return found


def configuration(variables, **options):
    """(sources by setting, variables that mean nothing, problems), as `check-config` sees the variables."""
    _, output, errors = run(["check-config", "--json"], variables, **options)
    report = json.loads(output)
    return (
        {each["key"]: each["source"] for each in report["settings"]},
        report["ignoredVariables"],
        report["problems"] or errors.splitlines(),
    )
