import Testing

@testable import Extraction
@testable import Pipeline

@Suite struct ConfigurationLimitsTests {
    private func problems(_ change: (inout PipelineConfiguration) -> Void) throws -> [String] {
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "x:1"], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        change(&configuration)
        return configuration.limitProblems().map(\.description)
    }

    @Test("the defaults fit together")
    func defaults() throws {
        #expect(try problems { _ in } == [])
    }

    @Test("limits that do not fit together are named with both values")
    func relations() throws {
        #expect(
            try problems { $0.commitInterval = .seconds(6) }
                == ["commit.interval: 6s must be at most a quarter of transaction.timeout (20s)"])
        #expect(
            try problems { $0.commitIntervalBehind = .seconds(6) }
                == ["commit.interval.behind: 6s must be at most a quarter of transaction.timeout (20s)"])
        #expect(
            try problems { $0.shutdownTimeout = .seconds(30) }
                == ["shutdown.timeout: 30s must be at most transaction.timeout (20s)"])
        #expect(
            try problems { $0.orders.horizon = .seconds(3_600) }
                == ["state.terminal-retention: 1d must be at most state.horizon (1h)"])
        #expect(
            try problems { $0.transactionTimeout = .seconds(120) }
                == ["transaction.timeout: 2m must be less than kafka.max.poll.interval.ms (2m)"])
        #expect(
            try problems {
                $0.kafka["max.poll.interval.ms"] = "9000"
                $0.transactionTimeout = .seconds(8)
                $0.shutdownTimeout = .seconds(8)
            }
                == ["session.timeout: 10s must be at most kafka.max.poll.interval.ms (9s)"])
    }

    @Test("two roles never share a topic")
    func topics() throws {
        #expect(
            try problems { $0.topics.dispatch = $0.topics.events }
                == ["topic.dispatch: 'orders.events' is also topic.events"])
        let requests = try problems { $0.topics.requests = "orders.events" }
        #expect(requests == ["topic.requests: 'orders.events' is also topic.events"])
    }
}
