import Arguments
import Pipeline

/// `carillon cancel`
struct CancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Do not send the pushes of a request that are not sent yet.",
        discussion: """
            Writes to topic.control, which each 'carillon deliver' follows: after 1 s no process decides to send a push of \
            the request, and one that waits for its turn at the provider begins at most 3 s later. The pushes end as \
            cancelled, also those that wait for another attempt. A device that has the push keeps it. It holds for 28 days, \
            also for a request that comes later, and for every request with this id.
            """,
        examples: [
            ("carillon cancel bills-2025-17", "By the id of the request."),
            ("carillon cancel bills-2025-17 --why wrong-amounts", "With a reason for people."),
        ])

    @Argument(help: "The request_id.") var id: String
    @Option(help: "For people, in the record.", valueName: "text") var why = ""
    @Flag(help: "Print the outcome as JSON.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        var problems = [ControlEntry.problem(why: why)].compactMap(\.self)
        if RequestID.header(of: id) == nil {
            problems.append("the id is blank; allowed is the request_id of a request")
        }
        return problems
    }

    func run() async throws {
        guard let header = RequestID.header(of: id) else { return }
        try ControlLog(options).write(.cancel(header), .own(why: why))
        try Output.print(Cancellation(requestID: id), json: json)
    }
}

struct Cancellation: Report {
    var requestID: String

    var rows: [Row] { [.line("cancelled \(requestID): what is not sent yet is not sent")] }
}
