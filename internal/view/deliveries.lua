-- Writes deliveries to one endpoint of a hospital. A delivery with a lower rank than the stored one
-- is skipped. Beyond the limit of the endpoint, the oldest deliveries are deleted. The header counts
-- the writes.
-- KEYS hash of all deliveries of the hospital, their order, their order at the endpoint, header of the
--      lists of the partition
-- ARGV limit of deliveries to an endpoint, ms until the keys expire; then for each delivery:
--      id, when it occurred (ms), rank (of a fixed length), value
for at = 3, #ARGV, 4 do
  local id, rank = ARGV[at], ARGV[at + 2]
  local before = redis.call('HGET', KEYS[1], id)
  if not before or string.sub(before, 1, #rank) <= rank then
    redis.call('HSET', KEYS[1], id, rank .. ARGV[at + 3])
    redis.call('ZADD', KEYS[2], ARGV[at + 1], id)
    redis.call('ZADD', KEYS[3], ARGV[at + 1], id)
  end
end
local over = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[1])
if over > 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, over - 1)) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
    redis.call('ZREM', KEYS[3], id)
  end
end
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
local count = tonumber(redis.call('HGET', KEYS[4], 'n') or '0') + 1
redis.call('HSET', KEYS[4], 'n', string.format('%d', count))
return 1
