/// Copies of bytes, at addresses that stay valid as long as it lives. One owner.
package final class ByteCopies {
    private var runs: [UnsafeMutableRawBufferPointer] = []

    package init() {}

    deinit { removeAll() }

    package func removeAll() {
        for run in runs { run.deallocate() }
        runs.removeAll(keepingCapacity: true)
    }

    package func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let run = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 8)
        run.copyMemory(from: bytes)
        runs.append(run)
        return UnsafeRawBufferPointer(rebasing: run[..<bytes.count])
    }

    package func copy(_ bytes: some Collection<UInt8>) -> UnsafeRawBufferPointer {
        Array(bytes).withUnsafeBytes { copy($0) }
    }
}
