import API
import Foundation
import Pipeline
import TestSupport
import Testing

@testable import carillon

@Suite("carillon run --roles")
struct RoleChoiceTests {
    private func configuration(broadcasts: String = "", sends: Bool = false) throws -> PipelineConfiguration {
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        configuration.topics.broadcasts = broadcasts
        if sends {
            configuration.delivery.credentials = [.init(name: "shop", source: .serviceAccount(file: "shop.json"))]
        }
        return configuration
    }

    @Test("without the flag a process is the pipeline")
    func usual() throws {
        #expect(try RoleChoice.pipeline.roles(configuration(broadcasts: "b")) == [.pipeline])
    }

    @Test("all is every role whose settings are there")
    func all() throws {
        let all = try #require(RoleChoice(argument: "all"))
        #expect(try all.roles(configuration()) == [.pipeline])
        #expect(try all.roles(configuration(broadcasts: "b")) == [.pipeline, .broadcasts])
        var whole = try configuration(broadcasts: "b", sends: true)
        #expect(try all.roles(whole) == [.pipeline, .broadcasts, .deliver])
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        whole.api.keys = folder.path + "/keys.json"
        try KeyFile.write(KeyRing([]), to: whole.api.keys)
        whole.api.http = ListenAddress("127.0.0.1:8080")
        (whole.topics.requests, whole.topics.commands) = ("r", "c")
        #expect(try all.roles(whole) == RoleName.allCases)
    }

    @Test("an API with an address and without what else it needs is refused, with everything that it lacks")
    func halfAnAPI() throws {
        var half = try configuration()
        half.api.http = ListenAddress("127.0.0.1:8080")
        let all = try #require(RoleChoice(argument: "all"))
        let failure = #expect(throws: CommandFailure.self) { try all.roles(half) }
        #expect(failure?.code == .configuration)
        #expect(failure?.lines.first?.contains("topic.requests is not set") == true)
        #expect(failure?.lines.first?.contains("carillon api key create") == true)
        half.api.keys = "/nowhere/keys.json"
        let other = #expect(throws: CommandFailure.self) { try RoleChoice.api.roles(half) }
        #expect(other?.lines.first?.contains("api.keys: it cannot be read: /nowhere/keys.json") == true)
    }

    @Test("names may come in any order, each once, and none that is not known")
    func names() throws {
        let some = try #require(RoleChoice(argument: "broadcasts,pipeline"))
        #expect(try some.roles(configuration(broadcasts: "b")) == [.pipeline, .broadcasts])
        for words in ["", "sender", "pipeline,", "pipeline,pipeline", "pipeline,all", "Pipeline"] {
            #expect(RoleChoice(argument: words) == nil, "\(words)")
        }
    }

    @Test("roles without their settings are all named, with what is missing")
    func missing() throws {
        let named = try #require(RoleChoice(argument: "pipeline,broadcasts,deliver"))
        let failure = #expect(throws: CommandFailure.self) { try named.roles(configuration()) }
        #expect(failure?.code == .configuration)
        #expect(failure?.lines.count == 2)
        #expect(failure?.lines.first?.hasPrefix("--roles broadcasts: topic.broadcasts is not set") == true)
        #expect(failure?.lines.last?.hasPrefix("--roles deliver: delivery.credentials is not set") == true)
    }
}
