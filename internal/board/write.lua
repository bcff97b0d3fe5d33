-- Writes one hospital: all fields of one version, or none.
-- KEYS sentinel, hash of the hospital, set of hospitals
-- ARGV generation, hospital, base (-1: replace all), version, position, chart,
--      number of rooms, field and value of each, then fields of rooms that are gone
local generation, base, version = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('HGET', KEYS[1], 'g') ~= generation then
  return -2
end
local have = redis.call('HMGET', KEYS[2], 'g', 'v')
local stored = nil
if have[1] == generation then
  stored = tonumber(have[2])
end
if stored and stored > version then
  return 0
end
if base < 0 then
  redis.call('DEL', KEYS[2])
elseif not stored or stored < base then
  redis.call('HSET', KEYS[1], 'w', '0')
  return -1
end
redis.call('HSET', KEYS[2], 'g', generation, 'v', ARGV[4], 'p', ARGV[5], 'u', ARGV[6])
local last = 7 + 2 * tonumber(ARGV[7])
for i = 8, last, 2 do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
for i = last + 1, #ARGV do
  redis.call('HDEL', KEYS[2], ARGV[i])
end
redis.call('SADD', KEYS[3], ARGV[2])
return 1
