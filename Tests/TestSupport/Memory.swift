/// Bytes that stay where they are as long as this lives.
package final class Memory {
    private var runs: [UnsafeMutableRawBufferPointer] = []

    package init() {}

    deinit {
        for run in runs { run.deallocate() }
    }

    package func copy(_ text: String) -> UnsafeRawBufferPointer {
        let run = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.utf8.count), alignment: 1)
        run.copyBytes(from: text.utf8)
        runs.append(run)
        return UnsafeRawBufferPointer(rebasing: run[..<text.utf8.count])
    }
}
