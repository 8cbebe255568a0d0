import JSONReader
import Testing

@testable import API

@Suite("API: the body as JSON") struct JSONBodyTests {
    private func faults(_ body: String) throws(Problem) -> [Problem.Fault] {
        var reader = JSONReader()
        var faults: [Problem.Fault] = []
        try JSONBody.read(Array(body.utf8), &reader, &faults) { _ throws(Problem) in }
        return faults
    }

    @Test("a hundred faults below a long name make a small answer, and each pointer is that of what has the part")
    func longNames() throws {
        let name = String(repeating: "é", count: 30_000)
        let pairs = (0..<200).map { #""m\#($0)":1,"m\#($0)":2"# }.joined(separator: ",")
        let found = try faults(#"{"first":1,"first":2,"list":[{"\#(name)":{\#(pairs)}}],"\#(name)":1,"\#(name)":2}"#)
        #expect(found.count == Problem.mostFaults)
        #expect(Set(found.map(\.pointer)) == ["/first", "", "/list/0"])
        let answer = try #require(Problem(found)).response(requestID: "req_1")
        #expect(answer.body.utf8.count < 20_000)
    }

    @Test("a pointer is whole up to 1,024 bytes")
    func longestPointer() throws {
        let name = String(repeating: "n", count: 1_021)
        #expect(try faults(#"{"\#(name)":{"a":1,"a":2}}"#).map(\.pointer) == ["/\(name)/a"])
        #expect(try faults(#"{"\#(name)x":{"a":1,"a":2}}"#).map(\.pointer) == ["/\(name)x"])
        #expect(try faults(#"{"\#(name)xyz":{"a":1,"a":2}}"#).map(\.pointer) == [""])
    }
}
