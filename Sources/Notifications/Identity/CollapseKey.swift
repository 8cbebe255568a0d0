/// The key by which providers replace a notification (docs/rules.md §8.5).
package enum CollapseKey {
    /// Whether a provider's header can hold it: at most 64 bytes of visible ASCII.
    package static func isSafe(_ key: UnsafeRawBufferPointer) -> Bool {
        !key.isEmpty && key.count <= 64 && key.allSatisfy { $0 >= 0x21 && $0 <= 0x7E }
    }
}
