import Foundation
import Pipeline

/// Whether a credential's file has changed since it was read.
struct CredentialVersion {
    private var version = FileVersion()

    init(of credential: DeliveryCredential) { _ = take(credential) }

    /// Whether its contents are not those of the last call. A file that cannot be read, as while it is replaced, has not
    /// changed.
    mutating func take(_ credential: DeliveryCredential) -> Bool {
        guard let contents = FileManager.default.contents(atPath: credential.source.file) else { return false }
        return version.take(Array(contents))
    }
}
