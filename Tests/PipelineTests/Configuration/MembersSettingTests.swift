import Foundation
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The setting events.members (docs/rules.md §5.6)")
struct MembersSettingTests {
    private func load(file text: String) throws -> LoadedConfiguration {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/members.json"))
        return LoadedConfiguration.of(["events.members": "@\(folder.path)/members.json"])
    }

    @Test("the file reaches the rules; the hash of the rules and the fold's stamp have it where it names something")
    func hash() throws {
        let usual = try LoadedConfiguration.of([:]).checked()
        let one = try load(file: #"{"order.id":["orderId","order_no"]}"#).checked()
        #expect(one.rules.members.description == ["member=order.id:orderId", "member=order.id:order_no"])
        #expect(usual.rules.members.description == [])
        let other = try load(file: #"{"order.id":["order_no","orderId"]}"#).checked()
        let none = try load(file: "{}").checked()
        #expect(none.rulesHash == usual.rulesHash && Set([usual, one, other].map(\.rulesHash)).count == 3)
        func stamp(_ configuration: PipelineConfiguration) -> String {
            OrderFold.stamp(configuration.rules, configuration.orders)
        }
        #expect(stamp(none) == stamp(usual) && Set([usual, one, other].map(stamp)).count == 3)
    }

    @Test("a problem names the file, everything that is wrong with it and what is allowed")
    func problems() throws {
        let wrong = try #require(try load(file: #"{"order.id":["id"],"number":["a"]}"#).problems.first)
        #expect(wrong.subject.contains("events.members"))
        #expect(wrong.message.contains("members.json' is not allowed; it must be @FILE with JSON such as {"))
        #expect(
            wrong.message.contains(
                "; it.order.id has 'id', which is a known name: it is read without a mapping; it has the key 'number'; "
                    + "allowed are order, "))
    }
}
