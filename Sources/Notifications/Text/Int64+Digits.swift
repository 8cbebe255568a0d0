extension Int64 {
    /// A number in decimal digits; nil if the text is empty, has any other character, or is too large.
    package init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOneTooLarge) = tens.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            guard !isTooLarge, !isOneTooLarge else { return nil }
            number = sum
        }
        self = number
    }
}
