/// Numbers as JavaScript prints them: `1.0` is `1`, `1e21` is `1e+21`, an integer keeps all its digits.
package enum JSONNumberText {
    /// Appends a number; false, and nothing appended, for any other value.
    ///
    /// Allocates only for a number with a fraction or beyond 2^53 that was written with a point or an exponent.
    package static func append(_ value: JSONValue, to text: inout [UInt8]) -> Bool {
        if let integer = value.integer {
            if integer < 0 {
                text.append(UInt8(ascii: "-"))
            }
            append(integer.magnitude, to: &text)
        } else if let unsigned = value.unsigned {
            append(unsigned, to: &text)
        } else if let double = value.double {
            append(double, to: &text)
        } else {
            return false
        }
        return true
    }

    package static func append(_ integer: UInt64, to text: inout [UInt8]) {
        let start = text.count
        var rest = integer
        repeat {
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        text[start...].reverse()
    }

    /// ECMA-262, Number::toString(x, 10), of a finite number.
    package static func append(_ double: Double, to text: inout [UInt8]) {
        guard double.isFinite else { return }
        if double < 0 {
            text.append(UInt8(ascii: "-"))
        }
        let magnitude = double.magnitude
        if magnitude < 9_007_199_254_740_992, magnitude == magnitude.rounded(.towardZero) {
            append(UInt64(magnitude), to: &text)
            return
        }
        // Swift prints the shortest digits that read back as the same number, as JavaScript does, in a form of its own.
        var digits: [UInt8] = []
        let point = decompose(magnitude.description, into: &digits)
        write(digits, point: point, to: &text)
    }

    /// The significant digits of a description, and how many of them stand before the point (n of ECMA-262).
    private static func decompose(_ description: String, into digits: inout [UInt8]) -> Int {
        var point: Int?
        var exponent = 0
        var isExponent = false
        var isNegative = false
        for byte in description.utf8 {
            switch byte {
            case UInt8(ascii: "."): point = digits.count
            case UInt8(ascii: "e"): isExponent = true
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            default:
                if isExponent {
                    exponent = exponent * 10 + Int(byte - UInt8(ascii: "0"))
                } else {
                    digits.append(byte)
                }
            }
        }
        var before = (point ?? digits.count) + (isNegative ? -exponent : exponent)
        let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeFirst(zeros)
        before -= zeros
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
        }
        return before
    }

    private static func write(_ digits: [UInt8], point: Int, to text: inout [UInt8]) {
        let zero = UInt8(ascii: "0")
        switch point {
        case digits.count...21:
            text += digits
            text.append(contentsOf: repeatElement(zero, count: point - digits.count))
        case 1...21:
            text += digits[..<point]
            text.append(UInt8(ascii: "."))
            text += digits[point...]
        case -5...0:
            text += [zero, UInt8(ascii: ".")]
            text.append(contentsOf: repeatElement(zero, count: -point))
            text += digits
        default:
            text.append(digits[0])
            if digits.count > 1 {
                text.append(UInt8(ascii: "."))
                text += digits[1...]
            }
            text += [UInt8(ascii: "e"), UInt8(ascii: point > 0 ? "+" : "-")]
            append(UInt64((point - 1).magnitude), to: &text)
        }
    }
}
