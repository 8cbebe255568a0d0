import KafkaClient

/// The values that were given, by key; a later one of higher rank replaces an earlier one.
struct GivenSettings {
    struct Value {
        var text: String
        var source: SettingSource

        /// Where a person finds it: `carillon.properties:3 (workers)`, `--workers`.
        func subject(_ key: String) -> String {
            switch source {
            case .default: key
            case .file, .environment: "\(source) (\(key))"
            case .flag(let name): name == "--\(key)" ? name : "\(name) (\(key))"
            }
        }

        func problem(_ key: String, _ message: String) -> ConfigurationProblem {
            ConfigurationProblem(subject: subject(key), message: message, isOfFlag: source.isFlag)
        }
    }

    private(set) var values: [String: Value] = [:]
    private(set) var problems: [ConfigurationProblem] = []
    private(set) var ignoredVariables: [String] = []
    private let suggest: (String, [String]) -> String?

    init(suggest: @escaping (String, [String]) -> String?) {
        self.suggest = suggest
    }

    /// A key of a file or flag.
    mutating func add(_ key: String, _ text: String, _ source: SettingSource) {
        let value = Value(text: text, source: source)
        if Setting.keys.contains(key) {
            values[key] = value
        } else if key.hasPrefix(KafkaSetting.prefix),
            let name = KafkaSetting.name(String(key.dropFirst(KafkaSetting.prefix.count)))
        {
            values[KafkaSetting.prefix + name] = value
        } else {
            problems.append(
                ConfigurationProblem(
                    subject: "\(source)", message: "unknown setting '\(key)'" + hint(key), isOfFlag: source.isFlag))
        }
    }

    mutating func add(file path: String, isKafka: Bool) {
        let file: PropertiesFile
        do {
            file = try PropertiesFile.read(path)
        } catch {
            return problems.append(error)
        }
        problems += file.malformed.map {
            ConfigurationProblem(subject: "\(path):\($0)", message: "the line is not key=value")
        }
        for line in file.lines {
            // kcat takes settings of topics with this prefix.
            let isTopic = isKafka && line.key.hasPrefix("topic.") && KafkaSetting.name(line.key) == nil
            let key = isTopic ? String(line.key.dropFirst("topic.".count)) : line.key
            add(isKafka ? KafkaSetting.prefix + key : key, line.value, .file(path, line: line.number))
        }
    }

    /// An empty variable counts as not set.
    mutating func add(environment: [String: String]) {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key }) where !text.isEmpty {
            let value = Value(text: text, source: .environment(variable))
            if let key = Setting.keysByVariable[variable] {
                values[key] = value
            } else if variable.hasPrefix("KAFKA_"), let name = KafkaSetting.name(variable: variable) {
                values[KafkaSetting.prefix + name] = value
            } else if variable.hasPrefix("CARILLON_") || variable.hasPrefix("KAFKA_") {
                ignoredVariables.append(variable)
            }
        }
    }

    /// Reads librdkafka's own settings, and lets librdkafka check each of them.
    func readKafka(into settings: inout Settings) -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        for (key, value) in kafkaValues {
            let name = String(key.dropFirst(KafkaSetting.prefix.count))
            if let message = KafkaSetting.refusal(name) ?? KafkaSetting.problem(name, value.text) {
                problems.append(value.problem(key, message))
            } else {
                settings[name] = value.text
            }
        }
        return problems
    }

    /// A line for each variable with our prefix that names no setting and that Kubernetes has not made for a service.
    var variableWarnings: [String] {
        ignoredVariables.sorted().filter {
            $0.hasPrefix("CARILLON_") && !$0.contains("_SERVICE_") && !$0.contains("_PORT")
                && !Setting.isForTests(variable: $0)
        }.map { variable in
            let known = Setting.all.map(\.variable)
            let meant = suggest(variable, known) ?? known.first { $0.hasPrefix(variable + "_") }
            return "$\(variable) is no setting and is ignored" + (meant.map { "; did you mean $\($0)?" } ?? "")
        }
    }

    /// Every setting with its value and source.
    func effective(_ configuration: PipelineConfiguration?) -> [EffectiveSetting] {
        let ours = Setting.all.map { setting in
            let value = values[setting.key]
            return EffectiveSetting(
                key: setting.key, value: value?.text ?? setting.defaultText(configuration),
                source: value?.source ?? .default)
        }
        let kafka = kafkaValues.map { key, value in
            EffectiveSetting(
                key: key,
                value: KafkaSetting.isSecret(String(key.dropFirst(KafkaSetting.prefix.count)))
                    ? "<redacted>" : value.text,
                source: value.source)
        }
        return ours + kafka
    }

    private var kafkaValues: [(key: String, value: Value)] {
        values.filter { $0.key.hasPrefix(KafkaSetting.prefix) }.sorted { $0.key < $1.key }
    }

    private func hint(_ key: String) -> String {
        let kafka = ClientSettings.names.keys.map { KafkaSetting.prefix + $0 }
        if kafka.contains(KafkaSetting.prefix + key) { return "; librdkafka's own settings are written kafka.\(key)" }
        return suggest(key, Setting.all.map(\.key) + kafka.sorted()).map { "; did you mean \($0)?" } ?? ""
    }
}

extension Setting {
    static let keys = Set(all.map(\.key))
    static let keysByVariable = Dictionary(all.map { ($0.variable, $0.key) }) { first, _ in first }

    /// Variables that debug builds and tests read.
    fileprivate static func isForTests(variable: String) -> Bool {
        #if DEBUG
            // A release build has no hooks, and ignores this one as any other.
            if variable.hasPrefix("CARILLON_FAULT") { return true }
        #endif
        return ["CARILLON_SIMULATION_", "CARILLON_DEBUG", "CARILLON_FUZZING", "CARILLON_REWRITE_PAGES"]
            .contains { variable.hasPrefix($0) }
    }

    /// The value that applies when none is given.
    fileprivate func defaultText(_ configuration: PipelineConfiguration?) -> String? {
        switch (defaultValue, key) {
        case (.value(let text), _): text
        case (.computed, "instance.id"): configuration?.instanceID
        case (.computed, "workers"): (configuration?.workers).map { "\($0)" }
        case (.computed, "state.dir"): configuration?.stateDirectory
        case (.computed(let text), _): text
        case (.none, _): nil
        }
    }
}
