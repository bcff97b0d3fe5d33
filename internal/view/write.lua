-- Writes one hospital: all fields of one version, or none. The header has the sum of the versions
-- of all hospitals, by which mark.lua detects lost writes.
-- KEYS header, hash of the hospital, set of hospitals, hash of its site, hash of its codes
-- ARGV generation, hospital, base (-1: replace all), version, position, chart,
--      recent changes, channel for the notice of a new version,
--      number of rooms, of deleted rooms and of records of the site,
--      field and value of each room, fields of deleted rooms,
--      name and value of each record of the site, then names of deleted records
local generation, base, version = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local header = redis.call('HMGET', KEYS[1], 'g', 'n')
if header[1] ~= generation then
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
  redis.call('DEL', KEYS[2], KEYS[4], KEYS[5])
elseif not stored or stored < base then
  redis.call('HSET', KEYS[1], 'w', '0')
  return -1
end
redis.call('HSET', KEYS[2], 'g', generation, 'v', ARGV[4], 'p', ARGV[5], 'u', ARGV[6], 'd', ARGV[7])
local at = 12
local till = at + 2 * tonumber(ARGV[9])
while at < till do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
  at = at + 2
end
till = at + tonumber(ARGV[10])
while at < till do
  redis.call('HDEL', KEYS[2], ARGV[at])
  at = at + 1
end
local function list(name)
  if string.sub(name, 1, 5) == 'code/' then
    return KEYS[5]
  end
  return KEYS[4]
end
till = at + 2 * tonumber(ARGV[11])
while at < till do
  redis.call('HSET', list(ARGV[at]), ARGV[at], ARGV[at + 1])
  at = at + 2
end
while at <= #ARGV do
  redis.call('HDEL', list(ARGV[at]), ARGV[at])
  at = at + 1
end
redis.call('SADD', KEYS[3], ARGV[2])
if header[2] and stored ~= version then
  redis.call('HSET', KEYS[1], 'n', string.format('%d', tonumber(header[2]) + version - (stored or 0)))
end
if stored ~= version then
  redis.call('PUBLISH', ARGV[8], generation .. '.' .. ARGV[4])
end
return 1
