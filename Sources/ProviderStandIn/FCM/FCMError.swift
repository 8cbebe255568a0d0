/// An answer in Google's error form (push-rules §1.4).
struct FCMError {
    var code: Int
    var message: String
    /// FcmError's; nil for an error that is not FCM's own.
    var errorCode: String?
    var violations: [Violation] = []
    var retryAfter: StandInFault.RetryAfter?

    struct Violation {
        var field: String
        var description: String
    }

    /// What the outcomes call it.
    var reason: String { errorCode ?? status }

    private var status: String {
        switch code {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 503: "UNAVAILABLE"
        default: "INTERNAL"
        }
    }

    var answer: StandInAnswer {
        var details: [String] = []
        if let errorCode {
            details.append(
                #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"#
                    + JSONQuote.text(errorCode)
                    + "}")
        }
        if !violations.isEmpty {
            let fields = violations.map {
                #"{"field":\#(JSONQuote.text($0.field)),"description":\#(JSONQuote.text($0.description))}"#
            }
            details.append(
                #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(fields.joined(separator: ","))]}"#
            )
        }
        let tail = details.isEmpty ? "" : #","details":[\#(details.joined(separator: ","))]"#
        let body = #"{"error":{"code":\#(code),"message":\#(JSONQuote.text(message)),"status":"\#(status)"\#(tail)}}"#
        var headers = [("content-type", "application/json; charset=UTF-8")]
        if let retryAfter { headers.append(("retry-after", retryAfter.headerValue)) }
        return StandInAnswer(status: code, headers: headers, body: body)
    }
}

package enum JSONQuote {
    package static func text(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case _ where scalar.value < 0x20:
                quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
