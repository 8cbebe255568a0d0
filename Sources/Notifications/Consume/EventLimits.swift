/// The largest supported events and messages.
package enum EventLimits {
    /// The largest value that is read, in bytes.
    @inlinable package static var maxValueSize: Int { 1 << 20 }
    /// What FCM and APNs accept, in bytes (docs/rules.md §1.3, §2.3).
    @inlinable package static var maxPayloadSize: Int { 4096 }
    /// The largest value of a field that an event type of the settings adds to the payload, in bytes.
    @inlinable package static var maxAddedFieldSize: Int { 1024 }
    /// The most notifications of one event: otherwise a list of 1 MiB could become a gigabyte of payloads.
    @inlinable package static var maxNotifications: Int { 10_000 }
}
