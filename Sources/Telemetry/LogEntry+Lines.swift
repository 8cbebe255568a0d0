extension LogEntry {
    /// One line for a person, newline included. Control characters are escaped, so that no value can forge a line or
    /// reach the terminal.
    /// - Parameter hasColors: whether the level has its colour.
    func textLine(hasColors: Bool = false) -> [UInt8] {
        var line: [UInt8] = []
        line += time.iso8601.utf8.dropFirst(11).dropLast()
        let color = hasColors ? level.color : nil
        line += " \(color?.paint(level.rawValue) ?? level.rawValue)".utf8
        line += repeatElement(UInt8(ascii: " "), count: max(1, 9 - level.rawValue.utf8.count))
        line.appendText(label, quoted: false)
        line += ": ".utf8
        line.appendText(message, quoted: false)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            line.append(UInt8(ascii: " "))
            line.appendText(key, quoted: false)
            line.append(UInt8(ascii: "="))
            line.appendText(
                value, quoted: value.isEmpty || value.utf8.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x3D })
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// One JSON object (RFC 8259) and a newline: `time`, `level`, `label`, `message`, and `metadata` where there is
    /// any.
    func jsonLine() -> [UInt8] {
        var line: [UInt8] = Array(#"{"time":"#.utf8)
        line.appendJSONString(time.iso8601)
        line += #","level":""#.utf8
        line += level.rawValue.utf8
        line += #"","label":"#.utf8
        line.appendJSONString(label)
        line += #","message":"#.utf8
        line.appendJSONString(message)
        if !metadata.isEmpty {
            line += #","metadata":"#.utf8
            var separator = UInt8(ascii: "{")
            for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
                line.append(separator)
                line.appendJSONString(key)
                line.append(UInt8(ascii: ":"))
                line.appendJSONString(value)
                separator = UInt8(ascii: ",")
            }
            line.append(UInt8(ascii: "}"))
        }
        line += "}\n".utf8
        return line
    }
}

extension [UInt8] {
    /// A JSON string with its quotes; U+0000–U+001F, U+007F–U+009F and the line separators are escaped.
    fileprivate mutating func appendJSONString(_ text: String) {
        append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": self += #"\""#.utf8
            case "\\": self += #"\\"#.utf8
            case "\n": self += #"\n"#.utf8
            case "\r": self += #"\r"#.utf8
            case "\t": self += #"\t"#.utf8
            default:
                if scalar.needsEscape {
                    self += #"\u"#.utf8
                    appendHex(scalar.value, width: 4)
                } else {
                    self += String(scalar).utf8
                }
            }
        }
        append(UInt8(ascii: "\""))
    }

    fileprivate mutating func appendText(_ text: String, quoted: Bool) {
        if quoted {
            appendJSONString(text)
            return
        }
        for scalar in text.unicodeScalars {
            if scalar.needsEscape {
                self += #"\u{"#.utf8
                appendHex(scalar.value, width: 1)
                append(UInt8(ascii: "}"))
            } else {
                self += String(scalar).utf8
            }
        }
    }

    private mutating func appendHex(_ value: UInt32, width: Int) {
        let digits = String(value, radix: 16)
        self += repeatElement(UInt8(ascii: "0"), count: Swift.max(0, width - digits.utf8.count))
        self += digits.utf8
    }
}

extension Unicode.Scalar {
    /// Control characters, line separators, and the controls that change the direction of text: what text from elsewhere must
    /// not bring into a log or a terminal.
    package var needsEscape: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
