import Notifications
import Pipeline
import Telemetry

/// What `check-config --events` says of a file of records. Scripts rely on its member names: `deadLetters`.
struct EventsReport: Report {
    static let keys = ConfigurationReport.keys

    struct DeadLetters: Encodable {
        var code: String
        var records: Int
        /// Of the first one.
        var line: Int64
        var sentence: String
    }

    var records: Int
    /// By type, by kind, by reason, by template.
    var notifications: [String: Int]
    var audiences: [String: Int]
    var suppressed: [String: Int]
    var missingAudiences: [String: Int]
    /// The most frequent first.
    var deadLetters: [DeadLetters]
    /// What `events.members` and `events.types` should probably say.
    var members: [MemberProposals.Proposal]
    var types: [TypeProposal]
    /// The events that were read, which the proposals are about.
    var events: Int
    /// Whether the events have more names than were compared.
    var isCut: Bool

    /// - Parameter rules: those that the trial went by.
    init(_ trial: EventTrial, _ rules: ExtractionRules) {
        records = trial.records
        notifications = trial.notifications
        audiences = trial.audiences
        suppressed = Dictionary(uniqueKeysWithValues: trial.suppressed.map { ($0.key.label, $0.value) })
        missingAudiences = trial.missingAudiences
        deadLetters = trial.deadLetters
            .map {
                .init(code: $0.key.label, records: $0.value.count, line: $0.value.line, sentence: $0.value.sentence)
            }
            .sorted { ($1.records, $0.line) < ($0.records, $1.line) }
        members = MemberProposals(trial.survey, beside: rules.members.paths).proposals
        types = TypeProposal.list(trial.survey.unknownTypes)
        events = trial.survey.events
        isCut = trial.survey.isCut
    }

    var rows: [Row] {
        var rows: [Row] = [.pair("records", ProgressLine.grouped(records))]
        func count(_ name: String, _ counts: [String: Int]) {
            let total = counts.values.reduce(0, +)
            let parts = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { "\(ProgressLine.grouped($0.value)) \($0.key.trimmingPrefix("event_"))" }
            rows.append(
                .pair(name, ProgressLine.grouped(total) + (total > 0 ? ": " + parts.joined(separator: ", ") : "")))
        }
        count("notifications", notifications)
        count("audiences", audiences)
        if !missingAudiences.isEmpty { count("audiences left out", missingAudiences) }
        if !suppressed.isEmpty { count("notify nobody", suppressed) }
        count("dead letters", Dictionary(uniqueKeysWithValues: deadLetters.map { ($0.code, $0.records) }))
        if !deadLetters.isEmpty {
            var table = TextTable(["DEAD LETTER", "RECORDS", "FIRST LINE", "BECAUSE"])
            for letter in deadLetters {
                table.append([letter.code, ProgressLine.grouped(letter.records), "\(letter.line)", letter.sentence])
            }
            rows += [.line(""), .table(table)]
        }
        rows += proposals(members.map { sentence(of: $0) }, for: "events.members", mapping)
        rows += proposals(types.map { sentence(of: $0) }, for: "events.types", TypeProposal.declarations(types))
        if isCut { rows.append(.line("The events have more different names than were compared.")) }
        return rows
    }

    /// What all proposals together are as the file of their setting.
    private var mapping: [String: [String]] {
        Dictionary(uniqueKeysWithValues: members.map { ($0.key, [$0.path]) })
    }

    private func proposals(_ sentences: [String], for setting: String, _ file: some Encodable & Collection) -> [Row] {
        guard !sentences.isEmpty else { return [] }
        let json = file.isEmpty ? nil : try? JSONOutput.text(file, keys: Self.keys)
        return [.line("")] + sentences.map { .line($0) }
            + (json.map { [.line("\(setting)=@FILE, and in the file:"), .line(String($0.dropLast()))] } ?? [])
    }

    private func sentence(of member: MemberProposals.Proposal) -> String {
        "`\(member.path)` in \(share(member.events)): map it to `\(member.key)` with events.members?"
    }

    private func sentence(of type: TypeProposal) -> String {
        let first = "`\(type.type)` in \(share(type.events)):"
        guard let known = type.known else { return "\(first) declare it as `\(type.name)` with events.types?" }
        return "\(first) is it \(known)? Then its words need `_` or `.` between them."
    }

    private func share(_ number: Int) -> String {
        "\(ProgressLine.grouped(number)) of \(ProgressLine.counted(events, "event"))"
    }
}
