import Arguments
import Digests
import Foundation

/// The root of the command line.
struct Carillon: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "Turn the order events in Kafka into push notifications on iPhones and Androids.",
        discussion:
            "Settings come from flags, then the environment, then --config, then --kafka-config, then defaults.",
        examples: [
            ("carillon demo", "See it work, with no Kafka of your own."),
            ("carillon topics create -b localhost:9092", "Create the topics that the pipeline needs."),
            ("carillon check-config --config carillon.properties", "Show every setting and where it came from."),
            ("carillon run -b localhost:9092 --from latest", "Run the pipeline from now on."),
        ],
        version: Version.text,
        groups: [
            CommandGroup(
                "Run",
                [RunCommand.self, DeliverCommand.self, BroadcastsCommand.self, APICommand.self, ReadyCommand.self]),
            CommandGroup(
                "Send",
                [
                    SubscribeCommand.self, UnsubscribeCommand.self, SubscriptionsCommand.self, DevicesCommand.self,
                    PeopleCommand.self, NotifyCommand.self, CancelCommand.self, BroadcastCommand.self,
                ]),
            CommandGroup(
                "Look", [ExplainCommand.self, ScheduleCommand.self, DeliveriesCommand.self, RenderCommand.self]),
            CommandGroup("Mend", [ReplayCommand.self, OffsetsCommand.self, TableCommand.self]),
            CommandGroup(
                "Set up",
                [
                    DemoCommand.self, StandInCommand.self, TopicsCommand.self, CheckConfigCommand.self,
                    CompletionCommand.self,
                ]),
        ],
        pages: Version.pages)
}

@main
enum Main {
    static func main() async {
        OpenSSLCleanup.isLeftOut()
        let words = Array(CommandLine.arguments.dropFirst())
        ArgumentSecrets.hide()
        exit(await CommandRunner.run(words).rawValue)
    }
}
