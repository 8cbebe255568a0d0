import StateStore

/// The bytes of a number, most significant first: they sort as the numbers do.
func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
}

extension [UInt8] {
    /// `withUnsafeBytes` with the store's own error.
    func withStored(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        let result = withUnsafeBytes { bytes -> Result<Void, StoreError> in
            Result { () throws(StoreError) in try body(bytes) }
        }
        try result.get()
    }
}

extension StoreWriter {
    /// Writes entries in key order, which is fastest.
    func put(_ entries: [(key: [UInt8], value: [UInt8])]) throws(StoreError) {
        for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            try key.withStored { key throws(StoreError) in
                try value.withStored { value throws(StoreError) in try put(key, value) }
            }
        }
    }
}
