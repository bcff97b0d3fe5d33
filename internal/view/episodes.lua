-- Deletes the alert runs of a hospital that ended too long ago, oldest first.
-- KEYS hash of the runs, runs that have ended by when they ended
-- ARGV end of the runs to delete (ms), number of runs to look at
local ended = redis.call('ZRANGE', KEYS[2], 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
for i = 1, #ended, 2 do
  if tonumber(ended[i + 1]) >= tonumber(ARGV[1]) then
    break
  end
  redis.call('HDEL', KEYS[1], ended[i])
  redis.call('ZREM', KEYS[2], ended[i])
end
return 1
