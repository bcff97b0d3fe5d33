-- Sets the position of the view of a partition after the writes up to it. The sum of the versions of
-- its hospitals must be at least that of the writer. If it is less, Redis was restored to an older
-- state; then nothing is set, and the partition is no longer whole.
-- Sealing also marks the partition as whole and deletes hospitals of other generations. The signs
-- report that the processor is alive, and how far it has read the log. A processor behind the stored
-- position writes no signs, because it has lost the partition without knowing it.
-- KEYS header, set of hospitals
-- ARGV generation, position, 1 to seal, channel, partition,
--      keys of hospital, site and codes without the id of the hospital,
--      the last instant at which the log had nothing after the position (Unix ms; '': none, and
--      no signs are written), ms that the next input has waited, sum of the versions
local have = redis.call('HMGET', KEYS[1], 'g', 'w', 'p', 'n')
if have[1] ~= ARGV[1] then
  return -2
end
local versions = tonumber(have[4] or '')
if ARGV[3] == '1' then
  versions = 0
  for _, hospital in ipairs(redis.call('SMEMBERS', KEYS[2])) do
    local stored = redis.call('HMGET', ARGV[6] .. hospital, 'g', 'v')
    if stored[1] ~= ARGV[1] then
      redis.call('DEL', ARGV[6] .. hospital, ARGV[7] .. hospital, ARGV[8] .. hospital)
      redis.call('SREM', KEYS[2], hospital)
    else
      versions = versions + tonumber(stored[2])
    end
  end
  redis.call('HSET', KEYS[1], 'n', string.format('%d', versions))
elseif have[2] ~= '1' then
  return -2
end
if not versions or versions < tonumber(ARGV[11]) then
  redis.call('HSET', KEYS[1], 'w', '0')
  return -1
end
local before, position = tonumber(have[3] or ''), tonumber(ARGV[2])
if ARGV[3] == '1' then
  redis.call('HSET', KEYS[1], 'w', '1')
end
if not before or before < position then
  redis.call('HSET', KEYS[1], 'p', ARGV[2])
end
if ARGV[9] ~= '' and (not before or before <= position) then
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[1], 's', string.format('%d %s %s', now, ARGV[9], ARGV[10]))
end
if ARGV[3] == '1' or before ~= position then
  redis.call('PUBLISH', ARGV[4], ARGV[1] .. ' ' .. ARGV[5] .. ' ' .. ARGV[2])
end
return 1
