-- Counts a write to the lists of a partition.
-- KEYS header
local count = tonumber(redis.call('HGET', KEYS[1], 'n') or '0') + 1
redis.call('HSET', KEYS[1], 'n', string.format('%d', count))
return count
