/// The coordinates of a record in a topic that the context names.
package struct Coordinates: Hashable, Sendable {
    package var partition: Int32
    package var offset: Int64

    package init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}
