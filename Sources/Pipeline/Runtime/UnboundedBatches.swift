import KafkaClient

extension PipelineConfiguration {
    /// Warns of topics whose broker does not measure what a compressed batch holds: it may take any memory from its readers
    /// (docs/adr/0050-the-broker-measures-what-others-write.md).
    ///
    /// A broker that does not say so, which an ACL may forbid, gives no warning.
    package func warnOfUnboundedBatches(in topics: [String], _ logger: Logger) {
        do throws(KafkaError) {
            let admin = try Admin(settings: kafka, logger: logger.clientSink)
            for topic in topics {
                let found = try admin.describe(topics: [topic], timeout: .seconds(5)).first
                guard let line = Self.unboundedBatches(of: topic, found?.configuration ?? [:]) else { continue }
                logger.warning("\(line)")
            }
        } catch {
            logger.debug("compression.type is not known: \(error)")
        }
    }

    /// The warning, by a topic's settings.
    static func unboundedBatches(of topic: String, _ settings: [String: String]) -> String? {
        guard let type = settings["compression.type"], type != "uncompressed" else { return nil }
        return "nothing bounds the memory that a compressed batch of \(topic) takes: its compression.type is \(type), "
            + "not uncompressed"
    }
}
