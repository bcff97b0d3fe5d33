-- Writes an alert run of a hospital, and deletes the runs that ended too long ago.
-- KEYS hash of the runs, runs that have ended by when they ended
-- ARGV id, value, when the run ended (ms; '': it has not), end of the runs to delete (ms), ms until the keys expire
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
end
local ended = redis.call('ZRANGE', KEYS[2], 0, 99, 'WITHSCORES')
for i = 1, #ended, 2 do
  if tonumber(ended[i + 1]) >= tonumber(ARGV[4]) then
    break
  end
  redis.call('HDEL', KEYS[1], ended[i])
  redis.call('ZREM', KEYS[2], ended[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
