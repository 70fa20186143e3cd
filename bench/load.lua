-- Requests and counts for wrk: `requests FILE` sends the lines of a file in rotation; `events SEED SIZE REPEATS PATH BOOKINGS`
-- makes events of random visitors, SIZE per request, with REPEATS percent duplicates of recent ones.

local RECENT = 8192
local random, format, find = math.random, string.format, string.find
local threads = {}

-- Counts of one thread, which `done` reads.
recorded = 0

function setup(thread)
    threads[#threads + 1] = thread
end

local function from_file(name)
    local requests, at = {}, 0
    for line in io.lines(name) do
        requests[#requests + 1] = line:gsub("~", "\r\n")
    end
    return function()
        at = at % #requests + 1
        return requests[at]
    end
end

local function uuid()
    return format("%08x-%04x-4%03x-%x%03x-%06x%06x", random(0, 0xffffffff), random(0, 0xffff), random(0, 0xfff),
        random(8, 11), random(0, 0xfff), random(0, 0xffffff), random(0, 0xffffff))
end

local function event_maker(repeats, bookings)
    local sent, made = {}, 0
    return function()
        if made > 0 and random(100) <= repeats then
            return sent[random(math.min(made, RECENT))]
        end
        local event = format('{"bookingId":"%s","kind":"%s","visitorId":"%s"}', bookings[random(#bookings)],
            random(16) == 1 and "click" or "impression", uuid())
        made = made + 1
        sent[(made - 1) % RECENT + 1] = event
        return event
    end
end

local function events(seed, size, repeats, path, names)
    math.randomseed(seed)
    local bookings = {}
    for name in names:gmatch("[^,]+") do
        bookings[#bookings + 1] = name
    end
    local event, several = event_maker(repeats, bookings), {}
    local head = "POST " .. path .. " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
    return function()
        local body
        if size == 1 then
            body = event()
        else
            for place = 1, size do
                several[place] = event()
            end
            body = '{"events":[' .. table.concat(several, ",") .. "]}"
        end
        return head .. #body .. "\r\n\r\n" .. body
    end
end

local function count_recorded(status, headers, body)
    local _, at = find(body, '"recorded":true', 1, true)
    while at do
        recorded = recorded + 1
        _, at = find(body, '"recorded":true', at, true)
    end
end

function init(arguments)
    if arguments[1] == "requests" then
        request = from_file(arguments[2])
    else
        request = events(tonumber(arguments[2]), tonumber(arguments[3]), tonumber(arguments[4]), arguments[5], arguments[6])
        response = count_recorded
    end
end

function done(summary, latency)
    local errors, all = summary.errors, 0
    for _, thread in ipairs(threads) do
        all = all + thread:get("recorded")
    end
    io.write(format(
        '\n{"answers":%d,"failures":%d,"recorded":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f}\n',
        summary.requests - errors.status, errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        all, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
