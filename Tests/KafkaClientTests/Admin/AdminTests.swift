import Testing

@testable import KafkaClient

@Suite(
    "Administration on a real broker", .enabled(if: RealBroker.isThere, RealBroker.comment), .timeLimit(.minutes(30)))
struct AdminTests {
    @Test("a topic is created with its settings, and creating it again says that it exists")
    func createAndDescribe() throws {
        let name = try RealBroker.topic(
            "created", partitions: 3, configuration: ["cleanup.policy": "compact", "delete.retention.ms": "604800000"])
        let admin = try Admin(settings: RealBroker.settings)
        let description = try #require(try admin.describe(topics: [name, RealBroker.unique("missing")]).first)
        #expect(description.name == name)
        #expect(description.partitions == 3)
        #expect(description.replicationFactor == 1)
        #expect(description.configuration["cleanup.policy"] == "compact")
        #expect(description.configuration["delete.retention.ms"] == "604800000")
        #expect(description.configuration["max.message.bytes"] != nil)
        #expect(try admin.describe(topics: [RealBroker.unique("missing")]).isEmpty)

        let outcome = try admin.createTopics([
            NewTopic(name: name, partitions: 3),
            NewTopic(name: name + "-2", partitions: 1, configuration: ["no.such": "1"]),
        ])
        #expect(outcome[name]??.kind == .topicAlreadyExists)
        #expect(outcome[name + "-2"]??.kind == .configuration, "\(String(describing: outcome))")
    }

    @Test("validateOnly creates nothing")
    func validateOnly() throws {
        let admin = try Admin(settings: RealBroker.settings)
        let name = RealBroker.unique("dry")
        let outcome = try admin.createTopics([NewTopic(name: name, partitions: 2)], validateOnly: true)
        #expect(outcome[name] == .some(nil))
        #expect(try admin.describe(topics: [name]).isEmpty)
    }

    @Test("a group lists its members, and an unknown one has none")
    func groups() throws {
        let name = try RealBroker.topic("members")
        let group = RealBroker.unique("group")
        var consumer = try Consumer(settings: RealBroker.settings, group: group, instance: "slot-7")
        let partitions = try consumer.join([name])
        let admin = try Admin(settings: RealBroker.settings)
        let description = try eventually("a stable group") { () -> GroupDescription? in
            _ = consumer.nextEvent(timeout: .milliseconds(100))
            let description = try admin.describe(group: group)
            return description.state == "Stable" ? description : nil
        }
        #expect(description.members.map(\.instanceID) == ["slot-7"])
        #expect(description.members.first?.assignment == partitions)
        #expect(description.members.first?.memberID == consumer.memberID)
        consumer.close()
        #expect(try admin.describe(group: RealBroker.unique("group")).members.isEmpty)
    }

    @Test("the cluster has an id and brokers")
    func cluster() throws {
        let admin = try Admin(settings: RealBroker.settings)
        let cluster = try admin.cluster()
        #expect(cluster.clusterID != nil)
        #expect(!cluster.brokers.isEmpty)
    }

    @Test("the brokers' release is derived from the requests that they support")
    func version() throws {
        let version = try #require(try Admin(settings: RealBroker.settings).brokerVersion())
        #expect(version.first?.isNumber == true)
    }
}

@Suite("The brokers' release")
struct BrokerReleaseTests {
    @Test(
        "is read from librdkafka's line about Fetch",
        arguments: [("4..18", "4.0 or newer"), ("0..17", "3.9"), ("0..11", "2.3 to 2.6"), ("0..4", "older than 2.3")])
    func release(versions: String, expected: String) {
        let fetch = FetchVersions()
        fetch.read("[thrd:b:1/bootstrap]: b:1/bootstrap:   ApiKey Produce (0) Versions 0..13")
        #expect(fetch.release == nil)
        fetch.read("[thrd:b:1/bootstrap]: b:1/bootstrap:   ApiKey Fetch (1) Versions \(versions)")
        #expect(fetch.release == expected)
    }
}

@Suite("Administration on the mock cluster", .timeLimit(.minutes(30))) struct MockAdminTests {
    @Test("the settings of a topic are refused: the controller that it names, and does not have, is not waited for")
    func settings() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("orders", partitions: 1)
        let admin = try Admin(settings: ["bootstrap.servers": cluster.bootstrapServers])
        do throws(KafkaError) {
            _ = try admin.describe(topics: ["orders"], timeout: .seconds(60))
            Issue.record("the mock cluster has settings")
        } catch {
            #expect(error.kind == .unsupported, "\(error)")
        }
    }
}
