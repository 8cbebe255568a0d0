/// A record in a ``RecordBatch``. Its bytes are valid until the batch is emptied.
package struct RecordView {
    package var topic: String
    package var partition: Int32
    package var offset: Int64
    package var timestamp: WallTime?
    package var key: UnsafeRawBufferPointer?
    /// nil is a tombstone; an empty value is not.
    package var value: UnsafeRawBufferPointer?
    /// Where its headers are in ``RecordBatch/headers``.
    package var headers: Range<Int>

    @inlinable
    package init(
        topic: String, partition: Int32, offset: Int64, timestamp: WallTime?, key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?, headers: Range<Int>
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
    }
}

/// A record's header. The name is without its terminating NUL.
package struct HeaderView {
    package var name: UnsafeRawBufferPointer
    package var value: UnsafeRawBufferPointer?

    @inlinable
    package init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
        self.name = name
        self.value = value
    }
}
