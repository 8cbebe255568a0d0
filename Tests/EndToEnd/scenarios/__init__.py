"""The tests, each a module with a command line: `Tests/EndToEnd/run NAME`, `Scripts/chaos`."""
