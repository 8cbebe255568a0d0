"""The seed of this run: that of the commit, so that two runs of it test the same, or the one that TEST_SEED asks for."""

import functools
import subprocess
import sys

from harness.project import ROOT


@functools.cache
def seed_of_run():
    """What `Scripts/seed` prints, which has the rule and says what is wrong with TEST_SEED."""
    found = subprocess.run([ROOT / "Scripts/seed"], stdout=subprocess.PIPE, check=False)
    if found.returncode:
        sys.exit(found.returncode)
    return int(found.stdout)


def add_seed(parser):
    parser.add_argument("--seed", type=int, default=seed_of_run(), help="default: the commit's; TEST_SEED=random draws another")


def parse(parser):
    """The options, with `--seed`. Prints the seed and the command that repeats the run."""
    add_seed(parser)
    options = parser.parse_args()
    words = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in vars(options).items() if value != "")
    print(f"seed {options.seed}: {parser.prog} {words}", flush=True)
    return options
