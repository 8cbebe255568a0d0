import NotificationPayload

/// The facts of an event about its order, from which the order's state is folded; no fallbacks.
///
/// The texts belong to the event and are valid until the next event is extracted.
package struct OrderFacts {
    /// A slot on the wall clock of the place, in minutes since midnight.
    package struct Slot: Equatable, Sendable {
        package var start: Int16
        package var end: Int16

        package init(start: Int16, end: Int16) {
            self.start = start
            self.end = end
        }
    }

    package var type: OrderEventType
    package var time: WallTime
    /// The identity of the event (docs/rules.md §6), as 64 bits of the hash from which its message id is made. Nil if
    /// it has only its coordinates, which change when it is sent again.
    package var identity: UInt64?
    /// The record was put back from the dead letters: its identity may be known, but nobody was notified.
    package var isRedriven = false
    /// Nil: no state, no duplicate check, no timers.
    package var orderID: UnsafeRawBufferPointer?
    /// Empty where the event has none.
    package var place: UnsafeRawBufferPointer
    package var visibleID: UnsafeRawBufferPointer?
    package var parentID: UnsafeRawBufferPointer?
    package var status: UnsafeRawBufferPointer?
    /// Nil also if only the slot's end is known: without a named start there are no timers.
    package var slot: Slot?
    /// The delivery date, in days since 1970.
    package var date: Int32?
    /// The order's own date, used if no event named a delivery date.
    package var orderDate: Int32?
    /// The date of the event, for a slot that has no date.
    package var slotDate: Int32?
    package var orderType: OrderType?
}

/// The judgement of an event by the past of its order.
package struct OrderVerdict {
    /// Why the event is not to be sent; a duplicate is not to be applied either.
    package var reason: SuppressionReason?
    /// Valid until the event is applied.
    package var previousStatus: UnsafeRawBufferPointer?
    /// Older than the event that was applied last.
    package var isOutOfOrder = false

    package init() {}
}

/// The past of orders, as far as the extraction needs it: queried before an event's payload is written, and updated
/// after.
///
/// Events come in the order of the log. A dead letter may be queried, but is never applied.
package protocol OrderHistory: ~Copyable {
    mutating func consider(_ event: OrderFacts) -> OrderVerdict
    /// Applies the event that was considered last.
    mutating func apply(_ event: OrderFacts)
}

/// No history: every event is handled on its own.
package struct NoHistory: OrderHistory {
    /// A value of no size has no address, and ThreadSanitizer crashes on the access to it as `inout` of a generic
    /// function.
    private let size: UInt8 = 0

    package init() {}

    package mutating func consider(_ event: OrderFacts) -> OrderVerdict { OrderVerdict() }
    package mutating func apply(_ event: OrderFacts) {}
}
