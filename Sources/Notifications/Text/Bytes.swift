extension UnsafeRawBufferPointer {
    package init(_ text: StaticString) {
        self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    package func hasPrefix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && prefix(text.utf8CodeUnitCount).elementsEqual(UnsafeRawBufferPointer(text))
    }

    package func hasSuffix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && suffix(text.utf8CodeUnitCount).elementsEqual(UnsafeRawBufferPointer(text))
    }
}
