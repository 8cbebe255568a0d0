import Arguments
import Foundation
import Pipeline

/// `carillon check-config`
struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Show every setting, its value and where it came from; secrets are redacted.",
        discussion: """
            Ends with 78 and a line for each problem if the configuration cannot be used. With delivery.credentials the \
            files of the credentials are read and checked, too; 'carillon deliver --check' asks the providers. With --events \
            it tries the settings on a file of records, in the forms that 'carillon render' reads: what would be sent, and to \
            whom, what would be a dead letter, and which names of the events these settings do not read. No broker is needed.
            """,
        examples: [
            ("carillon check-config --config carillon.properties", "The settings that 'run' would use."),
            ("carillon check-config --kafka-config ~/.config/kcat.conf --json", "The same as one JSON document."),
            ("carillon check-config --set commit.interval=20ms", "Try a setting."),
            ("carillon check-config --events events.jsonl", "Try the settings on your own events."),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption
    @Option(help: "Records to try, as JSON lines; - is standard input.", valueName: "file", completion: .file)
    var events: String?
    @Flag(help: "Print one JSON document.") var json: Bool

    func run() async throws {
        let loaded = options.load(adding: process.flags + folder.flags, needsBroker: events == nil)
        let configuration = try? loaded.checked()
        let credentials = configuration.map { CredentialsCheck($0) }
        let problems = loaded.problems + (credentials?.problems ?? [])
        let warnings = (configuration.map { ExposureCheck($0).warnings } ?? []) + (credentials?.warnings ?? [])
        let memory = configuration.map { OrderMemory($0).text }
        var report = ConfigurationReport(loaded, problems, warnings, memory)
        if let events, let configuration {
            report.events = try EventsReport(EventTrial(events, configuration), configuration.rules)
        }
        try Output.print(report, json: json)
        if !json { for warning in warnings { Terminal.warn("warning: \(warning)") } }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }
}

/// Every setting, its value and its source. Scripts rely on its member names: `ignoredVariables`.
struct ConfigurationReport: Report {
    static let keys = JSONEncoder.KeyEncodingStrategy.useDefaultKeys

    struct Entry: Encodable {
        var key: String
        var value: String?
        var source: String
    }

    var settings: [Entry]
    var ignoredVariables: [String]
    var problems: [String]
    var warnings: [String]
    /// What the orders may take of the memory that the process may use.
    var memory: String?
    /// What became of records that were tried; a person sees it alone.
    var events: EventsReport?

    init(
        _ loaded: LoadedConfiguration, _ problems: [ConfigurationProblem], _ warnings: [String], _ memory: String?
    ) {
        self.memory = memory
        settings = loaded.settings.map { Entry(key: $0.key, value: $0.value, source: $0.source.description) }
        ignoredVariables = loaded.ignoredVariables
        self.problems = problems.map(\.description)
        self.warnings = warnings
    }

    var rows: [Row] {
        if let events { return events.rows }
        var table = TextTable(["SETTING", "VALUE", "SOURCE"])
        for setting in settings {
            table.append([setting.key, setting.value.map { $0.isEmpty ? "\"\"" : $0 } ?? "-", setting.source])
        }
        let ignored = ignoredVariables.joined(separator: ", ")
        return [.table(table)]
            + (ignored.isEmpty ? [] : [.line(""), .line("Ignored environment variables: \(ignored)")])
            + (memory.map { [.line(""), .line($0)] } ?? [])
    }
}
