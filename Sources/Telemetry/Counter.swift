import Synchronization

/// A count that only grows. Any thread may add; an addition is one atomic instruction.
public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    /// A counter of its own, in no registry.
    public init() {}

    public func add(_ amount: Int = 1) {
        guard amount > 0 else { return }
        count.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A value that goes up and down. Any thread may set it; the last one wins.
public final class Gauge: Sendable {
    private let bits = Atomic<UInt64>(0)

    /// A gauge of its own, in no registry.
    public init() {}

    public func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    public func set(_ value: Int) {
        set(Double(value))
    }

    public func add(_ amount: Double) {
        var seen = bits.load(ordering: .relaxed)
        while true {
            let next = (Double(bitPattern: seen) + amount).bitPattern
            let result = bits.weakCompareExchange(expected: seen, desired: next, ordering: .relaxed)
            if result.exchanged { return }
            seen = result.original
        }
    }

    public var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}
