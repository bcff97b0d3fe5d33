-- Adds notices of some feeds of a hospital, and deletes the oldest.
-- KEYS sorted set of the feeds with notices, by the time of the newest notice. The key of the
--      notices of a feed consists of this key, the name of the feed and the kind.
-- ARGV now, ms until notices expire, limit of notices of a feed and kind, limit of feeds;
--      then for each feed its name, and for each kind (refusals, warnings, routine warnings) the number
--      of its notices, followed by the time in ms and the text of each
local now, keep, most, feeds = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local at = 5
while at <= #ARGV do
  local name = ARGV[at]
  at = at + 1
  for _, kind in ipairs({'r', 'w', 'i'}) do
    local key = KEYS[1] .. ':' .. name .. ':' .. kind
    local last = at + tonumber(ARGV[at])
    while at < last do
      redis.call('ZADD', key, ARGV[at + 1], ARGV[at + 2])
      at = at + 2
    end
    at = at + 1
    local over = redis.call('ZCARD', key) - most
    if over > 0 then
      for _, text in ipairs(redis.call('ZRANGE', key, 0, over - 1)) do
        redis.call('ZREM', key, text)
      end
    end
    redis.call('PEXPIRE', key, keep)
  end
  redis.call('ZADD', KEYS[1], now, name)
end
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1 - feeds)) do
  redis.call('DEL', KEYS[1] .. ':' .. name .. ':r', KEYS[1] .. ':' .. name .. ':w', KEYS[1] .. ':' .. name .. ':i')
  redis.call('ZREM', KEYS[1], name)
end
redis.call('PEXPIRE', KEYS[1], keep)
return 1
