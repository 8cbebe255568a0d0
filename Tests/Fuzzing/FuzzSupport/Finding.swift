import Glibc

/// If an invariant is violated, ends the process with a crash, which libFuzzer reports as a finding.
package func expect(_ isTrue: Bool, _ sentence: @autoclosure () -> String) {
    if !isTrue { fail("does not hold: \(sentence())") }
}

package func fail(_ sentence: String) -> Never {
    let line = Array("\(sentence)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    abort()
}

/// What must not throw, whatever the input.
package func must<Value: ~Copyable>(_ body: () throws -> Value) -> Value {
    do {
        return try body()
    } catch {
        fail("threw: \(error)")
    }
}

/// The fuzzer's input in an allocation of exactly its size, so that an out-of-bounds read is detected.
package func input(_ data: UnsafePointer<UInt8>?, _ size: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: data, count: size)
}

extension UnsafeRawBufferPointer {
    package func isSame(as other: UnsafeRawBufferPointer?) -> Bool {
        other.map { count == $0.count && elementsEqual($0) } ?? false
    }

    /// The parts before and after the first `separator`; the first part is empty if there is none.
    package func split(at separator: [UInt8]) -> (before: UnsafeRawBufferPointer?, behind: UnsafeRawBufferPointer) {
        guard count >= separator.count else { return (nil, self) }
        for index in 0...(count - separator.count) where self[index...].starts(with: separator) {
            return (
                UnsafeRawBufferPointer(rebasing: self[..<index]),
                UnsafeRawBufferPointer(rebasing: self[(index + separator.count)...])
            )
        }
        return (nil, self)
    }
}
