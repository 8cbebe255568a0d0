import Foundation
import Notifications
import TestSupport
import Testing

@testable import Pipeline

@Suite("The setting app-types (docs/rules.md §9.1)")
struct AppTypesSettingTests {
    private func load(_ value: String) -> LoadedConfiguration {
        LoadedConfiguration.of(["app-types": value])
    }

    private func load(file text: String) throws -> LoadedConfiguration {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/types.json"))
        return load("@\(folder.path)/types.json")
    }

    @Test("the file's types are known, and part of the hash of the rules")
    func types() throws {
        let text = #"{"LoyaltyPoints":{"fixed":{"view":"points"},"expected":["points"]}}"#
        let configuration = try load(file: text).checked()
        #expect(configuration.requests.appTypes == (try AppTypes(json: Array(text.utf8))))
        #expect(configuration.requests.appTypes.added.map(\.name) == ["LoyaltyPoints"])
        let none = try load("").checked()
        #expect(none.requests.appTypes == AppTypes())
        #expect(configuration.rulesHash != none.rulesHash)
        #expect(try load(file: "{}").checked().rulesHash == none.rulesHash)
        let other = try load(file: #"{"LoyaltyPoints":{"fixed":{"view":"other"},"expected":["points"]}}"#).checked()
        #expect(other.rulesHash != configuration.rulesHash)
    }

    @Test("a problem names the file, everything that is wrong with it and what is allowed")
    func problems() throws {
        let wrong = try #require(try load(file: #"{"NewBill":{},"A":{"fixed":{"aps":"x"}}}"#).problems.first)
        #expect(wrong.message.contains("types.json' is not allowed; it must be @FILE with JSON such as {"))
        #expect(
            wrong.message.hasSuffix(
                "; NewBill is a type already; fixed of A has the key 'aps', which is reserved for APNs"))
        #expect(try load(file: "[").problems.first?.message.hasSuffix("; it is no JSON") == true)
    }
}
