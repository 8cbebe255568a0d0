import Notifications

/// What waits behind other pushes of its device waits in Kafka: it was read, and is read again when it is its turn.
extension LaneCore {
    /// So many records of a device are in memory at most, the one in flight included.
    static let mostOfDevice = 16

    /// Whether a record of a partition's topic is to be read again now.
    package func wants(_ offset: Int64, of stream: LaneStream, _ partition: Int32) -> Bool {
        guard let state = partitions[partition] else { return false }
        let topicIndex = topicIndex(stream)
        return state.turns[topicIndex].contains(offset) || state.hops[topicIndex].contains(offset)
    }

    /// The first record of a partition's topic, from an offset on, that is to be read again.
    package func nextWanted(of stream: LaneStream, _ partition: Int32, from offset: Int64) -> Int64? {
        guard let state = partitions[partition], state.phase == .active else { return nil }
        let topicIndex = topicIndex(stream)
        guard let turn = state.turns[topicIndex].next(from: offset) else {
            return state.hops[topicIndex].next(from: offset)
        }
        return min(turn, state.hops[topicIndex].next(from: offset) ?? turn)
    }

    /// Whether anything is to be read again.
    package var wantsAny: Bool { turnCount + hopCount > 0 }

    /// Whether what waits behind others may be in memory: never so much that new devices find no room.
    private var mayHoldMore: Bool {
        held.count + turnCount <= 2 * settings.inFlight && heldBytes <= mostBytes / 2
    }

    /// The most bytes that are held: each request in flight may have the largest record.
    var mostBytes: Int { settings.inFlight * LaneRecord.maxSize }

    /// Whether a record that waits may stay in memory: if all that is before it is there.
    func mayHold(_ turn: Int, _ key: HeldKey, _ device: DeviceOrder.Device, _ state: LanePartition) -> Bool {
        guard turn < Self.mostOfDevice, mayHoldMore,
            let line = state.orders[key.kind.index].line(of: device)
        else { return false }
        return (0..<turn).allSatisfy { line[$0].state == .held }
    }

    /// Forgets a held record but for where it was read.
    mutating func putDown(_ key: HeldKey) {
        guard let record = release(key) else { return }
        partitions[key.partition]?.orders[key.kind.index].put(
            key.source, of: record.record.device, as: .log(tier: record.stream.tier, record.offset))
    }

    /// Wants what comes next of a device.
    mutating func lookAhead(_ key: HeldKey, _ device: DeviceOrder.Device, _ state: LanePartition) {
        guard let line = state.orders[key.kind.index].line(of: device) else { return }
        for index in 0..<min(line.count, Self.mostOfDevice) {
            switch line[index].state {
            case .held: continue
            case .tier: return
            case .log(let tier, let offset):
                guard index == 0 || mayHoldMore else { return }
                let stream = tier.map { LaneStream.tier(key.kind, $0) } ?? .dispatch(key.kind)
                if state.turns[topicIndex(stream)].insert(offset) { turnCount += 1 }
            }
        }
    }

    // MARK: A full window

    /// A window is full: what waits in its first quarter goes on to a retry topic, and the window with it. Without that it
    /// would stay where the slowest device is.
    mutating func makeRoom(in stream: LaneStream, _ state: LanePartition, now: WallTime) {
        let topicIndex = topicIndex(stream)
        let first = state.streams[topicIndex].first
        guard state.hops[topicIndex].count == 0,
            state.hopped[topicIndex].from != first || now - state.hopped[topicIndex].at >= 1_000
        else { return }
        state.hopped[topicIndex] = (first, now)
        for offset in state.streams[topicIndex].open(below: first + Int64(state.streams[topicIndex].window / 4)) {
            if state.hops[topicIndex].insert(offset) { hopCount += 1 }
        }
    }

    /// Where something goes that leaves a full window: from the last retry topic back to its end, since what it waits for
    /// may be there.
    func tier(after stream: LaneStream) -> Int { min(stream.tier.map { $0 + 1 } ?? 0, settings.tiers.count - 1) }
}
