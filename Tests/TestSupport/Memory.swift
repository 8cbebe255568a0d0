/// Bytes that stay where they are as long as this lives.
package final class Memory {
    private var runs: [UnsafeMutableRawBufferPointer] = []

    package init() {}

    deinit {
        for run in runs { run.deallocate() }
    }

    package func copy(_ text: String) -> UnsafeRawBufferPointer { copy(Array(text.utf8)) }

    package func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let run = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        run.copyBytes(from: bytes)
        runs.append(run)
        return UnsafeRawBufferPointer(rebasing: run[..<bytes.count])
    }
}
