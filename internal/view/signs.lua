-- Writes the signs of the lists of a partition and its position, if Redis has everything that the
-- writer wrote. If Redis was restored to an older state, the lists are no longer whole, unless the
-- writer has just started: the missing data may be what its predecessor did not write.
-- KEYS header; ARGV signs, minimum count of writes, minimum position, position, 1: just started
-- Returns the count of writes, or -1 minus the count if writes are missing.
local have = redis.call('HMGET', KEYS[1], 'n', 'p')
local count, before = tonumber(have[1] or '0'), tonumber(have[2] or '-1')
if count < tonumber(ARGV[2]) or before < tonumber(ARGV[3]) then
  if ARGV[5] ~= '1' then
    redis.call('HSET', KEYS[1], 'w', '0')
  end
  return -1 - count
end
redis.call('HSET', KEYS[1], 's', ARGV[1])
if before < tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[1], 'p', ARGV[4])
end
return count
