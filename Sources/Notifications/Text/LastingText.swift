import Synchronization

/// Names that are referred to without a reference: the bytes of each are there once, and never freed. For settings and names of
/// the code alone, of which there are a few.
package enum LastingText {
    /// `@unchecked Sendable`: the bytes never change.
    private struct Bytes: @unchecked Sendable {
        let bytes: UnsafeRawBufferPointer
    }

    private static let known = Mutex<[String: Bytes]>([:])

    /// The UTF-8 of a text.
    package static func bytes(of text: String) -> UnsafeRawBufferPointer {
        known.withLock { known in
            if let bytes = known[text] { return bytes }
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
            copy.copyBytes(from: text.utf8)
            let bytes = Bytes(bytes: UnsafeRawBufferPointer(copy))
            known[text] = bytes
            return bytes
        }.bytes
    }
}
