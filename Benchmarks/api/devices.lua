-- For wrk: PUTs devices. Arguments: KEY FIRST COUNT PAUSE. Each device is new to the server, or the COUNT devices from FIRST on are
-- put again and again; with a PAUSE each connection waits about so many ms between an answer and its next request.
-- Prints one line of JSON.
local sent = 0

function init(arguments)
    first, count, pause = tonumber(arguments[2]), tonumber(arguments[3]), tonumber(arguments[4])
    head = { Authorization = "Bearer " .. arguments[1], ["Content-Type"] = "application/json" }
    if pause == 0 then delay = nil end
end

function delay()
    return math.random(0, 2 * pause)
end

function request()
    local number = string.format("%08d", first + (count > 0 and sent % count or sent))
    sent = sent + 1
    return wrk.format("PUT", "/v1/devices/installation-" .. number, head,
        '{"address":{"kind":"registration_token","value":"token-' .. number .. string.rep("x", 130)
        .. '"},"app":"com.example.shop","locale":"de","audiences":["channel/General","place/' .. tonumber(number) % 1000
        .. '","place/filled"]}')
end

function done(summary, latency)
    local errors = 0
    for _, count in pairs(summary.errors) do errors = errors + count end
    io.write(string.format('{"requests":%d,"seconds":%f,"errors":%d,"p50":%f,"p99":%f}\n',
        summary.requests, summary.duration / 1e6, errors, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
