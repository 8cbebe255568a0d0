import Dispatch
import HTTPServer
import Hosting
import JSONReader
import KafkaClient
import Pipeline
import Registrar
import Synchronization

/// Answers backends over HTTP: what they ask for is recorded in Kafka before they hear that it is.
///
/// It keeps nothing that Kafka does not have, and any number of processes may run. Call `run()` once.
package final class APIService: Role, Sendable {
    /// A producer that has met no error for so long may write.
    private static let proven = Duration.seconds(10)

    private let configuration: PipelineConfiguration
    private let version: String
    private let logger: Logger
    private let writer = RecordWriter()
    private let index = RequestIndex()
    private let requests: RequestFollower
    private let broadcasts: BroadcastFollower
    private let control: ControlFollower
    private let known: DeviceView
    private let devices: DeviceFollower
    private let verdicts = VerdictBoard()
    private let decisions = BroadcastDecisions()
    private let reads: TopicReads
    private let batches: BatchWriter
    private let fencings: Counter
    private let metrics: Metrics
    private let listens = Mutex<ListenAddress?>(nil)
    package let name = RoleName.api
    package let host: RoleHost

    /// - Parameters:
    ///   - version: of the program.
    ///   - clock: the process's.
    ///   - broadcasts: the process's.
    ///   - control: the process's.
    package init(
        configuration: PipelineConfiguration, version: String, logger: Logger, metrics: Metrics, clock: PipelineClock,
        broadcasts: BroadcastFollower, control: ControlFollower
    ) {
        self.configuration = configuration
        self.version = version
        self.logger = logger
        self.metrics = metrics
        let permissions = Permissions(apiOf: configuration)
        host = RoleHost(clock: clock, explained: permissions.explained)
        (self.broadcasts, self.control) = (broadcasts, control)
        reads = TopicReads(logger: logger, explained: permissions.explained)
        batches = BatchWriter(topic: configuration.topics.events)
        fencings = metrics.counter(
            "carillon_api_fencings_total",
            help: "Producers of batches that were replaced because another process took their transactional id.")
        requests = RequestFollower(configuration, index, logger: logger, metrics: metrics)
        known = DeviceView()
        devices = DeviceFollower(configuration, known, logger: logger, metrics: metrics)
        metrics.observeReadiness(of: self)
        metrics.observe("carillon_api_known_requests", help: "Requests of the last day whose ids are known.") {
            [index] in [.init(value: .gauge(Double(index.counts.known)))]
        }
        metrics.observe(
            "carillon_api_forgotten_requests_total",
            help: "Requests whose ids were forgotten before they were a day old: there were too many."
        ) { [index] in [.init(value: .counter(Double(index.counts.forgotten)))] }
    }

    /// Where it listens, with the port that the system chose for 0; nil before. Any thread.
    package var address: ListenAddress? { listens.withLock { $0 } }

    /// Why it does not take requests now; empty if it does. Any thread.
    package var unready: [String] {
        let reasons = host.reasons.map(\.description)
        if host.mustEnd { return ["it answers what it has, and ends"] }
        guard address != nil else { return reasons + ["it is not running"] }
        return reasons + (writer.isOpen && !host.patience.isStarting ? [] : ["it cannot write yet"])
            + (!configuration.api.events || batches.isOpen ? [] : ["it cannot write batches of events yet"])
            + (requests.isCaughtUp ? [] : ["it has not read the requests of the last day"])
            + (!hasBroadcasts || broadcasts.view.freshSince != nil ? [] : ["it has not read the broadcasts"])
            + (!hasDevices || known.isFresh(within: configuration.subscriptionsMaxLag)
                ? [] : ["it has not read the devices"])
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
        if !configuration.api.issuers.isEmpty {
            var file = IssuerFile(configuration.api.issuers)
            do throws(InvalidForm) {
                _ = try file.read()
            } catch {
                problems += error.problems.map { "api.issuers: \($0)" }
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
        // Before it listens: the first users would be refused.
        if !configuration.api.issuers.isEmpty { try watchIssuers(crew, handler) }
        crew.start("http") { try self.serve(address, handler) }
        crew.start("writer") { try self.write() }
        crew.start("requests") { [requests, host] in try requests.run(on: host) }
        if configuration.api.events { crew.start("batches") { try self.writeBatches() } }
        if hasBroadcasts {
            crew.start("broadcasts") { [broadcasts, host] in try broadcasts.run(on: host) }
            crew.start("decisions") { [broadcasts, decisions, host] in decisions.run(on: host) { broadcasts.view } }
        }
        if hasControl { crew.start("control") { [control, host] in try control.run(on: host) } }
        if hasDevices {
            crew.start("devices") { [devices, verdicts, host] in
                try devices.run(on: host) {
                    verdicts.forget()
                } verdict: {
                    verdicts.decided($0, $1)
                } looked: {
                    verdicts.look()
                }
            }
        }
        crew.start("keys") { [file, host, logger] in
            var watch = FileWatch(file, of: "api.keys", logger: logger)
            try watch.run(on: host) { ring in
                handler.replace(ring)
                return "\(ring.entries.count) keys"
            }
        }
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(APIStatusLine(meter: meter))
    }

    private func watchIssuers(_ crew: Crew, _ handler: APIHandler) throws {
        var file = IssuerFile(configuration.api.issuers)
        if let issuers = try file.read() { handler.replace(issuers) }
        crew.start("issuers") { [file, host, logger] in
            var watch = FileWatch(file, of: "api.issuers", logger: logger)
            try watch.run(on: host) { list in
                handler.replace(list)
                return "\(list.issuers.count) keys of issuers"
            }
        }
    }

    private var hasBroadcasts: Bool { !configuration.topics.broadcasts.isEmpty }
    private var hasControl: Bool { !configuration.topics.control.isEmpty }
    private var hasDevices: Bool { !configuration.topics.commands.isEmpty }

    private var terms: Supervision.Terms {
        Supervision.Terms(
            drains: "answers what it has", drainTimeout: configuration.shutdownTimeout + .seconds(5),
            notDrained: "not drained in time: some clients have no answer", longestCall: configuration.longestCall,
            kafka: configuration.kafka)
    }

    private func makeHandler(_ keys: KeyRing, _ meter: APIMeter) throws -> APIHandler {
        var surroundings = APIHandler.Surroundings(
            now: { [host] in host.clock.now() },
            requestID: { "req_" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16) },
            chance: { Double.random(in: 0...1) }, answered: { meter.answered($0, $1, $2) })
        surroundings.isErased = { [known] in known.isErased($0) }
        surroundings.knows = { [known] in (try? known.device($0.device))?.credential == $0.hash }
        let isReady: @Sendable () -> Bool = { [requests] in requests.isCaughtUp }
        var endpoints = try RequestEndpoints(
            configuration, writer, index, reads, isReady: isReady, surroundings, logger: logger
        ).all
        endpoints += LookEndpoints(configuration, index, reads, surroundings, logger: logger).all
        if hasControl {
            endpoints +=
                ControlEndpoints(
                    configuration, writer, index, reads, view: { [control] in control.view }, isReady: isReady,
                    surroundings, logger: logger
                ).all
        }
        if hasBroadcasts {
            endpoints += BroadcastEndpoints(configuration, writer, decisions, reads, surroundings, logger: logger).all
        }
        if hasDevices {
            let commands = CommandWriter(
                configuration, writer, known, verdicts, surroundings, metrics: metrics)
            let settings = TopicSettings(of: configuration.topicsWithPeople, configuration.kafka, logger: logger)
            endpoints +=
                DeviceEndpoints(commands).all + PersonEndpoints(commands).all
                + ErasureEndpoints(configuration, commands, reads, settings).all
                + DeviceBulkEndpoints(commands, reads).all
                + CommandEndpoints(configuration, reads, surroundings, logger: logger).all
                + PersonExport(configuration, known, reads, logger: logger).all
                + ReceiptEndpoints(configuration, writer, known, surroundings).all
                + AudienceEndpoints(configuration, commands, reads).all
        }
        if configuration.api.events {
            endpoints += EventEndpoints(configuration, writer, batches, surroundings).all
        }
        let version = version
        let description = APIDescription.document(
            endpoints.map(\.operation) + ContractEndpoints.operations, version: version)
        return APIHandler(
            Router(endpoints + ContractEndpoints.make { description }), keys, configuration.api.environment,
            rate: configuration.api.rate, proxies: configuration.api.trustedProxies, surroundings)
    }

    /// Takes requests until the role ends, then answers what it has.
    private func serve(_ address: ListenAddress, _ handler: APIHandler) throws {
        defer {
            reads.end()
            writer.close()
            batches.close()
        }
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
        let bound = ListenAddress(host: address.host, port: server.port)
        logger.info("the API listens on http://\(bound)")
        listens.withLock { $0 = bound }
        while !host.mustEnd { host.time.sleep(IdleWait.looking) }
        _ = server.drain(within: .milliseconds(Int(configuration.shutdownTimeout.wholeMilliseconds)))
        reads.end()
        while !reads.isIdle { host.time.sleep(IdleWait.looking) }
    }

    /// Writes what is sent, with a new producer where one has failed for good.
    private func write() throws {
        let patience = Patience()
        do {
            while !host.mustEnd {
                var producer = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    var producer = try Producer(
                        settings: producerSettings, reportsEach: true, logger: logger.clientSink)
                    for topic in writtenTopics {
                        _ = try producer.topic(topic, timeout: .seconds(5))
                    }
                    return producer
                }
                let began = host.time.now()
                do {
                    return try writer.run(&producer, deliveryTime) { errors in
                        verdicts.expire()
                        // One that may write to no topic at all hears of it a moment after it knows them, or on a busy machine
                        // some seconds: until then it is ready, and yet ends where that is not mended.
                        let time = host.time.now() - began
                        if errors.isEmpty, time >= IdleWait.woken { host.patience.hasWorked() }
                        if errors.isEmpty, time >= Self.proven { patience.hasWorked() }
                        for error in errors {
                            if let line = try host.consider(error, patience) { logger.warning("\(line)") }
                        }
                    }
                } catch let error as KafkaError {
                    if let line = try host.consider(error, patience) {
                        logger.warning("the producer is replaced: \(line)")
                    }
                    host.time.sleep(IdleWait.woken)
                }
            }
        } catch is PipelineEnded {}
    }

    /// Those that single records go to.
    private var writtenTopics: [String] {
        [configuration.topics.requests] + (hasBroadcasts ? [configuration.topics.broadcasts] : [])
            + (hasControl ? [configuration.topics.control] : [])
            + (hasDevices ? configuration.topics.writtenForDevices : [])
            + (configuration.api.events ? [configuration.topics.events] : [])
    }

    /// Writes batches of events, with a producer for their transactions.
    private func writeBatches() throws {
        let patience = Patience()
        let (id, settings) = (BatchWriter.transactionalID(configuration), BatchWriter.settings(configuration))
        var isTold = false
        do {
            try batches.run {
                let producer = try host.untilItWorks(logger, patience, whileDraining: true) { () throws(KafkaError) in
                    try Producer(
                        settings: settings, transactionalID: id, reportsEach: true, logger: logger.clientSink)
                }
                return KafkaBatchProducer(producer)
            } tell: { error in
                // From then on it is waited for, like what else it writes.
                if batches.isOpen { patience.hasWorked() }
                guard error.kind == .fenced else {
                    if let line = try host.consider(error, patience) { logger.warning("batches of events: \(line)") }
                    return
                }
                fencings.add(1)
                guard !isTold else { return }
                isTold = true
                logger.warning(
                    "another process writes batches of events as \(id), and each of both takes the id from the other: give "
                        + "each process an instance.id of its own")
            }
        } catch is PipelineEnded {}
    }

    private var deliveryTime: Duration { configuration.api.wait / 2 }

    private var producerSettings: Settings {
        var settings = configuration.kafka
        // Of both names the later one would count.
        for name in ["message.timeout.ms", "queue.buffering.max.ms"] { settings[name] = nil }
        settings.merge(RecordWriter.settings(deliveryTime)) { $1 }
        return settings
    }
}
