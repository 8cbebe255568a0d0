import JSONReader

/// The fields of a message and their types (push-rules §1.2), and what Google says where one is wrong.
enum FCMMessageRules {
    indirect enum Shape {
        case text, flag, integer, list, object, texts, duration
        case fields([String: Shape])
    }

    static let message = Shape.fields([
        "name": .text, "fid": .text, "token": .text, "topic": .text, "condition": .text, "data": .texts,
        "notification": .fields(["title": .text, "body": .text, "image": .text]), "fcm_options": label,
        "android": .fields([
            "collapse_key": .text, "priority": .text, "ttl": .duration, "restricted_package_name": .text,
            "data": .texts, "notification": androidNotification, "fcm_options": label, "direct_boot_ok": .flag,
            "bandwidth_constrained_ok": .flag, "restricted_satellite_ok": .flag,
        ]),
        "apns": .fields([
            "headers": .texts, "payload": .object, "live_activity_token": .text,
            "fcm_options": .fields(["analytics_label": .text, "image": .text]),
        ]),
        "webpush": .fields([
            "headers": .texts, "data": .texts, "notification": .object,
            "fcm_options": .fields(["link": .text, "analytics_label": .text]),
        ]),
    ])

    private static let label = Shape.fields(["analytics_label": .text])

    private static let androidNotification: Shape = {
        var fields: [String: Shape] = [
            "body_loc_args": .list, "title_loc_args": .list, "vibrate_timings": .list, "sticky": .flag,
            "local_only": .flag, "default_sound": .flag, "default_vibrate_timings": .flag,
            "default_light_settings": .flag, "notification_count": .integer, "light_settings": .object,
        ]
        for name in [
            "title", "body", "icon", "color", "sound", "tag", "click_action", "body_loc_key", "title_loc_key",
            "channel_id", "ticker", "event_time", "notification_priority", "visibility", "image", "proxy",
        ] { fields[name] = .text }
        return .fields(fields)
    }()

    /// What is wrong with the value of `message`; empty if nothing is.
    static func violations(in value: JSONValue?) -> [FCMError.Violation] {
        guard let value, value.isObject else {
            return [.init(field: "message", description: "Invalid value at 'message' (type object)")]
        }
        var found: [FCMError.Violation] = []
        check(value, message, "message", &found)
        if found.isEmpty { checkContents(value, &found) }
        return found
    }

    private static func check(_ value: JSONValue, _ shape: Shape, _ path: String, _ found: inout [FCMError.Violation]) {
        func wrong(_ type: String) {
            found.append(.init(field: path, description: "Invalid value at '\(path)' (\(type))"))
        }
        switch shape {
        case .text: if !value.isString { wrong("TYPE_STRING") }
        case .flag: if value.boolean == nil { wrong("TYPE_BOOL") }
        case .integer: if value.integer == nil { wrong("TYPE_INT32") }
        case .list: if !value.isArray { wrong("type list") }
        case .object: if !value.isObject { wrong("type object") }
        case .duration: if !isDuration(value) { wrong("type.googleapis.com/google.protobuf.Duration") }
        case .texts:
            guard value.isObject else { return wrong("type object") }
            var members = value.members
            var index = 0
            while let (_, value) = members.next() {
                if !value.isString {
                    let field = "\(path)[\(index)].value"
                    found.append(.init(field: field, description: "Invalid value at '\(field)' (TYPE_STRING)"))
                }
                index += 1
            }
        case .fields(let fields):
            guard value.isObject else { return wrong("type object") }
            var members = value.members
            while let (name, value) = members.next() {
                let name = name.swiftString
                if let shape = fields[name] {
                    check(value, shape, "\(path).\(name)", &found)
                } else {
                    found.append(
                        .init(
                            field: path,
                            description:
                                "Invalid JSON payload received. Unknown name \"\(name)\" at '\(path)': Cannot find field."
                        ))
                }
            }
        }
    }

    /// At most 2,419,200 seconds, with nine digits after the point.
    private static func isDuration(_ value: JSONValue) -> Bool {
        guard let text = value.string?.swiftString, text.hasSuffix("s") else { return false }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { 48...57 ~= $0 } }),
            let seconds = Int(parts[0])
        else { return false }
        return seconds <= 2_419_200 && (parts.count == 1 || parts[1].utf8.count <= 9)
    }

    private static func checkContents(_ message: JSONValue, _ found: inout [FCMError.Violation]) {
        let targets: [StaticString] = ["fid", "token", "topic", "condition"]
        if targets.count(where: { message.member($0) != nil }) != 1 {
            found.append(
                .init(field: "message", description: "Recipient of the message is not set or set more than once."))
        }
        if let priority = message.member("android")?.member("priority")?.string?.swiftString,
            !["normal", "high", "NORMAL", "HIGH"].contains(priority)
        {
            let field = "message.android.priority"
            found.append(.init(field: field, description: "Invalid value at '\(field)', \"\(priority)\""))
        }
        var size = 0
        if var members = message.member("data")?.members {
            while let (name, value) = members.next() {
                let key = name.swiftString
                if key == "from" || key == "message_type" || key.hasPrefix("google") || key.hasPrefix("gcm") {
                    found.append(.init(field: "message.data", description: "Invalid data payload key: \(key)"))
                }
                size += name.count + (value.string?.count ?? 0)
            }
        }
        if var members = message.member("notification")?.members {
            while let (name, value) = members.next() { size += name.count + (value.string?.count ?? 0) }
        }
        if size > 4_096 {
            found.append(.init(field: "message", description: "Message is too big: \(size) bytes"))
        }
    }
}
