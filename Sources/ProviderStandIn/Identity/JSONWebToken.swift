import Digests
import JSONReader

/// A signed token's parts, read and not yet believed.
struct JSONWebToken {
    var algorithm: String?
    var keyID: String?
    /// The claims whose values are texts, and those whose values are whole numbers.
    var texts: [String: String] = [:]
    var numbers: [String: Int64] = [:]
    let signed: Substring
    let signature: [UInt8]

    /// nil if it is not three parts of base64 with two JSON objects.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0].utf8),
            let claims = Base64URL.decode(parts[1].utf8), let signature = Base64URL.decode(parts[2].utf8)
        else { return nil }
        self.signature = signature
        signed = text[..<parts[1].endIndex]
        guard let (texts, _) = Self.members(of: header), let values = Self.members(of: claims) else { return nil }
        algorithm = texts["alg"]
        keyID = texts["kid"]
        (self.texts, numbers) = values
    }

    private static func members(of json: [UInt8]) -> ([String: String], [String: Int64])? {
        var reader = JSONReader()
        return json.withUnsafeBytes { bytes in
            guard let value = try? reader.parse(bytes), value.isObject else { return nil }
            var texts: [String: String] = [:]
            var numbers: [String: Int64] = [:]
            var members = value.members
            while let (name, value) = members.next() {
                if let text = value.string { texts[name.swiftString] = text.swiftString }
                if let number = value.integer { numbers[name.swiftString] = number }
            }
            return (texts, numbers)
        }
    }
}

extension JSONText {
    var swiftString: String { String(decoding: bytes, as: UTF8.self) }
}
