import Testing

@testable import Pipeline

@Suite("A dead letter that its topic refuses is cut")
struct TruncatedDeadLetterTests {
    /// The names and the sizes of what is written.
    private func cut(
        key: Int?, value: Int?, own: [Int]
    ) -> (key: Int?, value: Int?, headers: [String]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 20, alignment: 1)
        defer { memory.deallocate() }
        _ = memory.initializeMemory(as: UInt8.self, repeating: 97)
        func bytes(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
        let name = UnsafeRawBufferPointer("own" as StaticString)
        let reason = EventHeader(name: UnsafeRawBufferPointer("x-error-code" as StaticString), value: bytes(3))
        let headers = own.map { EventHeader(name: name, value: bytes($0)) } + [reason]
        return headers.withUnsafeBufferPointer { headers in
            let letter = TruncatedDeadLetter(
                key: key.map(bytes), value: value.map(bytes), headers: headers, own: own.count)
            var written: [String] = []
            letter.withHeaders { headers in
                written = headers.map { header in
                    let text = header.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
                    let name = String(decoding: header.name, as: UTF8.self)
                    return name.hasPrefix("x-truncated") ? "\(name)=\(text)" : "\(name) \(text.utf8.count)"
                }
            }
            return (letter.key?.count, letter.value?.count, written)
        }
    }

    @Test("what fits stays as it is, and nothing is said to be cut")
    func small() {
        let letter = cut(key: 4_096, value: 65_536, own: [30_000, 30_000])
        #expect(letter.key == 4_096 && letter.value == 65_536)
        #expect(letter.headers == ["own 30000", "own 30000", "x-error-code 3"])
        let empty = cut(key: nil, value: nil, own: [])
        #expect(empty.key == nil && empty.value == nil && empty.headers == ["x-error-code 3"])
    }

    @Test("a value, a header and a key of megabytes are cut, each with its size, and the reason stays")
    func large() {
        let letter = cut(key: 20 << 20, value: 1 << 20, own: [10, 20 << 20, 20])
        #expect(letter.key == 4_096 && letter.value == 65_536)
        #expect(
            letter.headers == [
                "own 10", "own 20", "x-error-code 3", "x-truncated=1048576", "x-truncated-headers=1",
                "x-truncated-key=20971520",
            ])
    }

    @Test("of 200,000 headers as many stay as fit into 64 KiB")
    func many() {
        let letter = cut(key: nil, value: nil, own: Array(repeating: 0, count: 200_000))
        let kept = 65_536 / 11
        #expect(letter.headers.count == kept + 2 && letter.headers.last == "x-truncated-headers=\(200_000 - kept)")
    }
}
