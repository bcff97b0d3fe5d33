-- Claims a partition for a generation of the log. If its view belongs to another
-- generation, it is no longer whole; otherwise it is unchanged.
-- KEYS header; ARGV generation
if redis.call('HGET', KEYS[1], 'g') ~= ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'g', ARGV[1], 'w', '0')
end
return 1
