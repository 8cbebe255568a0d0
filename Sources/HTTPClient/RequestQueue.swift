/// Requests that wait for a stream, first in, first out. Allocates only where it becomes longer than ever before.
struct RequestQueue {
    private var waiting: [HTTPRequest?] = []
    private var first = 0
    /// Those that had a turn already, the next one last.
    private var putBack: [HTTPRequest] = []

    var isEmpty: Bool { first == waiting.count && putBack.isEmpty }

    mutating func append(_ request: HTTPRequest) {
        waiting.append(request)
    }

    /// Gives a request the next turn.
    mutating func putBack(_ request: HTTPRequest) {
        putBack.append(request)
    }

    mutating func popFirst() -> HTTPRequest? {
        if let request = putBack.popLast() { return request }
        guard first < waiting.count else { return nil }
        let request = waiting[first]
        waiting[first] = nil
        first += 1
        // Every element moves once at most for each one that was taken.
        if first * 2 > waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        return request
    }

    /// Takes out the requests with these tags, in their order; every request if there are none.
    mutating func remove(tags: Set<UInt64>?) -> [UInt64] {
        var removed: [UInt64] = []
        var kept: [HTTPRequest] = []
        while let request = popFirst() {
            if tags?.contains(request.tag) ?? true { removed.append(request.tag) } else { kept.append(request) }
        }
        waiting = kept
        first = 0
        return removed
    }
}
