/// Why a credential cannot be used: the file, the member, what was found and what is allowed; never a part of a secret.
package struct CredentialError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file, as the configuration names it.
    package let file: String
    package let problem: String

    package init(file: String, _ problem: String) {
        self.file = file
        self.problem = problem
    }

    package var description: String { "\(file): \(problem)" }
}
