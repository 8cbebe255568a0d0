import JSONReader
import Testing

@testable import Registrar

@Suite("Verdicts as records")
struct VerdictTests {
    static let all: [Verdict] = [
        .created(revision: 7), .changed(revision: 7), .unchanged(revision: 3), .gone, .erased(devices: 2), .malformed,
        .refused(.notFound), .refused(.notThisDevice), .refused(.personErased),
        .refused(.preconditionFailed(revision: 3)), .refused(.preconditionFailed(revision: nil)),
        .refused(.staleGeneration(current: 9)), .refused(.tooManyAudiences(most: 200)), .refused(.notByCredential),
        .refused(.invalid(["a", "b"])),
    ]

    @Test("each is read again as it was written, with its command", arguments: all)
    func again(verdict: Verdict) throws {
        var reader = JSONReader()
        let found = try #require(Verdict.read(verdict.json(of: 4711), &reader))
        #expect(found.command == 4711 && found.verdict == verdict)
    }

    @Test("what is not of this version's form is none")
    func none() {
        var reader = JSONReader()
        for text in [
            "{", "{}", #"{"version":2,"command":1,"verdict":"gone"}"#, #"{"version":1,"verdict":"gone"}"#,
            #"{"version":1,"command":1,"verdict":"done"}"#, #"{"version":1,"command":1,"verdict":"created"}"#,
            #"{"version":1,"command":1,"verdict":"refused","reason":"mood"}"#,
        ] {
            #expect(Verdict.read(Array(text.utf8), &reader) == nil, "\(text)")
        }
    }
}
