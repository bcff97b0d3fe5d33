-- Adds the counts of some feeds of a hospital.
-- KEYS hash of the newest times, then for each level the hash of its block
-- ARGV bucket of each level, ms until the block of each level expires, ms until the newest
--      times expire; then for each feed: name, first and last time received, last applied,
--      last event (ms, 0: none), ten counts. A bucket has the first six, the gap, the other four
local at = 8
while at <= #ARGV do
  local name, first = ARGV[at], tonumber(ARGV[at + 1])
  local before = tonumber(redis.call('HGET', KEYS[1], 'r' .. name) or '0')
  local gap = 0
  if first > 0 and before > 0 and first > before then
    gap = first - before
  end
  for i, field in ipairs({'r', 'a', 'e'}) do
    local value = ARGV[at + 1 + i]
    -- the last event is that of the newest message; the other times never decrease
    local newer = field == 'e' and tonumber(ARGV[at + 2]) >= before
      or field ~= 'e' and tonumber(value) > tonumber(redis.call('HGET', KEYS[1], field .. name) or '0')
    if value ~= '0' and newer then
      redis.call('HSET', KEYS[1], field .. name, value)
    end
  end
  for level = 1, 3 do
    local bucket = ARGV[level] .. '/' .. name
    local sums = {}
    for n in string.gmatch(redis.call('HGET', KEYS[1 + level], bucket) or '', '%d+') do
      sums[#sums + 1] = tonumber(n)
    end
    for i = 1, 11 do
      local sum = sums[i] or 0
      if i == 7 then
        sum = math.max(sum, gap)
      elseif i < 7 then
        sum = sum + tonumber(ARGV[at + 4 + i])
      else
        sum = sum + tonumber(ARGV[at + 3 + i])
      end
      sums[i] = string.format('%d', sum)
    end
    redis.call('HSET', KEYS[1 + level], bucket, table.concat(sums, ' '))
  end
  at = at + 15
end
for level = 1, 3 do
  redis.call('PEXPIRE', KEYS[1 + level], ARGV[3 + level])
end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 1
