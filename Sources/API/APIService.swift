import Dispatch
import HTTPServer
import Hosting
import JSONReader
import KafkaClient
import Pipeline
import Synchronization

/// Answers backends over HTTP: what they ask for is recorded in Kafka before they hear that it is.
///
/// It keeps nothing that Kafka does not have, and any number of processes may run. Call `run()` once.
package final class APIService: Role, Sendable {
    private let configuration: PipelineConfiguration
    private let version: String
    private let logger: Logger
    private let writer = RecordWriter()
    private let index = RequestIndex()
    private let requests: RequestFollower
    private let metrics: Metrics
    private let isListening = Atomic(false)
    package let name = RoleName.api
    package let host: RoleHost

    /// - Parameters:
    ///   - version: of the program.
    ///   - clock: the process's.
    package init(
        configuration: PipelineConfiguration, version: String, logger: Logger, metrics: Metrics, clock: PipelineClock
    ) {
        self.configuration = configuration
        self.version = version
        self.logger = logger
        self.metrics = metrics
        host = RoleHost(clock: clock, explained: Permissions(apiOf: configuration).explained)
        requests = RequestFollower(configuration, index, logger: logger, metrics: metrics)
        metrics.observeReadiness(of: self)
        metrics.observe("carillon_api_known_requests", help: "Requests of the last day whose ids are known.") {
            [index] in [.init(value: .gauge(Double(index.counts.known)))]
        }
        metrics.observe(
            "carillon_api_forgotten_requests_total",
            help: "Requests whose ids were forgotten before they were a day old: there were too many."
        ) { [index] in [.init(value: .counter(Double(index.counts.forgotten)))] }
    }

    /// Why it does not take requests now; empty if it does. Any thread.
    package var unready: [String] {
        let reasons = host.reasons.map(\.description)
        if host.mustEnd { return ["it answers what it has, and ends"] }
        guard isListening.load(ordering: .acquiring) else { return reasons + ["it is not running"] }
        return reasons + (writer.isOpen ? [] : ["it cannot write yet"])
            + (requests.isCaughtUp ? [] : ["it has not read the requests of the last day"])
    }

    /// Answers what it has, and lets ``run()`` return. Any number of times.
    package func shutdown() { host.drain() }

    /// - Throws: `PipelineError` where an operator has to act; `CancellationError` when its task is cancelled.
    package func run() async throws {
        try await host.run { try self.supervise() }
    }

    /// Everything that these settings lack for an API; nil if it can run.
    package static func missingSetting(of configuration: PipelineConfiguration) -> String? {
        var problems: [String] = []
        if configuration.api.http == nil {
            problems.append("api.http is not set: where the API listens, such as 127.0.0.1:8080")
        }
        if configuration.topics.requests.isEmpty {
            problems.append(
                "topic.requests is not set: nothing would read what is sent; the usual name is notifications.requests")
        }
        if configuration.api.keys.isEmpty {
            problems.append(
                "api.keys is not set: nobody could use the API; carillon api key create --scope send --file keys.json makes "
                    + "a key, and api.keys=@keys.json lets it in")
        } else {
            var file = KeyFile(configuration.api.keys)
            do throws(InvalidForm) {
                _ = try file.read()
            } catch {
                problems += error.problems.map { "api.keys: \($0)" }
            }
        }
        return problems.isEmpty ? nil : problems.joined(separator: "; ")
    }

    // MARK: Threads

    private func supervise() throws {
        if let missing = Self.missingSetting(of: configuration) { throw PipelineError.decisionNeeded(missing) }
        guard let address = configuration.api.http else { return }
        var file = KeyFile(configuration.api.keys)
        let meter = APIMeter(APIDescription.operations, metrics: metrics, logger: logger)
        let handler = try makeHandler(try file.read() ?? KeyRing([]), meter)
        let crew = Crew()
        crew.start("http") { try self.serve(address, handler) }
        crew.start("writer") { try self.write() }
        crew.start("requests") { [requests, host] in try requests.run(on: host) }
        crew.start("keys") { [file, host, logger] in
            var watch = KeyWatch(file, logger: logger)
            try watch.run(on: host) { handler.replace($0) }
        }
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(APIStatusLine(meter: meter))
    }

    private var terms: Supervision.Terms {
        Supervision.Terms(
            drains: "answers what it has", drainTimeout: configuration.shutdownTimeout + .seconds(5),
            notDrained: "not drained in time: some clients have no answer", longestCall: configuration.longestCall,
            kafka: configuration.kafka)
    }

    private func makeHandler(_ keys: KeyRing, _ meter: APIMeter) throws -> APIHandler {
        let surroundings = APIHandler.Surroundings(
            now: { [host] in host.clock.now() },
            requestID: { "req_" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16) },
            chance: { Double.random(in: 0...1) }, answered: { meter.answered($0, $1, $2) })
        let endpoints = try RequestEndpoints(
            configuration, writer, index, isReady: { [requests] in requests.isCaughtUp }, surroundings
        ).all
        let version = version
        let description = APIDescription.document(
            endpoints.map(\.operation) + ContractEndpoints.operations, version: version)
        return APIHandler(
            Router(endpoints + ContractEndpoints.make { description }), keys, configuration.api.environment,
            rate: configuration.api.rate, surroundings)
    }

    /// Takes requests until the role ends, then answers what it has.
    private func serve(_ address: ListenAddress, _ handler: APIHandler) throws {
        defer { writer.close() }
        var limits = HTTPLimits()
        limits.connections = 1_000
        // Behind a proxy all have one address.
        limits.connectionsOfAnAddress = 1_000
        limits.idleTime = .seconds(60)
        let server: HTTPServer
        do throws(HTTPServerError) {
            server = try HTTPServer(host: address.host, port: address.port, limits: limits, handler: handler)
        } catch {
            throw PipelineError.decisionNeeded("the API cannot listen at api.http: \(error)")
        }
        defer { server.stop() }
        logger.info("the API listens on http://\(address)")
        isListening.store(true, ordering: .releasing)
        while !host.mustEnd { host.time.sleep(IdleWait.looking) }
        _ = server.drain(within: .milliseconds(Int(configuration.shutdownTimeout.wholeMilliseconds)))
    }

    /// Writes what is sent, with a new producer where one has failed for good.
    private func write() throws {
        let patience = Patience()
        do {
            while !host.mustEnd {
                var producer = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    var producer = try Producer(
                        settings: producerSettings, reportsEach: true, logger: logger.clientSink)
                    _ = try producer.topic(configuration.topics.requests, timeout: .seconds(5))
                    return producer
                }
                patience.hasWorked()
                host.patience.hasWorked()
                do {
                    return try writer.run(&producer) { errors in
                        for error in errors {
                            if let line = try host.consider(error, patience) { logger.warning("\(line)") }
                        }
                    }
                } catch let error as KafkaError {
                    logger.warning("the producer is replaced: \(error)")
                }
            }
        } catch is PipelineEnded {}
    }

    private var producerSettings: Settings {
        var settings = configuration.kafka
        // Of both names the later one would count.
        settings["message.timeout.ms"] = nil
        let time = "\(configuration.api.wait.wholeMilliseconds / 2)"
        settings["delivery.timeout.ms"] = time
        settings["request.timeout.ms"] = time
        if settings["queue.buffering.max.ms"] == nil, settings["linger.ms"] == nil { settings["linger.ms"] = "1" }
        return settings
    }
}
