/// Writes JSON as it appears inside a string of other JSON: escaped once more.
///
/// Writes to memory that the caller has made large enough, so that no step checks for room; see ``largestCount(of:)``.
struct EmbeddedJSON {
    private(set) var end: UnsafeMutablePointer<UInt8>
    /// The number of backslashes in the values that only the embedding adds.
    private(set) var escapes = 0

    /// The size that values of `count` bytes can grow to: a control character becomes `\\u001f`, and words are stored
    /// whole.
    static func largestCount(of count: Int) -> Int { 7 * count + 8 }

    init(at start: UnsafeMutablePointer<UInt8>) {
        end = start
    }

    /// Appends text that is already escaped for embedding.
    @inline(__always)
    mutating func append(_ embedded: StaticString) {
        UnsafeMutableRawPointer(end).copyMemory(from: embedded.utf8Start, byteCount: embedded.utf8CodeUnitCount)
        end += embedded.utf8CodeUnitCount
    }

    /// Appends the contents of the string that `JSON.stringify` would write for these UTF-8 bytes (docs/rules.md §5.1),
    /// embedded.
    ///
    /// Copies and checks at the same time, eight bytes per step, and tests the result once: most values need no escape.
    @inline(__always)
    mutating func append(_ value: UnsafeRawBufferPointer) {
        guard let start = value.baseAddress else { return }
        guard Self.copy(start, value.count, to: end) else {
            appendEscaped(value)
            return
        }
        end += value.count
    }

    /// Returns false if a byte needs an escape; what was written is then not valid.
    private static func copy(_ start: UnsafeRawPointer, _ count: Int, to end: UnsafeMutablePointer<UInt8>) -> Bool {
        let target = UnsafeMutableRawPointer(end)
        var marks: UInt64 = 0
        if count >= 8 {
            // The last eight bytes are copied first, so that the loop needs no remainder: some are copied twice.
            let last = start.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            target.storeBytes(of: last, toByteOffset: count - 8, as: UInt64.self)
            marks = JSONEscape.marks(last)
            var index = 0
            while index < count - 8 {
                let word = start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
                marks |= JSONEscape.marks(word)
                index += 8
            }
        } else if count >= 4 {
            let word = UInt64(start.loadUnaligned(as: UInt32.self))
            let last = UInt64(start.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
            target.storeBytes(of: UInt32(truncatingIfNeeded: word), as: UInt32.self)
            target.storeBytes(of: UInt32(truncatingIfNeeded: last), toByteOffset: count - 4, as: UInt32.self)
            marks = JSONEscape.marks(word | last << 32)
        } else {
            for index in 0..<count {
                let byte = start.load(fromByteOffset: index, as: UInt8.self)
                end[index] = byte
                marks |= JSONEscape.isNeeded(byte) ? 1 : 0
            }
        }
        return marks == 0
    }

    @inline(never)
    private mutating func appendEscaped(_ value: UnsafeRawBufferPointer) {
        for byte in value {
            guard JSONEscape.isNeeded(byte) else {
                put(byte)
                continue
            }
            // The value's own backslash, and the one that escapes it in the surrounding string.
            put(UInt8(ascii: "\\"))
            put(UInt8(ascii: "\\"))
            escapes += 1
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                put(UInt8(ascii: "\\"))
                put(byte)
                escapes += 1
            } else {
                end += JSONEscape.writeControl(byte, to: end)
            }
        }
    }

    private mutating func put(_ byte: UInt8) {
        end.pointee = byte
        end += 1
    }
}

extension String {
    /// Text that was embedded by ``EmbeddedJSON``, without the backslashes of the surrounding string.
    ///
    /// They precede only quotes and backslashes.
    package init(unembedding embedded: UnsafeRawBufferPointer) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(embedded.count)
        var isEscaped = false
        for byte in embedded {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            bytes.append(byte)
        }
        self.init(decoding: bytes, as: UTF8.self)
    }
}
