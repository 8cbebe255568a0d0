/// Whether two buffers have equal bytes.
///
/// Compares eight bytes per step, which `elementsEqual` does not. Not by `memcmp`: its module has another name on each
/// system, and this library is for phones too.
package func sameBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    let count = left.count
    guard count == right.count else { return false }
    guard let first = left.baseAddress, let second = right.baseAddress else { return true }
    if count >= 8 {
        var index = 0
        while index < count - 8 {
            guard isSame(first, second, at: index, UInt64.self) else { return false }
            index += 8
        }
        // The last eight bytes: some of them are compared twice, so that the loop needs no remainder.
        return isSame(first, second, at: count - 8, UInt64.self)
    }
    if count >= 4 {
        return isSame(first, second, at: 0, UInt32.self) && isSame(first, second, at: count - 4, UInt32.self)
    }
    for index in 0..<count where !isSame(first, second, at: index, UInt8.self) {
        return false
    }
    return true
}

@inline(__always)
private func isSame<Word: FixedWidthInteger & BitwiseCopyable>(
    _ first: UnsafeRawPointer, _ second: UnsafeRawPointer, at index: Int, _: Word.Type
) -> Bool {
    first.loadUnaligned(fromByteOffset: index, as: Word.self)
        == second.loadUnaligned(fromByteOffset: index, as: Word.self)
}
