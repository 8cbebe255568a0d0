import JSONReader

/// What APNs demands of headers and payload (push-rules §2.2, §2.3).
enum APNSRules {
    private static let pushTypes: Set<String> = [
        "alert", "background", "controls", "complication", "fileprovider", "liveactivity", "location", "mdm",
        "pushtotalk", "voip", "widgets",
    ]

    static func rejection(of request: StandInRequest, _ token: String) -> APNSRejection? {
        let names = request.headers.map(\.name).filter { $0.hasPrefix("apns-") }
        if Set(names).count != names.count { return APNSRejection(400, "DuplicateHeaders") }
        if let id = request[header: "apns-id"], !isUUID(id) { return APNSRejection(400, "BadMessageId") }
        if let reason = reason(request) { return APNSRejection(400, reason) }
        if request.body.isEmpty { return APNSRejection(400, "PayloadEmpty") }
        if request.body.count > (request[header: "apns-push-type"] == "voip" ? 5_120 : 4_096) {
            return APNSRejection(413, "PayloadTooLarge")
        }
        if !hasAPS(request.body) { return APNSRejection(400, "PayloadEmpty") }
        let isToken = token.utf8.count >= 8 && token.utf8.allSatisfy(isHexDigit)
        return isToken ? nil : APNSRejection(400, "BadDeviceToken")
    }

    private static func reason(_ request: StandInRequest) -> String? {
        guard let topic = request[header: "apns-topic"], !topic.isEmpty else { return "MissingTopic" }
        if topic.utf8.contains(0x20) { return "BadTopic" }
        if let time = request[header: "apns-expiration"], Int64(time).map({ $0 < 0 }) ?? true {
            return "BadExpirationDate"
        }
        let priority = request[header: "apns-priority"]
        if let priority, !["10", "5", "1"].contains(priority) { return "BadPriority" }
        if let id = request[header: "apns-collapse-id"], id.utf8.count > 64 { return "BadCollapseId" }
        guard let type = request[header: "apns-push-type"], pushTypes.contains(type) else { return "InvalidPushType" }
        return type == "background" && priority != "5" ? "BadPriority" : nil
    }

    /// A JSON object with an `aps` that is one.
    private static func hasAPS(_ body: [UInt8]) -> Bool {
        var reader = JSONReader()
        return body.withUnsafeBytes { bytes in
            guard let value = try? reader.parse(bytes), value.isObject else { return false }
            return value.member("aps")?.isObject ?? false
        }
    }

    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12] && parts.allSatisfy { $0.utf8.allSatisfy(isHexDigit) }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
