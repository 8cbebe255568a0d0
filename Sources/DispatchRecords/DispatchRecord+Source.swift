import NotificationPayload

extension DispatchRecord {
    /// Where a push comes from, `<topic>/<partition>/<offset>`: its event, or for a timer the offset that its partition was
    /// read to.
    package struct Source {
        /// As it stands in the record, whose bytes these are.
        package let text: UnsafeRawBufferPointer
        package let topic: UnsafeRawBufferPointer
        package let partition: Int32
        package let offset: Int64

        private static let separator = UInt8(ascii: "/")

        /// Nil for what is no source.
        package init?(_ text: UnsafeRawBufferPointer) {
            guard let second = text.lastIndex(of: Self.separator),
                let first = text[..<second].lastIndex(of: Self.separator), first > 0,
                let partition = Int64(digits: text[(first + 1)..<second]).flatMap(Int32.init(exactly:)),
                let offset = Int64(digits: text[(second + 1)...])
            else { return nil }
            self.text = text
            topic = UnsafeRawBufferPointer(rebasing: text[..<first])
            self.partition = partition
            self.offset = offset
        }

        static func append(topic: String, partition: Int32, offset: Int64, to text: inout ByteWriter) {
            text.append(topic)
            text.append(Self.separator)
            text.append(decimal: Int64(partition))
            text.append(Self.separator)
            text.append(decimal: offset)
        }
    }
}

extension Int64 {
    /// From decimal digits; nil where there is none or something else, and for more than fits.
    init?(digits: Slice<UnsafeRawBufferPointer>) {
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
