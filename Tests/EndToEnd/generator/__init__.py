"""Seeded input: subscriptions, events about orders in every shape that producers send, and poison."""
