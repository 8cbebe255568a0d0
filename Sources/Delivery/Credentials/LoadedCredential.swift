import Foundation
import Pipeline

/// A credential whose files have been read: the one place that knows how a file of each source is read.
package enum LoadedCredential: Sendable {
    /// FCM: asks for access tokens by itself.
    case serviceAccount(ServiceAccount)
    /// FCM: a token that somebody else refreshes.
    case token(BearerToken, projectID: String)
    /// APNs.
    case providerKey(ProviderKey)

    /// Reads the credential's file. An error names the file and what is wrong with it, and has nothing of its contents.
    package static func read(_ credential: DeliveryCredential) throws(CredentialError) -> LoadedCredential {
        switch credential.source {
        case .serviceAccount(let file):
            return .serviceAccount(try ServiceAccount(json: try contents(of: file), file: file))
        case .tokenFile(let file, let projectID):
            // It becomes a part of the URL.
            guard !projectID.isEmpty, projectID.utf8.allSatisfy(ServiceAccount.isNameByte) else {
                throw CredentialError(
                    file: file,
                    "its project_id is '\(projectID)'; allowed are letters, digits and the characters . : _ -")
            }
            return .token(try TokenFile.token(try contents(of: file), file: file), projectID: projectID)
        case .providerKey(let file, let keyID, let teamID):
            return .providerKey(
                try ProviderKey(pem: try contents(of: file), keyID: keyID, teamID: teamID, file: file))
        }
    }

    /// What is wrong with the credential's file although it can be read: nil, or a sentence.
    ///
    /// A link is followed: Kubernetes mounts a Secret's files as links.
    package static func warning(of credential: DeliveryCredential) -> String? {
        let file = credential.source.file
        var status = stat()
        guard stat(file, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
        return "credential '\(credential.name)': every user can read \(file); protect it with chmod 600, or 640 for a "
            + "group"
    }

    private static func contents(of file: String) throws(CredentialError) -> [UInt8] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else {
            throw CredentialError(file: file, "there is no such file")
        }
        guard !isFolder.boolValue else { throw CredentialError(file: file, "it is a folder; allowed is a file") }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CredentialError(file: file, "it cannot be read; allowed is a file that this user may read")
        }
        return Array(data)
    }
}
