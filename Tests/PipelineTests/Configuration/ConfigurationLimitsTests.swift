import Testing

@testable import Notifications
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
            try problems { $0.delivery.commitInterval = .milliseconds(5_001) }
                == ["delivery.commit-interval: 5001ms must be at most a quarter of transaction.timeout (20s)"])
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

    @Test("no two settings name one topic")
    func everyTopic() {
        let keys = Setting.all.map(\.key).filter { $0.hasPrefix("topic.") }
        for (index, key) in keys.enumerated() {
            for other in keys[..<index] {
                let problems = LoadedConfiguration.of([key: "same", other: "same"]).problems.map(\.description)
                #expect(problems.contains { $0.contains("'same' is also topic.") }, "\(key) and \(other): \(problems)")
            }
        }
    }

    @Test("two roles never share a topic")
    func topics() throws {
        #expect(
            try problems { $0.topics.dispatch = $0.topics.events }
                == ["topic.dispatch: 'orders.events' is also topic.events"])
        let requests = try problems { $0.topics.requests = "orders.events" }
        #expect(requests == ["topic.requests: 'orders.events' is also topic.events"])
        let broadcasts = try problems {
            $0.topics.requests = "notifications.broadcasts"
            $0.topics.broadcasts = "notifications.broadcasts"
        }
        #expect(broadcasts == ["topic.broadcasts: 'notifications.broadcasts' is also topic.requests"])
        let derived = try problems {
            $0.topics.journal = "b.journal"
            $0.topics.broadcasts = "b"
        }
        #expect(derived == ["topic.broadcasts: 'b.journal' is also topic.journal"])
        #expect(
            try problems { $0.topics.deliveries = $0.topics.dispatch }
                == ["topic.deliveries: 'notifications.dispatch' is also topic.dispatch"])
        #expect(
            try problems { $0.topics.journal = "notifications.dispatch.retry.1m" }
                == ["topic.dispatch: 'notifications.dispatch.retry.1m' is also topic.journal"])
    }

    @Test("credentials that cannot be told apart are a problem")
    func credentials() throws {
        let account = ProviderCredential.Source.serviceAccount(file: "shop.json")
        let key = ProviderCredential.Source.providerKey(file: "k", keyID: "KEYID123AB", teamID: "TEAMID123A")
        func credentials(_ list: ProviderCredential...) throws -> [String] {
            try problems { $0.delivery.credentials = list }
        }
        #expect(
            try credentials(.init(name: "a", source: account), .init(name: "b", source: account, apps: ["x"])) == [])
        #expect(
            try credentials(.init(name: "a", source: account), .init(name: "a", source: key))
                == ["delivery.credentials: two credentials are named 'a'"])
        #expect(
            try credentials(
                .init(name: "a", source: account, apps: ["x"]), .init(name: "b", source: account, apps: ["y", "x"]))
                == ["delivery.credentials: the credentials 'a' and 'b' both have the app 'x'"])
        // Of APNs, both environments is what no environment says.
        #expect(
            try credentials(
                .init(name: "a", source: key, apps: ["x"]),
                .init(name: "b", source: key, apps: ["x"], environments: [.development]))
                == ["delivery.credentials: the credentials 'a' and 'b' both have the app 'x'"])
        #expect(
            try credentials(
                .init(name: "a", source: key, environments: [.production]),
                .init(name: "b", source: key, environments: [.development])) == [])
    }
}
