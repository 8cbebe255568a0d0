import Arguments
import FanOut
import Foundation
import Pipeline
import Subscriptions

/// `carillon table wipe`
struct TableWipeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Delete the stored table; the next start fills it from the topic again.",
        discussion: "Always safe. Refused while a process works with it.",
        examples: [("carillon table wipe --group carillon --instance host-1", "That instance's table.")])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption

    func run() async throws {
        let configuration = try options.checked(adding: process.flags + folder.flags, needsBroker: false)
        guard FileManager.default.fileExists(atPath: configuration.stateDirectory) else {
            return Terminal.write("There is no table in \(configuration.stateDirectory).\n")
        }
        let folder = try StateFolder(path: configuration.stateDirectory)
        guard FileManager.default.fileExists(atPath: folder.table) else {
            return Terminal.write("There is no table in \(configuration.stateDirectory).\n")
        }
        try SubscriptionTable.wipe(directory: folder.table)
        Terminal.write("Deleted \(folder.table).\n")
    }
}
