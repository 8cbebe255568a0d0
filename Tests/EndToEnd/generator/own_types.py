"""Seeded declarations of event types that document 1 does not have."""

import random

# Under which they come: some under several names, one that is only declared where it is longer than another one's.
TYPE_NAMES = ("ORDER_DELAYED", "STORE_CLOSED", "BIG_ORDER_CREATED", "REFUND_GIVEN")


def own_types(seed):
    """Declarations of event types, of which one at least keeps the state of its order and one does not."""
    chance = random.Random(f"types {seed}")
    names = {
        "order_delayed": ["Order.Delayed"],
        "store_closed": None,
        "big": ["BIG_ORDER_CREATED"],
        "given": ["GIVEN", "com.example.refund.given", "REFUND_GIVEN"],
    }
    states = ["kept", "kept", "unchanged", chance.choice(["kept", "unchanged", None])]
    chance.shuffle(states)
    types = {}
    for (name, upstream), state in zip(names.items(), states):
        members = chance.sample(["delay_minutes", "delay.reason", "a-b", "customer.name", "currency"], chance.randrange(5))
        given = {
            "names": upstream,
            "state": state,
            "order": chance.choice(["required", "optional", None]),
            "members": members,
            "audiences": chance.choice([["user/{customer.phone}", "place/{place_id}"], None]),
        }
        types[name] = {member: value for member, value in given.items() if value is not None}
    return types
