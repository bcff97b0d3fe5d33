-- Removes tokens from the bucket of a caller, like limit.Bucket, by the clock of Redis.
-- KEYS bucket; ARGV tokens per second, burst, tokens wanted
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local rate, burst, want = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local have = redis.call('HMGET', KEYS[1], 't', 'a')
local tokens, at = tonumber(have[1]), tonumber(have[2])
if not tokens or not at then
  tokens, at = burst, now
end
if now > at then
  tokens = math.min(tokens + (now - at) * rate, burst)
  at = now
end
local taken = '0'
if tokens >= want then
  taken, tokens = '1', tokens - want
end
redis.call('HSET', KEYS[1], 't', string.format('%.6f', tokens), 'a', string.format('%.6f', at))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 60000)
return {taken, string.format('%.6f', tokens)}
