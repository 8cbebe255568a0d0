/// Phones on the command line: reads what `carillon render` prints, and prints what each device's user would see.
///
///     carillon render --subscriptions Examples/subscriptions.jsonl Examples/events.jsonl |
///         swift run --package-path Examples/receiving-app receiving-app 5c775c46
///
/// The argument is how a device's key begins, the SHA-256 of its token; without one, all devices are shown. With
/// `--json` each push is printed as what the app gets to know of it, repeats too. Lines that are no dispatch records are
/// skipped.
@main
enum ReceivingApp {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        let isJSON = arguments.contains("--json")
        let device = arguments.first { $0 != "--json" } ?? ""
        var phones: [String: Phone] = [:]
        while let line = readLine() {
            guard let delivery = Delivery(line: line), delivery.device.hasPrefix(device) else { continue }
            guard !isJSON else {
                print(delivery.json)
                continue
            }
            let shown = phones[delivery.device, default: Phone()].receive(delivery.push)
            print(delivery.device.prefix(8), shown.joined(separator: "\n         "))
        }
    }
}
