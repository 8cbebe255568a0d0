import Testing

@Suite(.enabled(if: BrokerTrial.isThere, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
struct TopicsCommandTests {
    private let trial = BrokerTrial()

    @Test("topics are planned, created, and then as they should be; a difference ends with 1")
    func topics() throws {
        #expect(try trial.carillon("topics", "check").status == 1)
        let planned = try trial.carillon("topics", "create", "--dry-run", "--partitions", "2")
        #expect(planned.status == 0, "\(planned.errors)")
        #expect(planned.output.contains("would be created"))
        #expect(try trial.carillon("topics", "check").errors.contains("5 differences"))

        let created = try trial.carillon("topics", "create", "--partitions", "2")
        #expect(created.status == 0, "\(created.errors)")
        let checked = try trial.carillon("topics", "check", "--partitions", "2")
        #expect(checked.status == 0, "\(checked.output)")
        let other = try trial.carillon("topics", "check", "--partitions", "3")
        #expect(other.status == 1)
        #expect(other.output.contains("\(trial.events): partitions is 2, not 3\n"))
        #expect(try trial.carillon("topics", "create").output.contains("exists"))
    }
}
