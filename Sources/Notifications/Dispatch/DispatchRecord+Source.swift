import NotificationPayload

extension DispatchRecord {
    /// Where a push comes from, `<topic>/<partition>/<offset>`: the position of its event, or for a timer the offset up
    /// to which its partition was read.
    package struct Source {
        /// The bytes in the record, which owns them.
        package let text: UnsafeRawBufferPointer
        package let topic: UnsafeRawBufferPointer
        package let partition: Int32
        package let offset: Int64

        private static let separator = UInt8(ascii: "/")

        /// Nil if the text is not a source.
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
