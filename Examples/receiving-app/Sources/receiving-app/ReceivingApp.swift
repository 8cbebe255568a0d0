import Foundation
import NotificationPayload

/// Phones on the command line: reads what `carillon render` prints, and prints what each device's user would see.
///
///     carillon render --subscriptions Examples/subscriptions.jsonl Examples/events.jsonl |
///         swift run --package-path Examples/receiving-app receiving-app --links Examples/document-3.properties 5c775c46
///
/// The argument is how a device's key begins, the SHA-256 of its token; without one, all devices are shown. `--links` names a
/// file with the templates of deep links, as `carillon explain` reads them; without it no push has a link. With
/// `--json` each push is printed as what the app gets to know of it, repeats too. Lines that are no dispatch records are
/// skipped.
///
/// `--register` registers the phone instead, as ``Registration`` says.
@main
enum ReceivingApp {
    static func main() async {
        if CommandLine.arguments.dropFirst().first == "--register" {
            guard let registration = Registration(Array(CommandLine.arguments.dropFirst(2))) else {
                print("--register: an address of the API, then --store, --fid, --person, --token, --locale, --audience")
                exit(64)
            }
            return print(await registration.run())
        }
        var (device, links, isJSON) = ("", DeepLinks(), false)
        var arguments = CommandLine.arguments.dropFirst().makeIterator()
        while let word = arguments.next() {
            switch word {
            case "--json": isJSON = true
            case "--links":
                do {
                    links = try DeepLinks(properties: String(contentsOfFile: arguments.next() ?? "", encoding: .utf8))
                } catch {
                    print("--links: \(error)")
                    exit(64)
                }
            default: device = word
            }
        }
        var phones: [String: Phone] = [:]
        while let line = readLine() {
            guard let delivery = Delivery(line: line), delivery.device.hasPrefix(device) else { continue }
            guard !isJSON else {
                print(delivery.json(links))
                continue
            }
            let shown = phones[delivery.device, default: Phone(links: links)].receive(delivery.push)
            print(delivery.device.prefix(8), shown.joined(separator: "\n         "))
        }
    }
}

extension DeepLinks {
    /// Of lines such as `deep-link.food=https://shop.example/orders/{order_id}`; others are skipped.
    init(properties: String) throws {
        var templates: [String: String] = [:]
        for line in properties.split(separator: "\n") where line.hasPrefix("deep-link.") {
            let parts = line.dropFirst("deep-link.".count).split(separator: "=", maxSplits: 1)
            if parts.count == 2 { templates[String(parts[0])] = String(parts[1]) }
        }
        try self.init(templates: templates)
    }
}
