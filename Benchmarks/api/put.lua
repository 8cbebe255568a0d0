-- For wrk: PUTs distinct requests. Arguments: KEY PREFIX. Prints one line of JSON.
local sent = 0

function init(arguments)
    prefix = "/v1/requests/" .. arguments[2] .. "-"
    head = { Authorization = "Bearer " .. arguments[1], ["Content-Type"] = "application/json" }
    body = '{"audience":"user/17","app":{"title":"New bill","body":"23.40 €","data":{"type":"NewBill","bill_id":"B-1021","note":"'
        .. string.rep("x", 200) .. '"}}}'
end

function request()
    sent = sent + 1
    return wrk.format("PUT", prefix .. sent, head, body)
end

function done(summary, latency)
    local errors = 0
    for _, count in pairs(summary.errors) do errors = errors + count end
    io.write(string.format('{"requests":%d,"seconds":%f,"errors":%d,"p50":%f,"p99":%f}\n',
        summary.requests, summary.duration / 1e6, errors, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
