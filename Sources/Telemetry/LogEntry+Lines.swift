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
    /// A JSON string with its quotes, without control characters and separators of lines.
    fileprivate mutating func appendJSONString(_ text: String) {
        append(UInt8(ascii: "\""))
        defer { append(UInt8(ascii: "\"")) }
        // Nearly every text, and many times as fast.
        if text.isPlainASCII, !text.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            self += text.utf8
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": self += #"\""#.utf8
            case "\\": self += #"\\"#.utf8
            case "\n": self += #"\n"#.utf8
            case "\r": self += #"\r"#.utf8
            case "\t": self += #"\t"#.utf8
            default:
                if scalar.needsEscape {
                    appendJSONEscape(scalar)
                } else {
                    self += String(scalar).utf8
                }
            }
        }
    }

    fileprivate mutating func appendText(_ text: String, quoted: Bool) {
        if quoted {
            appendJSONString(text)
        } else {
            self += text.inOneLine.utf8
        }
    }
}
