/// Numbers for a person.
package enum NumberText {
    /// `12,000`.
    package static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0 && index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + String(text.reversed())
    }

    /// A rate by its size: `12,000`, `9.5`, `0.3`, `<0.1`, and `0` for nothing at all.
    package static func rate(_ perSecond: Double) -> String {
        let tenths = (perSecond * 10).rounded()
        guard perSecond > 0, tenths >= 1 else { return perSecond > 0 ? "<0.1" : "0" }
        guard tenths < 100 else { return grouped(Int(min(perSecond.rounded(), 1e15))) }
        return "\(Int(tenths) / 10).\(Int(tenths) % 10)"
    }
}
