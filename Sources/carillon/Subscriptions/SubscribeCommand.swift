import Arguments
import Pipeline

extension Platform: ExpressibleByArgument {}
extension PushEnvironment: ExpressibleByArgument {}
extension AddressKind: ExpressibleByArgument {}

/// `carillon subscribe`
struct SubscribeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Subscribe a device to an audience.",
        discussion: "The token is read from standard input or a file, so that it reaches neither the shell's history "
            + "nor the list of processes. Where topic.commands is set and a device of the registrar has the token, it "
            + "says so: the app's next start may undo this.",
        examples: [
            (
                "carillon subscribe --audience place/42 --platform fcm --app com.example.shop < token.txt",
                "An Android device, or an iOS one that registered with Firebase."
            ),
            (
                "carillon subscribe --audience place/42 --platform apns --app com.example.shop --environment development "
                    + "--token-file token.txt", "An iOS device that runs a development build."
            ),
            (
                "carillon subscribe --audience channel/General --platform fcm --address-kind installation_id "
                    + "--app com.example.shop --since 2026-01-31 < id.txt",
                "A device that has been there by a registration token, which is to be unsubscribed."
            ),
        ])

    @Option(help: "Whom the notifications are for.", valueName: "place/<id>|user/<id>|channel/<id>|device/<hash>")
    var audience: String
    @Option(help: "The provider of the token.") var platform: Platform
    @Option(help: "What the token is, where it is no registration token of FCM and no device token of APNs.")
    var addressKind: AddressKind?
    @Option(help: "Package name or bundle id.", valueName: "id") var app: String
    @Option(help: "The APNs host that the token is good for.") var environment: PushEnvironment = .production
    @Option(help: "The device's language, such as de-DE.", valueName: "tag") var locale: String?
    @OptionGroup(title: "Token") var token: TokenOptions
    @OptionGroup(title: "Rotation") var rotation: RotationOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        var subscription = Subscription(
            audience: audience, token: "", platform: platform, addressKind: addressKind, app: app,
            environment: environment, locale: locale, registeredAt: now, lastSeenAt: now)
        do {
            subscription.token = try token.read()
        } catch {
            throw CommandFailure(.usage, lines: error.lines + subscription.problemsWithoutToken)
        }
        try subscription.validate()
        var writer = try TopicWriter(configuration.topics.subscriptions, configuration)
        try writer.write(
            key: subscription.key, value: subscription.encoded(), headers: rotation.headers(now: now))
        try writer.finish()
        Terminal.write("subscribed \(subscription.key)\n")
        AddressOwner.warn(of: SubscriptionKey.tokenHash(of: subscription.token), configuration)
    }
}
