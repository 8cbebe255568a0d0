/// Where ``RenderRun`` writes to.
package protocol RenderSink: RecordSink, ~Copyable {
    /// What comes next is of this line's record.
    ///
    /// - Parameter number: of the line, from 1.
    mutating func begin(_ line: borrowing RecordLine, number: Int64)

    /// What comes next is of timers.
    mutating func beginTimers()

    /// A broadcast's record for one device.
    mutating func dispatch(_ record: DispatchRecord, from event: EventRecord) throws

    /// A record that cancels a broadcast.
    mutating func cancel(_ event: EventRecord)

    /// Nothing more comes for a while.
    mutating func flush() throws
}
