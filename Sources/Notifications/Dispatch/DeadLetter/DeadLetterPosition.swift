/// Where a record was that became a dead letter, and why: nothing of what is in it.
package struct DeadLetterPosition: Sendable, Equatable {
    package var code: DeadLetter.Code
    package var topic: String
    package var partition: Int32
    package var offset: Int64

    package init(_ code: DeadLetter.Code, topic: String, partition: Int32, offset: Int64) {
        self.code = code
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}
