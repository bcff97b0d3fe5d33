-- Writes the signs of the lists of a partition and its position, if Redis has all that the writer
-- wrote. It lacks some if it came back with an older state. Then the lists are not whole any more,
-- unless the writer has just begun: what it does not find may be what the one before did not write.
-- KEYS header; ARGV signs, least count of writes, least position, position, 1: has just begun
-- Returns the count of writes, or -1 less the count if some are lacking.
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
