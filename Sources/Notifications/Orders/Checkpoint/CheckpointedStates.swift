/// What a ``FoldCheckpoint`` stores: a state for each partition, in entries that change one by one.
package protocol CheckpointedStates: ~Copyable {
    associatedtype Key: CheckpointKey

    /// Calls `body` for each entry of a partition that changed since the last call: its key, and its value, or nil if it
    /// was removed.
    ///
    /// Call it only while no transaction is open.
    /// - Parameter limit: the most entries per call; the next call takes the rest.
    /// - Returns: the number of entries.
    mutating func takeChanges<Failure: Error>(
        of partition: Int32, limit: Int, _ body: (Key, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int

    /// Loads an entry of a partition. They come in the order of their keys.
    ///
    /// - Returns: false if the bytes are no entry.
    mutating func load(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, into partition: Int32
    ) -> Bool
}

/// The key of an entry within its partition. Keys are stored in the order of their bytes.
package protocol CheckpointKey {
    static var size: Int { get }
    /// Writes ``size`` bytes.
    func write(to target: UnsafeMutableRawPointer)
}
