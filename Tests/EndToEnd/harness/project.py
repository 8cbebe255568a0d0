"""Where the project is."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
