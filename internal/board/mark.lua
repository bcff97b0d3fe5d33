-- Says how far the view of a partition is, after the writes it stands for.
-- Sealing also says that it is whole, and removes hospitals of other generations.
-- KEYS sentinel, set of hospitals
-- ARGV generation, position, 1 to seal, channel, partition, keys of hospital, site and codes without its id
local have = redis.call('HMGET', KEYS[1], 'g', 'w', 'p')
if have[1] ~= ARGV[1] then
  return -2
end
if ARGV[3] == '1' then
  for _, hospital in ipairs(redis.call('SMEMBERS', KEYS[2])) do
    if redis.call('HGET', ARGV[6] .. hospital, 'g') ~= ARGV[1] then
      redis.call('DEL', ARGV[6] .. hospital, ARGV[7] .. hospital, ARGV[8] .. hospital)
      redis.call('SREM', KEYS[2], hospital)
    end
  end
  redis.call('HSET', KEYS[1], 'w', '1')
elseif have[2] ~= '1' then
  return -2
end
if not have[3] or tonumber(have[3]) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'p', ARGV[2])
end
redis.call('PUBLISH', ARGV[4], ARGV[1] .. ' ' .. ARGV[5] .. ' ' .. ARGV[2])
return 1
