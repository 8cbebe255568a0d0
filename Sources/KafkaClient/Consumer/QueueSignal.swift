import Glibc
import Synchronization

/// A pipe that wakes the owner of a consumer when one of its data queues, or something else, has news for it.
///
/// librdkafka can write to a pipe when a queue that was empty gets a record; Swift's Glibc does not show eventfd.
package final class QueueSignal: Sendable {
    private let readEnd: Int32
    /// librdkafka writes to it.
    let writeEnd: Int32
    /// Since it was last lowered.
    private let isRaised = Atomic<Bool>(false)

    package init() throws(KafkaError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .configuration("the system has no file descriptor left for a queue") }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Wakes the owner. Any thread; never blocks, since a full pipe wakes it as well.
    package func raise() {
        isRaised.store(true, ordering: .sequentiallyConsistent)
        var byte = UInt8(ascii: "1")
        _ = write(writeEnd, &byte, 1)
    }

    /// What it was raised for is looked at next: from here on another raise is news.
    package func lower() { isRaised.store(false, ordering: .sequentiallyConsistent) }

    /// Waits for a signal, for at most `timeout`, unless it is raised or there is something already.
    func wait(timeout: Duration, unless isReady: () -> Bool) {
        // Older signals say nothing: what they were about may have been read. A queue that fills from here on signals.
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { bytes in
            while read(readEnd, bytes.baseAddress, bytes.count) > 0 {}
        }
        if isRaised.load(ordering: .sequentiallyConsistent) || isReady() { return }
        var descriptor = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, timeout.milliseconds)
    }
}
