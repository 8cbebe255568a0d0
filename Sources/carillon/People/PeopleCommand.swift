import Arguments
import Pipeline
import Registrar

/// `carillon people`
struct PeopleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "people",
        abstract: "Show and erase people, and say what they get on each of their devices.",
        examples: [
            ("carillon people show 17", "What is known of somebody, with the devices."),
            ("carillon people audiences 17 place/42", "On each device of this person, also on one that comes later."),
            ("carillon people erase 17", "Shows what there is, and asks."),
        ],
        subcommands: [PeopleShowCommand.self, PeopleAudiencesCommand.self, PeopleEraseCommand.self])
}

/// The id of a person, as the shop has it.
struct PersonID: ExpressibleByArgument {
    let text: ByteText
    static let expected = "1 to 1,019 bytes without control characters"
    var argumentText: String { text.text }

    init?(argument: String) {
        guard ByteText("user/\(argument)").audience == .user else { return nil }
        text = ByteText(argument)
    }
}
