import JSONReader
import Testing

@testable import Notifications

@Suite("Names of members")
struct NameTableTests {
    /// Whether a table finds exactly its own names, and no text that differs from one of them in a single byte.
    private func isExact<Name: MemberName>(_ type: Name.Type, isInEnvelope: Bool = false) throws -> Bool {
        var names = Name.allCases.map(\.rawValue)
        for member in EnvelopeMember.allCases where isInEnvelope {
            if !names.contains(member.rawValue) { names.append(member.rawValue) }
            if names.firstIndex(of: member.rawValue) != Name.table.index(of: member) { return false }
        }
        var known = Set<String>()
        // The empty name is like a free slot of the table.
        var document: [String] = [""]
        for name in names {
            known.insert(name)
            let bytes = Array(name.utf8)
            document += [name, name + "x", String(name.dropLast()), name + "\\u0000"]
            for index in bytes.indices {
                var other = bytes
                other[index] = UInt8(ascii: "~")
                document.append(String(decoding: other, as: UTF8.self))
            }
        }
        let json = Array(("{" + document.map { "\"\($0)\":0" }.joined(separator: ",") + "}").utf8)
        var reader = JSONReader()
        return try json.withUnsafeBytes { bytes in
            var cursor = try reader.parse(bytes).members
            while let (name, _) = cursor.next() {
                let text = String(decoding: name.bytes, as: UTF8.self)
                let expected = known.contains(text) ? names.firstIndex(of: text) : nil
                if Name.table.index(of: name) != expected { return false }
            }
            return true
        }
    }

    @Test("every name is found, and no similar text is")
    func names() throws {
        #expect(try isExact(EventMember.self, isInEnvelope: true))
        #expect(try isExact(OrderMember.self))
        #expect(try isExact(ShippingMember.self))
        #expect(try isExact(SlotMember.self))
        #expect(try isExact(SalesforceMember.self))
        #expect(try isExact(RequestMember.self, isInEnvelope: true))
        #expect(try isExact(AppMember.self))
        #expect(try isExact(MessageMember.self))
        #expect(try isExact(BroadcastMember.self, isInEnvelope: true))
        #expect(try isExact(BroadcastTextMember.self))
    }
}
