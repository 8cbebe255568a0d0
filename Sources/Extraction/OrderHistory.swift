import Events
import NotificationPayload

/// What an event says about its order: what the order's state is folded from, and nothing that came from a fallback.
///
/// The texts are the event's, and good until the next event is extracted.
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

    package var type: EventType
    package var time: EventTime
    /// Who the event is (push-rules §6), as 64 bits of the hash that its message id is made of. Nil where only its
    /// coordinates tell, which change when it is sent again.
    package var identity: UInt64?
    /// The record comes back from the dead letters: it may be known, but it has notified nobody.
    package var isRedriven = false
    /// Nil: no state, no duplicate check, no timers.
    package var orderID: UnsafeRawBufferPointer?
    package var place: UnsafeRawBufferPointer
    package var visibleID: UnsafeRawBufferPointer?
    package var parentID: UnsafeRawBufferPointer?
    package var status: UnsafeRawBufferPointer?
    /// Nil too where only its end is known: a start that nobody named starts nothing.
    package var slot: Slot?
    /// The delivery date, in days since 1970.
    package var date: Int32?
    /// The order's own date, which counts where no event named a delivery date.
    package var orderDate: Int32?
    /// The date of the event, for a slot that came without one.
    package var slotDate: Int32?
    package var orderType: OrderType?

    package init(type: EventType, time: EventTime, orderID: UnsafeRawBufferPointer?, place: UnsafeRawBufferPointer) {
        self.type = type
        self.time = time
        self.orderID = orderID
        self.place = place
    }
}

/// What the past of an order says about an event.
package struct OrderVerdict {
    /// Why the event is not to be sent; a duplicate is not to be applied either.
    package var reason: SuppressionReason?
    /// Good until the event is applied.
    package var previousStatus: UnsafeRawBufferPointer?
    /// Older than the event that was applied last.
    package var isOutOfOrder = false

    package init() {}
}

/// The past of orders, as far as the extraction needs it: asked before an event's payload is written, and told after.
///
/// Events come in the order of the log. A dead letter is asked about, perhaps, and never applied.
package protocol OrderHistory: ~Copyable {
    mutating func consider(_ event: OrderFacts) -> OrderVerdict
    /// Takes over the event that was considered last.
    mutating func apply(_ event: OrderFacts)
}

/// Every event stands for itself.
package struct NoHistory: OrderHistory {
    /// A value of no size has no address, and ThreadSanitizer crashes on the access to it as `inout` of a generic function.
    private let size: UInt8 = 0

    package init() {}

    package mutating func consider(_ event: OrderFacts) -> OrderVerdict { OrderVerdict() }
    package mutating func apply(_ event: OrderFacts) {}
}
