extension APNsMessage {
    mutating func begin(
        _ request: RequestNotification, of notification: Notification, _ batch: borrowing EventBatch
    ) -> DeadLetter? {
        body.removeAll()
        body.append("\"")
        body.appendHeaders(of: request, notification, batch, expiresAt: request.expiresAt)
        body.endObject()
        body.append(name: "payload")
        let start = body.endCount
        body.append("{")
        body.beginObject("aps")
        if request.isSilent {
            body.append("content-available", number: 1)
        } else {
            body.appendAPS(of: request, batch, hasAlert: true, hasBadge: true)
        }
        body.endObject()
        body.append(",")
        body.append(batch.bytes(request.custom))
        body.endObject()
        let size = body.endCount - start
        body.endObject()
        return Self.problem(ofSize: size)
    }
}
