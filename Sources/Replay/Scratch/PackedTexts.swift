/// Texts in one blob: each after its length as four bytes; a length of -1 means null.
enum PackedTexts {
    static func pack(_ texts: [[UInt8]?]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(texts.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
        for text in texts {
            withUnsafeBytes(of: Int32(text?.count ?? -1)) { bytes.append(contentsOf: $0) }
            bytes += text ?? []
        }
        return bytes
    }

    static func pack(_ texts: [String]) -> [UInt8] { pack(texts.map { Array($0.utf8) }) }

    static func unpack(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]?] {
        var texts: [[UInt8]?] = []
        var start = 0
        while start < bytes.count {
            let count = Int(bytes.loadUnaligned(fromByteOffset: start, as: Int32.self))
            start += 4
            texts.append(count < 0 ? nil : Array(bytes[start..<start + count]))
            start += max(0, count)
        }
        return texts
    }

    static func strings(_ bytes: UnsafeRawBufferPointer) -> [String] {
        unpack(bytes).map { String(decoding: $0 ?? [], as: UTF8.self) }
    }
}
