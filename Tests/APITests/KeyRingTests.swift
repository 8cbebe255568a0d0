import JSONReader
import Testing
import Time

@testable import API

@Suite("API: the file of keys") struct KeyRingTests {
    private let hash = String(repeating: "a", count: 64)

    private func problems(_ json: String) -> [String] {
        do throws(InvalidForm) {
            _ = try KeyRing(json: Array(json.utf8))
            return []
        } catch {
            return error.problems
        }
    }

    @Test("what is written is read again, and no file has a secret")
    func roundTrip() throws {
        let key = APIKey(.live)
        var entry = KeyEntry(key, scopes: [.send, .writeEvents])
        (entry.apps, entry.audiences) = (["com.example.shop"], ["place/*", "user/17"])
        (entry.note, entry.rate) = ("the \"shop\"\u{7}ä", 50)
        entry.created = WallTime(milliseconds: 1_764_000_000_123)
        entry.expires = WallTime(milliseconds: 1_774_000_000_000)
        let ring = KeyRing([entry, KeyEntry(APIKey(.test), scopes: [.operate])])
        #expect(try KeyRing(json: Array(ring.json.utf8)).entries == ring.entries)
        #expect(!ring.json.contains(key.text.suffix(49)))
        #expect(try KeyRing(json: Array("[]".utf8)).entries == [])
    }

    @Test("all problems of a file are told at once, each with its key")
    func allProblems() {
        let file = """
            [{"id":"short","sha256":"\(hash)","scopes":["send"]},
             {"id":"abcdefgh","sha256":"\(hash.uppercased())","scopes":["send","everything"],"rate":0,"apps":"shop"},
             {"id":"abcdefg2","sha256":"\(hash)","expires":"tomorrow","created":1764000000,"audiences":["team/7","place/*x"]},
             {"id":"abcdefg3","sha256":"\(hash)","scopes":[],"secret":"x","note":7},
             {"id":"abcdefg4","sha256":"\(hash)","scopes":["send"]},{"id":"abcdefg4","sha256":"\(hash)","scopes":["send"]},
             7]
            """
        #expect(
            problems(file) == [
                "key 1 has an id that is not one; allowed are 8 letters and digits",
                "key 'abcdefgh' has a sha256 that is not one; allowed are 64 digits of hex in lower case",
                "key 'abcdefgh' has the scope 'everything'; allowed are send and broadcast and events:write and trace:read and operate and devices:read and devices:write and people:read and people:write and people:erase",
                "key 'abcdefgh' has a rate that is not one; allowed are 1 to 1000000 requests a second",
                "key 'abcdefgh' has apps, which must be a list of texts that are not empty",
                "key 'abcdefg2' needs scopes, a list of texts",
                "key 'abcdefg2' has the audience 'team/7'; allowed are those such as place/42 and place/*",
                "key 'abcdefg2' has the audience 'place/*x'; allowed are those such as place/42 and place/*",
                "key 'abcdefg2' has a time in created that is not one; allowed are those such as 2026-11-21T10:00:00Z",
                "key 'abcdefg2' has a time in expires that is not one; allowed are those such as 2026-11-21T10:00:00Z",
                "key 'abcdefg3' has the member 'secret'; allowed are id, sha256, scopes, apps, audiences, note, created, expires, rate",
                "key 'abcdefg3' has scopes, which must be a list of texts that are not empty",
                "key 'abcdefg3' needs note, a text", "it has the key 'abcdefg4' twice", "key 7 is no object",
            ])
    }

    @Test("what is no list of keys is one problem", arguments: ["", "{}", "null", "[", "[]]"])
    func noList(json: String) {
        #expect(problems(json).count == 1)
    }

    @Test("a file has at most 10,000 keys")
    func tooMany() {
        func file(_ count: Int) -> String {
            let keys = (0..<count).map { number in
                let id = String(repeating: "0", count: 8 - "\(number)".count) + "\(number)"
                return #"{"id":"\#(id)","sha256":"\#(hash)","scopes":["send"]}"#
            }
            return "[" + keys.joined(separator: ",") + "]"
        }
        #expect(problems(file(10_000)) == [])
        #expect(problems(file(10_001)) == ["it has too many keys; allowed are 10000"])
    }
}
