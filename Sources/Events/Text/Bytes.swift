extension UnsafeRawBufferPointer {
    package init(_ text: StaticString) {
        self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
