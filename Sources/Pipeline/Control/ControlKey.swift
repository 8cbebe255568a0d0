import Notifications

/// The key of a record of `topic.control`: what it is about (docs/rules.md §13).
package enum ControlKey: Equatable, Sendable {
    /// A request, by its header `request-id`.
    case cancel(String)
    case pause(PauseTarget)
    /// An address of which older pushes are withdrawn, by the registrar's command with this offset.
    case address(AddressHash, command: Int64)

    /// An id has at most 255.
    private static let mostBytes = 512

    /// Nil for a key of no form that this version knows.
    package init?(_ key: [UInt8]) {
        // By bytes: an accent that begins an id would be one character with the slash before it.
        guard key.count <= Self.mostBytes, let (kind, rest) = Self.split(key[...]),
            let id = String(validating: rest, as: UTF8.self)
        else { return nil }
        switch kind {
        case "cancel":
            guard !id.isEmpty else { return nil }
            self = .cancel(id)
        case "pause":
            guard let (name, credential) = Self.split(rest) else {
                guard let platform = Platform(rawValue: id) else { return nil }
                self = .pause(PauseTarget(platform))
                return
            }
            guard let platform = Platform(rawValue: name), !credential.isEmpty else { return nil }
            self = .pause(PauseTarget(platform, credential: String(decoding: credential, as: UTF8.self)))
        case "address":
            guard let (hash, command) = Self.split(rest), let address = AddressHash(hex: hash),
                let command = Int64(digits: command)
            else { return nil }
            self = .address(address, command: command)
        default: return nil
        }
    }

    /// What is before the first slash and behind it.
    private static func split(_ key: ArraySlice<UInt8>) -> (String, ArraySlice<UInt8>)? {
        guard let slash = key.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return (String(decoding: key[..<slash], as: UTF8.self), key[(slash + 1)...])
    }

    package var text: String {
        switch self {
        case .cancel(let id): "cancel/\(id)"
        case .pause(let target): "pause/\(target)"
        case .address(let address, let command): "address/\(address.hex)/\(command)"
        }
    }
}

/// What is paused: a provider, or one of its credentials.
package struct PauseTarget: Hashable, Sendable, CustomStringConvertible {
    package let platform: Platform
    /// Its name; nil: all of the provider.
    package let credential: String?

    package init(_ platform: Platform, credential: String? = nil) {
        self.platform = platform
        self.credential = credential
    }

    /// `fcm`, or `fcm/shop`.
    package var description: String {
        credential.map { "\(platform.rawValue)/\($0)" } ?? platform.rawValue
    }
}
