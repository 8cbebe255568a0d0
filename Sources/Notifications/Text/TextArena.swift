import JSONReader

/// Small texts made while one event is extracted: numbers as text, dates, times, message ids.
///
/// Slots of a fixed size in one block of memory, so that pointers to them stay valid while more are made.
package struct TextArena: ~Copyable {
    /// The size of the longest number and the longest message id.
    static let slotSize = 40
    private static let slots = 64

    private let base = UnsafeMutablePointer<UInt8>.allocate(capacity: slotSize * slots)
    private var used = 0

    package init() {}

    deinit {
        base.deallocate()
    }

    /// Drops all texts but the first `count`.
    package mutating func truncate(to count: Int = 0) {
        used = count
    }

    package var count: Int { used }

    /// Adds a text of at most ``slotSize`` bytes; `write` returns its length.
    ///
    /// An event needs fewer than half of the slots. If it needed more, the last slot would be overwritten.
    package mutating func make(_ write: (UnsafeMutablePointer<UInt8>) -> Int) -> UnsafeRawBufferPointer {
        let slot = base + min(used, Self.slots - 1) * Self.slotSize
        used += 1
        return UnsafeRawBufferPointer(start: slot, count: write(slot))
    }

    /// A text field of an event (docs/rules.md §5.2): trimmed; a number as JavaScript prints it; nil if it is missing:
    /// absent, null, blank, a boolean, an object or an array.
    package mutating func text(_ value: JSONValue?) -> UnsafeRawBufferPointer? {
        guard let value else { return nil }
        if let string = value.string {
            let trimmed = string.bytes.trimmed
            return trimmed.isEmpty ? nil : trimmed
        }
        guard value.isNumber else { return nil }
        return make { JSONNumberText.write(value, to: $0) ?? 0 }
    }
}
