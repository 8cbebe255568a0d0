import Arguments
import FanOut
import Foundation
import Pipeline

/// `carillon table check`
struct TableCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Look every entry of the stored table up, and say how many there are.",
        discussion: "Needs no broker. Ends with 1 if the table is damaged. Refused while a process works with it.",
        examples: [("carillon table check --group carillon --instance host-1", "That instance's table.")])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked(needsBroker: false)
        guard FileManager.default.fileExists(atPath: configuration.stateDirectory) else {
            throw CommandFailure(.difference, "state.dir: there is no table in \(configuration.stateDirectory)")
        }
        let folder = try StateFolder(path: configuration.stateDirectory)
        Console.write("\(folder.table)\n")
    }
}
