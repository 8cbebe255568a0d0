import Pipeline
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
        #expect(try all.roles(configuration(broadcasts: "b", sends: true)) == RoleName.allCases)
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
