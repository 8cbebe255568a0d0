/// Where an app keeps what this installation is known by. It holds a secret, and must not come back from a backup on another phone:
/// the keychain with `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly` (docs/registering.md).
public protocol InstallationStore: Sendable {
    /// - Returns: what ``save(_:)`` was given last; nil where it never was.
    /// - Throws: where it cannot be read now, such as before the first unlock: then nothing is sent.
    func load() throws -> String?
    /// Returns when the text is stored, in place of the one before.
    func save(_ text: String) throws
}
