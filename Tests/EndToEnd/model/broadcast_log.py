"""The broadcasts as their topic has them: what each record says, and which later one replaces or cancels it."""

from model.broadcast_messages import Renderer, outcome_of


class BroadcastLog:
    """The records of the topic, in the order of their offsets."""

    def __init__(self, records):
        self.records = {record.offset: record for record in records}
        self.outcomes = {record.offset: outcome_of(record) for record in records}
        self.renderers = {at: Renderer(each.broadcast) for at, each in self.outcomes.items() if each.broadcast}
        # By offset of a record: the next one of its key, with a value or without.
        self.replaced_by, newest = {}, {}
        for record in records:
            if record.key in newest:
                self.replaced_by[newest[record.key]] = record
            newest[record.key] = record.offset

    def broadcast(self, offset):
        """The broadcast at an offset; None where there is none that can be sent."""
        return self.outcomes[offset].broadcast if offset in self.outcomes else None

    def is_bad(self, offset):
        """Whether it has to be a dead letter."""
        return self.outcomes[offset].dead_letter is not None

    def is_current(self, offset, view):
        """Whether no later record of its key is below the view."""
        return offset not in self.replaced_by or self.replaced_by[offset].offset >= view

    def is_valid(self, offset, view, clock):
        """Whether it may be sent by whoever knows what is below the view, at this time."""
        broadcast = self.broadcast(offset)
        return broadcast is not None and offset < view and self.is_current(offset, view) and broadcast.expires_at > clock

    def published(self):
        """The offsets of what is no cancellation."""
        return [at for at, each in self.outcomes.items() if each.broadcast or each.dead_letter]
