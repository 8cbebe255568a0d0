import Notifications

@testable import Broadcasts

/// What a transaction writes; it fails where the process is to die.
struct SimulatedSink: BroadcastSink {
    let faults: SimulatedWorker.Faults
    var isLate = false
    var passes = RecordedPushes()
    var late = RecordedPushes()

    mutating func dispatch(_ record: DispatchRecord) throws {
        try faults.step()
        if isLate { try late.dispatch(record) } else { try passes.dispatch(record) }
    }

    mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) throws {
        try faults.step()
        try passes.deadLetter(key: key, value: value, headers: headers, own: own)
    }
}
