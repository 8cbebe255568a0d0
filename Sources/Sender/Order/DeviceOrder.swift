/// What waits of each device, in the order of the dispatch records: only the first may be sent.
///
/// A device is the first eight bytes of its token's hash: two devices that share them would wait for each other, which
/// does no harm. One partition's devices; a device is always in the same partition.
package struct DeviceOrder: Sendable {
    package typealias Device = UInt64

    /// - Parameter hash: of the token: 64 hex digits.
    package static func device(of hash: String) -> Device { Device(hash.prefix(16), radix: 16) ?? 0 }

    /// Where a record is.
    package enum State: Equatable, Sendable {
        /// In this process's memory: in flight, or waiting.
        case held
        /// Not in memory: it was read at this offset, and is read there again when it is its turn. The retry topic; nil is
        /// the dispatch topic.
        case log(tier: Int?, Int64)
        /// In a retry topic, and not due.
        case tier(Int)
    }

    package struct Waiting: Equatable, Sendable {
        /// The offset of its dispatch record.
        package var offset: Int64
        package var state: State
    }

    /// The records of one device, in the order of their offsets. The first ones go first, mostly.
    package struct Line: Sendable {
        private var records: [Waiting]
        /// Those before it are gone.
        private var begin = 0

        fileprivate init(_ first: Waiting) { records = [first] }

        package var count: Int { records.count - begin }
        package subscript(index: Int) -> Waiting { records[begin + index] }

        /// Where a record is in the line, or would be.
        func index(of offset: Int64) -> Int {
            var (low, high) = (begin, records.count)
            if let last = records.last, last.offset < offset { return count }
            while low < high {
                let middle = (low + high) / 2
                if records[middle].offset < offset { low = middle + 1 } else { high = middle }
            }
            return low - begin
        }

        func has(_ offset: Int64, at index: Int) -> Bool { index < count && self[index].offset == offset }

        fileprivate mutating func put(_ record: Waiting) -> Int {
            let index = index(of: record.offset)
            if has(record.offset, at: index) {
                records[begin + index].state = record.state
            } else {
                records.insert(record, at: begin + index)
            }
            return index
        }

        fileprivate mutating func remove(at index: Int) {
            guard index == 0 else {
                records.remove(at: begin + index)
                return
            }
            begin += 1
            // So that each is moved once on the average.
            if begin * 2 > records.count {
                records.removeFirst(begin)
                begin = 0
            }
        }
    }

    /// Nearly every device has one record.
    private var devices: [Device: Line] = [:]

    package var isEmpty: Bool { devices.isEmpty }

    /// Adds a record, or changes its state.
    ///
    /// - Returns: how many of its device are before it.
    @discardableResult
    package mutating func put(_ offset: Int64, of device: Device, as state: State) -> Int {
        let record = Waiting(offset: offset, state: state)
        guard let index = devices.index(forKey: device) else {
            devices[device] = Line(record)
            return 0
        }
        return devices.values[index].put(record)
    }

    /// The record has its outcome.
    ///
    /// - Returns: whether it was its device's first, and which one that is now.
    @discardableResult
    package mutating func remove(_ offset: Int64, of device: Device) -> (wasFirst: Bool, first: Waiting?) {
        guard let index = devices.index(forKey: device) else { return (false, nil) }
        let lineIndex = devices.values[index].index(of: offset)
        guard devices.values[index].has(offset, at: lineIndex) else { return (false, devices.values[index][0]) }
        devices.values[index].remove(at: lineIndex)
        guard devices.values[index].count == 0 else { return (lineIndex == 0, devices.values[index][0]) }
        devices.remove(at: index)
        return (true, nil)
    }

    /// What waits of a device.
    package func line(of device: Device) -> Line? { devices[device] }

    /// The record of this device that may be sent.
    package func first(of device: Device) -> Waiting? { devices[device]?[0] }

    /// How many records of the device are before an offset.
    package func count(before offset: Int64, _ device: Device) -> Int {
        devices[device]?.index(of: offset) ?? 0
    }

    /// Whether a record of the device is after an offset.
    package func has(after offset: Int64, _ device: Device) -> Bool {
        devices[device].map { $0[$0.count - 1].offset > offset } ?? false
    }

    /// Where a record is; nil if it has its outcome.
    package func state(of offset: Int64, _ device: Device) -> State? {
        guard let line = devices[device] else { return nil }
        let index = line.index(of: offset)
        return line.has(offset, at: index) ? line[index].state : nil
    }
}
