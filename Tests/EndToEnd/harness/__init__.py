"""What drives a pipeline: its builds, brokers, topics and processes, and the scenarios that are run with them."""
