import CRDKafka
import Glibc

/// The names of the topics in a batch, each made once: a record carries only a handle, and a `String` per record would
/// cost an allocation per record.
@usableFromInline
struct TopicNames {
    @usableFromInline var names: [String] = []
    /// The handles seen since the batch was emptied. A handle is valid while the batch has a record with it; later the
    /// same address may belong to another topic.
    private var handles: [OpaquePointer?] = []
    private var last: (handle: OpaquePointer?, index: Int32) = (nil, 0)

    mutating func index(of handle: OpaquePointer?) -> Int32 {
        if let handle, handle == last.handle { return last.index }
        let index = lookUp(handle)
        last = (handle, index)
        return index
    }

    /// The index of a topic without a record.
    mutating func index(of name: String) -> Int32 {
        if let index = names.firstIndex(of: name) { return Int32(index) }
        names.append(name)
        handles.append(nil)
        return Int32(names.count - 1)
    }

    mutating func forgetHandles() {
        last = (nil, 0)
        for index in handles.indices { handles[index] = nil }
    }

    private mutating func lookUp(_ handle: OpaquePointer?) -> Int32 {
        if let handle, let index = handles.firstIndex(of: handle) { return Int32(index) }
        let name = handle.flatMap { rd_kafka_topic_name($0) }
        let bytes = UnsafeRawBufferPointer(start: name, count: name.map { strlen($0) } ?? 0)
        if let index = names.firstIndex(where: { $0.utf8.elementsEqual(bytes) }) {
            handles[index] = handle
            return Int32(index)
        }
        names.append(String(decoding: bytes, as: UTF8.self))
        handles.append(handle)
        return Int32(names.count - 1)
    }
}
