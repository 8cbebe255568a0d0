import KafkaClient

extension DispatchRecord {
    /// A record as a consumer read it; a null key or value is empty.
    init(_ record: RecordView, headers: UnsafeBufferPointer<EventHeader>) {
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        self.init(key: record.key ?? empty, value: record.value ?? empty, headers: headers)
    }
}
