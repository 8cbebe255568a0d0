/// Bounds what is read for one question, over all topics. One owner.
package final class ReadLimit {
    private var records: Int
    private var bytes: Int

    package init(records: Int, bytes: Int) {
        (self.records, self.bytes) = (records, bytes)
    }

    func spend(records: Int, bytes: Int) throws(TooMuchToRead) {
        self.records -= records
        self.bytes -= bytes
        guard self.records >= 0, self.bytes >= 0 else { throw TooMuchToRead() }
    }
}

/// The answer is behind more than may be read for it.
package struct TooMuchToRead: Error {
    package init() {}
}
