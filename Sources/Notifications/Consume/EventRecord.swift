/// A record's header. Its bytes belong to the code that filled the batch, and are valid until the batch is emptied.
public struct EventHeader {
    @usableFromInline package var name: UnsafeRawBufferPointer
    @usableFromInline package var value: UnsafeRawBufferPointer?

    @inlinable
    package init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
        self.name = name
        self.value = value
    }
}

/// A record of ``EventBatch/topic``. Key and value belong to the code that filled the batch, and are valid until the
/// batch is emptied.
///
/// It has no reference-counted member, so copying it copies only bytes: with a `String`, retains and releases took 2%
/// of a run.
public struct EventRecord {
    @usableFromInline package var partition: Int32
    @usableFromInline package var offset: Int64
    /// The record's own timestamp; nil if the broker has none.
    @usableFromInline package var timestamp: WallTime?
    @usableFromInline package var key: UnsafeRawBufferPointer?
    @usableFromInline package var value: UnsafeRawBufferPointer?
    /// The range of its headers in ``EventBatch/headers``.
    @usableFromInline package var headers: Range<Int>
    /// The header that goes on into its pushes, once it was extracted.
    @usableFromInline package var traceparent: UnsafeRawBufferPointer?

    @inlinable
    package init(
        partition: Int32, offset: Int64, timestamp: WallTime?,
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: Range<Int> = 0..<0
    ) {
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// Its timestamp, from 1970 to 9999; 1970 if it has none.
    package var clampedTime: WallTime { min(max(timestamp ?? .epoch, .epoch), .latest) }
}
