import Foundation
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The setting events.types (docs/rules.md §5.7)")
struct TypesSettingTests {
    private func load(_ settings: [String: String], types: String) throws -> LoadedConfiguration {
        let file = FileManager.default.temporaryDirectory.appending(path: "types-\(UUID()).json")
        try Data(types.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return LoadedConfiguration.of(settings.merging(["events.types": "@\(file.path)"]) { $1 })
    }

    @Test("it reaches the rules, and the templates of audiences; without it there are document 1's types alone")
    func fields() throws {
        let loaded = try load(
            ["audiences": "user/{customer_id}"], types: #"{"late":{},"early":{"audiences":["channel/{tier}"]}}"#)
        let rules = try loaded.checked().rules
        let without = LoadedConfiguration.of(["audiences": "user/{customer_id}"])
        #expect(try loaded.checked().rulesHash != without.checked().rulesHash)
        #expect(rules.types.declared.map(\.name) == ["early", "late"])
        let own = rules.types.declared.map(\.type)
        #expect(rules.audiences.texts(of: .own(own[0])) == ["channel/{tier}"])
        #expect(rules.audiences.texts(of: .own(own[1])) == ["user/{customer_id}"])
        #expect(try LoadedConfiguration.of(["events.types": ""]).checked().rules.types.declared.isEmpty)
    }

    @Test("all problems of the file come at once, and with those of other settings")
    func problems() throws {
        let problems = try load(
            ["workers": "0"], types: #"{"order_created":{},"late":{"state":"?","members":["order_id"]}}"#
        ).problems
        #expect(problems.count == 2)
        let message = problems.first { $0.subject.contains("events.types") }?.message ?? ""
        #expect(message.contains("is not allowed; it must be @FILE with JSON such as"))
        for part in [
            "; order_created has the name 'order_created', which is that of event_order_created",
            "; late has the state '?'; allowed are unchanged and kept",
            "; late has the member 'order_id', whose name order_id is one of every payload",
        ] {
            #expect(message.contains(part), "\(part)")
        }
    }

    @Test("its templates count towards the sixteen")
    func templates() throws {
        let many = (0..<15).map { "user/{m\($0)}" }.joined(separator: ",")
        // The place's is that of timers.
        #expect(try load(["audiences": many], types: #"{"late":{"audiences":["user/{m1}"]}}"#).problems.isEmpty)
        let more = try load(["audiences": many], types: #"{"late":{"audiences":["user/{x}"]}}"#).problems
        #expect(more.map(\.message) == ["there are 17 different templates; at most 16 are allowed"])
    }
}
