import Foundation
import JSONReader

/// Makes a configuration from files, environment and flags (docs/code.md §3 "Configuration").
///
/// Flags beat environment beats the configuration file beats the Kafka file beats defaults. An unknown key in a file or
/// flag is a problem; an unknown environment variable is ignored, listed and, with our prefix, warned of. All problems are found in one go, and no
/// message holds the value of a secret.
public struct ConfigurationLoader: Sendable {
    /// A setting given on the command line.
    public struct Flag: Sendable {
        /// As it was typed: `--workers`, `--set`.
        public var name: String
        public var key: String
        public var value: String

        public init(name: String, key: String, value: String) {
            self.name = name
            self.key = key
            self.value = value
        }
    }

    public var flags: [Flag] = []
    public var environment: [String: String] = [:]
    /// A `.properties` file: our keys, and librdkafka's with the prefix `kafka.`.
    public var configurationFile: String?
    /// A file of kcat or librdkafka: librdkafka's names without a prefix.
    public var kafkaFile: String?
    /// What `from=-1h` counts from.
    public var now = WallClock.now
    /// Some commands need no broker.
    public var needsBroker = true
    /// Suggests the known key that was probably meant by an unknown one.
    public var suggest: @Sendable (_ unknown: String, _ known: [String]) -> String? = { _, _ in nil }

    public init() {}

    /// Reads the files and resolves every setting.
    public func load() -> LoadedConfiguration {
        var given = GivenSettings(suggest: suggest)
        if let kafkaFile { given.add(file: kafkaFile, isKafka: true) }
        if let configurationFile { given.add(file: configurationFile, isKafka: false) }
        given.add(environment: environment)
        for flag in flags { given.add(flag.key, flag.value, .flag(flag.name)) }

        var problems = given.problems
        guard let utc = try? ExtractionRules() else {
            problems.append(ConfigurationProblem(subject: "time-zone", message: "this system has no time zone data"))
            return LoadedConfiguration(configuration: nil, given, problems)
        }
        var draft = ConfigurationDraft(
            configuration: PipelineConfiguration(kafka: [:], stateDirectory: "", rules: utc), now: now)
        problems += given.readKafka(into: &draft.configuration.kafka)
        for setting in Setting.all {
            guard let value = given.values[setting.key] else { continue }
            do {
                try setting.read(value.text, &draft)
            } catch {
                let message =
                    error.reason.map { "'\(value.text)' \($0); it must be \(error.allowed)" }
                    ?? "'\(value.text)' is not allowed; it must be \(error.allowed)"
                problems.append(value.problem(setting.key, message))
            }
        }
        problems += makeRules(&draft, given)
        problems += chooseDisplay(&draft, given)
        problems += chooseStateDirectory(&draft)
        if needsBroker, draft.configuration.kafka["bootstrap.servers"] == nil {
            problems.append(
                ConfigurationProblem(
                    subject: "kafka.bootstrap.servers",
                    message: "no broker is given; use --bootstrap-servers HOST:PORT, $KAFKA_BOOTSTRAP_SERVERS, "
                        + "or a line kafka.bootstrap.servers=HOST:PORT in the file of --config"))
        }
        if problems.isEmpty { problems += draft.configuration.limitProblems() }
        return LoadedConfiguration(configuration: draft.configuration, given, problems)
    }

    private func makeRules(_ draft: inout ConfigurationDraft, _ given: GivenSettings) -> [ConfigurationProblem] {
        draft.configuration.orders.schedule = draft.isScheduled ? draft.schedule : nil
        var audiences = AudienceTemplates.place
        var problems: [ConfigurationProblem] = []
        do throws(InvalidForm) {
            audiences = try AudienceTemplates(draft.audiences, own: draft.ownAudiences, types: draft.types)
        } catch {
            problems = error.problems.map { ConfigurationProblem(subject: "audiences", message: $0) }
        }
        do {
            draft.configuration.rules = try ExtractionRules(
                timeZone: draft.timeZone, placeTimeZones: draft.placeTimeZones,
                onMissingOrderID: draft.onMissingOrderID, infersStatusChanges: draft.infersStatusChanges,
                audiences: audiences, members: draft.members)
            return problems
        } catch {
            let zone = error.timeZone.map {
                ("time-zone", "'\($0)' is not a time zone; use a name such as Europe/Berlin")
            }
            let places = error.placeTimeZones.sorted { $0.key < $1.key }.map {
                ("place-time-zones", "'\($0.value)' of place '\($0.key)' is not a time zone")
            }
            return problems
                + ([zone].compactMap { $0 } + places).map { key, message in
                    given.values[key]?.problem(key, message) ?? ConfigurationProblem(subject: key, message: message)
                }
        }
    }

    private func chooseDisplay(_ draft: inout ConfigurationDraft, _ given: GivenSettings) -> [ConfigurationProblem] {
        guard draft.displaysOrders else { return [] }
        draft.configuration.rendering.display = draft.displayTemplates
        let templates = given.values["display.templates"]
        guard draft.displayTemplates == nil, templates.map(\.text.isEmpty) != false else { return [] }
        let message = "'on' needs the texts of order pushes; add display.templates=@FILE, or leave display off"
        return [
            given.values["display"]?.problem("display", message)
                ?? ConfigurationProblem(subject: "display", message: message)
        ]
    }

    private func chooseStateDirectory(_ draft: inout ConfigurationDraft) -> [ConfigurationProblem] {
        if let path = draft.stateDirectory {
            draft.configuration.stateDirectory = path
            return []
        }
        guard let base = PipelineConfiguration.stateBase(environment: environment) else {
            return [
                ConfigurationProblem(
                    subject: "state.dir", message: "there is no home folder to put it in; use --state-dir FOLDER")
            ]
        }
        draft.configuration.stateDirectory = "\(base)/\(draft.configuration.groupID)/\(draft.configuration.instanceID)"
        return []
    }
}

/// What a loader found.
public struct LoadedConfiguration: Sendable {
    private let configuration: PipelineConfiguration?
    /// Each setting in the order of the documentation, then librdkafka's own by name. Secrets are redacted.
    public let settings: [EffectiveSetting]
    /// Variables with our prefix or librdkafka's that name no setting.
    public let ignoredVariables: [String]
    /// What a person should see before the command works: variables that were probably meant to set something.
    public let warnings: [String]
    public let problems: [ConfigurationProblem]

    init(configuration: PipelineConfiguration?, _ given: GivenSettings, _ problems: [ConfigurationProblem]) {
        self.configuration = configuration
        self.settings = given.effective(configuration)
        self.ignoredVariables = given.ignoredVariables.sorted()
        warnings = given.variableWarnings
        self.problems = problems
    }

    /// - Throws: every problem at once.
    public func checked() throws(ConfigurationProblems) -> PipelineConfiguration {
        guard problems.isEmpty, let configuration else { throw ConfigurationProblems(problems: problems) }
        return configuration
    }
}
