import Testing
import Time

@testable import API

@Suite("API: keys") struct APIKeyTests {
    private let key = APIKey(.live)
    private let now = WallTime(milliseconds: 1_764_000_000_000)

    private func refusal(_ authorization: String?, _ ring: KeyRing? = nil, _ environment: APIKey.Environment = .live)
        -> KeyRefusal?
    {
        do throws(KeyRefusal) {
            _ = try (ring ?? KeyRing([KeyEntry(key, scopes: [.send])])).entry(authorization, environment, at: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("a key has its form, is read again, and no two are the same")
    func form() throws {
        #expect(key.text.wholeMatch(of: /crl_live_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}/) != nil)
        #expect(APIKey(.test).text.hasPrefix("crl_test_"))
        let read = try APIKey(key.text)
        #expect(read.id == key.id && read.hash == key.hash && read.environment == .live)
        #expect(Set((0..<100).map { _ in APIKey(.live).text }).count == 100)
    }

    @Test("the checksum is zlib's CRC-32 in six digits")
    func checksum() throws {
        // python3: zlib.crc32(b"crl_test_00000000_" + b"0" * 43) is 957498551, and in these digits 12nZ71.
        let front = "crl_test_00000000_" + String(repeating: "0", count: 43)
        #expect(throws: Never.self) { try APIKey(front + "12nZ71") }
    }

    @Test("every key with one character changed, left out, or added is refused without the file")
    func typingErrors() {
        let text = Array(key.text)
        for index in text.indices {
            var changed = text
            changed[index] = text[index] == "a" ? "b" : "a"
            let shorter = text[..<index] + text[(index + 1)...]
            let longer = text[..<index] + ["a"] + text[index...]
            for wrong in [changed, Array(shorter), Array(longer)] {
                let refusal = refusal("Bearer " + String(wrong))
                #expect(refusal == .wrongChecksum || refusal == .noKey, "\(String(wrong))")
            }
        }
    }

    @Test("a credential is a key behind Bearer, and nothing else")
    func credentials() {
        #expect(refusal("Bearer \(key.text)") == nil)
        #expect(refusal("bearer \(key.text)") == nil)
        #expect(refusal(nil) == .noCredential)
        for text in ["", "Bearer", key.text, "Basic \(key.text)", "Bearer\t\(key.text)", "Device x:y"] {
            #expect(refusal(text) == .noCredential, "\(text)")
        }
        for text in [
            "Bearer ", "Bearer  \(key.text)", "Bearer \(key.text) ", "Bearer x", "Bearer crl_live__",
            "Bearer \(key.text)\u{301}",
            "Bearer crl_prod_\(key.text.dropFirst(9))", "Bearer CRL_live_\(key.text.dropFirst(9))",
        ] {
            #expect(refusal(text) == .noKey, "\(text)")
        }
    }

    @Test(
        "a key of another environment, of nobody, with another's id, or expired is refused, and the client hears no more"
    )
    func refused() throws {
        let other = APIKey(.live)
        let ring = KeyRing([KeyEntry(key, scopes: [.send])])
        #expect(refusal("Bearer \(APIKey(.test).text)", ring) == .otherEnvironment)
        #expect(refusal("Bearer \(key.text)", ring, .test) == .otherEnvironment)
        #expect(refusal("Bearer \(other.text)", ring) == .unknownID)
        var stolen = KeyEntry(other, scopes: [.send])
        stolen.hash = key.hash
        #expect(refusal("Bearer \(other.text)", KeyRing([stolen])) == .wrongSecret)
        var expired = KeyEntry(key, scopes: [.send])
        for (milliseconds, expected) in [(1, nil), (0, KeyRefusal.expired), (-1, .expired)] as [(Int64, KeyRefusal?)] {
            expired.expires = now + milliseconds
            #expect(refusal("Bearer \(key.text)", KeyRing([expired])) == expected)
        }
        let codes = [KeyRefusal.otherEnvironment, .unknownID, .wrongSecret, .wrongChecksum, .noKey].map(\.code)
        #expect(Set(codes) == [.unknownKey])
    }

    @Test("a key reaches what its file says: everything, one, or what begins alike")
    func reach() {
        var entry = KeyEntry(key, scopes: [.send])
        #expect(entry.permits(audience: "place/42") && entry.permits(app: "com.example.shop"))
        (entry.audiences, entry.apps) = (["place/4*", "user/17", "user/\u{C5}"], ["com.example.shop"])
        for (audience, isPermitted) in [
            ("place/42", true), ("place/4", true), ("place/5", false), ("user/17", true), ("user/170", false),
            ("", false), ("user/\u{C5}", true), ("user/\u{212B}", false), ("place/4\u{301}", true),
        ] {
            #expect(entry.permits(audience: audience) == isPermitted, "\(audience)")
        }
        #expect(entry.permits(app: "com.example.shop") && !entry.permits(app: "com.example.shop.staff"))
    }
}
