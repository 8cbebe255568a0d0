import Arguments
import Foundation
import Replay

/// `carillon replay dead-letters`
struct ReplayDeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Put dead letters back into their topic after a repair. Notifies people.",
        discussion: """
            Tries every dead letter of an event or a request with the present settings. Those that would be accepted now \
            are written back unchanged to the topic they came from, to the partition of their key, and the running \
            pipeline processes them like any other. Requests count as events here. More than 10,000 need --most. To put \
            back what the settings alone cannot repair, name its code with --code, or give \
            the repaired value with --repaired. Each is put back once, even across crashes: resume with the same --id.
            """,
        examples: [
            ("carillon replay dead-letters --dry-run", "What could be put back, and why the rest cannot."),
            (
                "carillon replay dead-letters --code unknown_type --i-understand-this-notifies-people",
                "After an upgrade that knows the type."
            ),
            (
                "carillon replay dead-letters --repaired repaired.jsonl --i-understand-this-notifies-people",
                "With values repaired by hand."
            ),
        ])

    @Option(help: "Written at this time or later, or so long ago.", valueName: "time|-2h") var from: String?
    @Option(help: "Written before this time, or so long ago.", valueName: "time|-2h") var to: String?
    @Option(
        help: "Only those with this x-error-code.", valueName: "code",
        completion: .list(DeadLetter.Code.allCases.map(\.label)))
    var code: [String] = []
    @Option(help: "Only this partition of the dead letters.", valueName: "n") var partition: [Int] = []
    @Option(
        help: "Those in this file alone, with its values: JSON lines as kcat -J prints dead letters.",
        valueName: "file", completion: .file)
    var repaired: String?
    @Flag(help: "Also put back events whose order has newer events.") var includeLate: Bool
    @Option(help: "Leave out what happened longer ago: 1h by default.", valueName: "duration") var maxAge: String?
    @Option(help: "Events per second: 100 by default.", valueName: "n") var rate: Int?
    @Option(help: "The id to resume under; a new one by default.", valueName: "name") var id: String?
    @Flag(help: "Print JSON.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ResendOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        var problems = ReplayOptions.problems(from: from, to: to, partition: partition)
        let codes = DeadLetter.Code.allCases.map(\.label)
        problems += code.filter { !codes.contains($0) }.map {
            "--code \($0) is not allowed; it must be one of \(codes.joined(separator: ", "))"
        }
        if repaired != nil, from != nil || to != nil || !code.isEmpty || !partition.isEmpty {
            problems.append(
                "--repaired cannot be used with --from, --to, --code and --partition: the file is the selection")
        }
        if let maxAge, ReplayOptions.maxAge(maxAge) == nil {
            problems.append("--max-age \(maxAge) is not allowed; it must be a duration such as 90s, 15m, 2h or 1d")
        }
        if let rate, !(1...1_000_000).contains(rate) {
            problems.append("--rate \(rate) is not allowed; it must be 1 to 1000000 events per second")
        }
        if let id, ResendID(id) == nil { problems.append("--id \(id) is not allowed; it must be \(ResendID.rule)") }
        return problems
    }

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let id = ChosenID(id, now: now)
        do {
            let request = try self.request(configuration, now, id)
            let topics = configuration.topics
            try ReplayWork.withContext(configuration, now: now) { context in
                let work = ResendWork<DeadLetterRedrive, DeadLettersReport, DeadLettersOutcome>(
                    context: context, id: id, rate: rate ?? 100,
                    confirmation: confirmation.confirmation(of: .putBack, isStopped: context.isStopped), isJSON: json,
                    name: "Dead letters,", unit: "events", deed: "put back",
                    targets: topics.sources.map(topics.topic(of:))
                ) {
                    DeadLettersReport(id: id.text, plan: $0, topics: topics)
                } outcome: {
                    DeadLettersOutcome(id: id.text, confirmed: $0, $1, topics: topics, isNew: $2)
                }
                try work.run(isDry: confirmation.plan.dryRun) { try DeadLetterRedrive(context, request) }
            }
        } catch let error as UnfitRepairs {
            throw CommandFailure(.configuration, lines: error.problems + ["nothing was put back"])
        }
    }

    private func request(_ configuration: PipelineConfiguration, _ now: WallTime, _ id: ChosenID) throws
        -> DeadLetterRequest
    {
        var request = DeadLetterRequest()
        (request.id, request.isNewID) = (id.text, id.isNew)
        request.from = ReplayOptions.time(from, now: now)
        request.to = ReplayOptions.time(to, now: now)
        request.codes = Set(code)
        request.partitions = partition.isEmpty ? nil : Set(partition.map { Int32(clamping: $0) })
        let age = ReplayOptions.maxAge(maxAge) ?? 0
        request.oldest = now - age
        request.maxAge = age
        request.includesLate = includeLate
        if let repaired {
            request.repaired = try RepairedFile.read(repaired, topic: configuration.topics.deadLetters)
        }
        return request
    }
}
