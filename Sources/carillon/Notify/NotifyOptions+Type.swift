import Arguments
import Notifications

extension NotifyOptions {
    /// Warns of an unknown type that the rules send all the same (`requests.unknown-types`).
    ///
    /// - Throws: if it looks like a typo of a known one; exit code 64.
    func checkType(_ rules: RequestRules) throws(CommandFailure) {
        guard let appType, !appType.isEmpty, rules.unknownTypes == .send else { return }
        let known = (AppTypes.documented + rules.appTypes.added).map(\.name)
        guard !known.contains(appType) else { return }
        if let meant = nearest(to: appType, in: known) {
            throw CommandFailure(
                .usage,
                "--app-type \(appType) is no known type; did you mean \(meant)? Add a type of your own to app-types")
        }
        Terminal.warn(
            "warning: --app-type \(appType) is no known type and is sent as it is; known are "
                + "\(known.joined(separator: ", ")). Add a type of your own to app-types")
    }
}
