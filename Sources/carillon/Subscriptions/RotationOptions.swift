import Arguments
import KafkaClient
import Pipeline

/// What is said of a token that takes the place of another one.
struct RotationOptions: ParsableArguments {
    @Option(
        help: "Since when the device has been in the audience by a token that this one replaces: then it does not get "
            + "older broadcasts again.",
        valueName: "time|-2h")
    var since: String?

    func validate() -> [String] { [ReplayOptions.timeProblem("--since", since)].compactMap(\.self) }

    func headers(now: WallTime) -> [RecordHeader] {
        guard let time = ReplayOptions.time(since, now: now) else { return [] }
        return [RecordHeader(SubscriptionRecord.sinceHeader, Array("\(time.milliseconds)".utf8))]
    }
}
