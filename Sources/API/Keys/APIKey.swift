import Digests
import Pipeline

/// The text of a key: `crl_live_<id>_<secret><checksum>`, eight digits, 43 and six, of 0–9, A–Z and a–z.
///
/// Scanners for secrets know it by its beginning, and a typing error is seen without the file of keys. It is a secret: it has
/// no description, and nothing stores it.
package struct APIKey {
    package typealias Environment = APIConfiguration.Environment

    package let environment: Environment
    /// What logs and records call the key by.
    package let id: String
    package let text: String

    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let idCount = 8
    /// 256 bits.
    static let secretCount = 43
    private static let checksumCount = 6

    /// A new key.
    package init(_ environment: Environment) {
        let id = Self.randomDigits(Self.idCount)
        let front = "crl_\(environment.rawValue)_\(id)_\(Self.randomDigits(Self.secretCount))"
        self.environment = environment
        self.id = id
        text = front + String(decoding: Self.checksum(of: front.utf8), as: UTF8.self)
    }

    static func randomDigits(_ count: Int) -> String {
        var random = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in digits[Int.random(in: 0..<digits.count, using: &random)] }, as: UTF8.self)
    }

    /// What a client sent.
    init(_ text: some StringProtocol) throws(KeyRefusal) {
        let text = String(text)
        let parts = text.utf8.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].elementsEqual("crl".utf8),
            let environment = Environment(rawValue: String(Substring(parts[1]))),
            parts[2].count == Self.idCount, parts[3].count == Self.secretCount + Self.checksumCount,
            parts[2].allSatisfy(Self.isDigit), parts[3].allSatisfy(Self.isDigit)
        else { throw .noKey }
        guard
            Self.checksum(of: text.utf8.dropLast(Self.checksumCount))
                .elementsEqual(text.utf8.suffix(Self.checksumCount))
        else { throw .wrongChecksum }
        self.environment = environment
        id = String(Substring(parts[2]))
        self.text = text
    }

    /// In hex: what the file of keys has of it. 256 random bits need no slow hash.
    package var hash: String { SHA256.hex(of: text) }

    static func isID(_ text: String) -> Bool {
        text.utf8.count == idCount && text.utf8.allSatisfy(isDigit)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// CRC-32 as zlib has it, the first digit the greatest.
    private static func checksum(of text: some Sequence<UInt8>) -> [UInt8] {
        var remainder = UInt32.max
        for byte in text {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder >> 1 ^ (remainder & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        var rest = Int(~remainder)
        var digits: [UInt8] = []
        for _ in 0..<checksumCount {
            digits.append(Self.digits[rest % 62])
            rest /= 62
        }
        return digits.reversed()
    }
}

/// Why a credential is not accepted. The client hears less than the log: a wrong secret is an unknown key.
enum KeyRefusal: String, Error {
    case noCredential = "no credential"
    case noKey = "not a key"
    case wrongChecksum = "a checksum that does not fit"
    case otherEnvironment = "a key of another environment"
    case unknownID = "an unknown id"
    case wrongSecret = "a wrong secret"
    case expired = "a key that has expired"

    var code: ProblemCode {
        switch self {
        case .noCredential: .noCredential
        case .noKey, .wrongChecksum, .otherEnvironment, .unknownID, .wrongSecret: .unknownKey
        case .expired: .expiredToken
        }
    }
}
