import Arguments
import Foundation
import KafkaClient
import Pipeline

/// The configuration options; each command that needs them takes them as a group.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: "A file of settings, key=value.", valueName: "file", completion: .file)
    var config: String?
    @Option(help: "A file of kcat or librdkafka, as it is.", valueName: "file", completion: .file)
    var kafkaConfig: String?
    @Option(
        name: [.customShort("b"), .long], help: "Brokers to start from; kafka.bootstrap.servers.",
        valueName: "host:port,…")
    var bootstrapServers: String?
    @Option(help: "group.id, the consumer group.", valueName: "name") var group: String?
    @Option(help: "log.level.", completion: .list(Logger.Level.allCases.map(\.rawValue))) var logLevel: String?
    @Option(help: "log.format.", completion: .list(PipelineConfiguration.LogFormat.allCases.map(\.rawValue)))
    var logFormat: String?
    @Option(
        help: "Any setting; check-config lists them.", valueName: "key=value",
        completion: .list(Setting.all.map { $0.key + "=" }))
    var set: [String] = []
    @Option(name: [.customShort("X")], help: "One of librdkafka's settings, as for kcat.", valueName: "name=value")
    var property: [String] = []

    func validate() -> [String] {
        set.filter { !$0.contains("=") }.map { "--set \($0): it must be key=value" }
            + property.filter { !$0.contains("=") }.map { "-X \($0): it must be name=value" }
    }

    /// The flags as settings. Named options come last: they are the more deliberate ones.
    var flags: [ConfigurationLoader.Flag] {
        let named: [(String, String, String?)] = [
            ("--bootstrap-servers", "kafka.bootstrap.servers", bootstrapServers),
            ("--group", "group.id", group),
            ("--log-level", "log.level", logLevel),
            ("--log-format", "log.format", logFormat),
        ]
        return Self.pairs(set, name: "--set", prefix: "") + Self.pairs(property, name: "-X", prefix: "kafka.")
            + named.compactMap { name, key, value in value.map { .init(name: name, key: key, value: $0) } }
    }

    private static func pairs(_ words: [String], name: String, prefix: String) -> [ConfigurationLoader.Flag] {
        words.compactMap { word in
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? .init(name: name, key: prefix + parts[0], value: String(parts[1])) : nil
        }
    }

    /// Loads the configuration, with further flags of the command.
    ///
    /// - Parameter file: replaces `--config`.
    func load(
        adding flags: [ConfigurationLoader.Flag] = [], needsBroker: Bool = true, inPlaceOfConfig file: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.flags = self.flags + flags
        loader.environment = environment
        loader.configurationFile = file ?? config
        loader.kafkaFile = kafkaConfig
        loader.needsBroker = needsBroker
        loader.suggest = { nearest(to: $0, in: $1) }
        return loader.load()
    }

    /// Warns of variables that set nothing.
    ///
    /// - Throws: every problem at once; exit code 64 if one is of a flag, else 78.
    func checked(
        adding flags: [ConfigurationLoader.Flag] = [], needsBroker: Bool = true, inPlaceOfConfig file: String? = nil
    ) throws(ConfigurationProblems) -> PipelineConfiguration {
        let loaded = load(adding: flags, needsBroker: needsBroker, inPlaceOfConfig: file)
        for warning in loaded.warnings { Terminal.warn("warning: \(warning)") }
        let configuration = try loaded.checked()
        if needsBroker { BrokerNotice.begin(configuration.kafka) }
        return configuration
    }

    /// The same for a command that needs a topic that has no name by default.
    ///
    /// - Parameters:
    ///   - name: the topic's, without `topic.`.
    ///   - consequence: what is not so without it.
    ///   - other: the process that needs the setting as well.
    /// - Throws: also where it is not set: exit code 78.
    func checked(
        with topic: KeyPath<PipelineConfiguration.Topics, String>, _ name: String, so consequence: String,
        alsoFor other: String, needsBroker: Bool = true
    ) throws -> PipelineConfiguration {
        let configuration = try checked(needsBroker: needsBroker)
        guard !configuration.topics[keyPath: topic].isEmpty else {
            throw CommandFailure(
                .configuration,
                "topic.\(name) is not set, so \(consequence): set it to its topic, such as notifications.\(name), also "
                    + "where '\(other)' runs")
        }
        return configuration
    }
}

/// Which process this is, for the commands that are one or that look into its folder.
struct InstanceOption: ParsableArguments {
    @Option(help: "instance.id, this process within its group.", valueName: "name") var instance: String?

    var flags: [ConfigurationLoader.Flag] {
        instance.map { [.init(name: "--instance", key: "instance.id", value: $0)] } ?? []
    }
}

/// Where a process keeps its tables, for the commands that use them.
struct StateFolderOption: ParsableArguments {
    @Option(help: "state.dir, the folder of the subscriptions table.", valueName: "folder", completion: .file)
    var stateDir: String?

    var flags: [ConfigurationLoader.Flag] {
        stateDir.map { [.init(name: "--state-dir", key: "state.dir", value: $0)] } ?? []
    }
}

extension PipelineConfiguration {
    /// A logger configured by the settings: text on a terminal, else JSON lines, unless `log.format` overrides it.
    func makeLogger(label: String = "carillon") -> Logger {
        let sink = logFormat.map { LogStream(format: $0, descriptor: STDERR_FILENO) } ?? .standardError
        return Logger(label: label, level: logLevel, sink: sink)
    }

    /// librdkafka's log lines for a command that sends one request: its error says what went wrong, so they are debug
    /// only.
    var clientSink: ClientLog.Sink {
        guard logLevel <= .debug else { return { _ in } }
        return makeLogger().clientSink
    }
}
