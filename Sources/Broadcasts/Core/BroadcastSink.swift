import Notifications

/// Where the core writes to: a transaction of Kafka, or a test's array. What it takes is valid during the call only.
package protocol BroadcastSink: ~Copyable {
    /// One device's push.
    mutating func dispatch(_ record: DispatchRecord) throws

    /// A broadcast that cannot be sent: the original key, value and headers, of which there are `own`, and the reason's headers
    /// after them.
    mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) throws
}
