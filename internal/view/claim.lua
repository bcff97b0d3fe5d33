-- Claims a partition for a generation of the log. After that a view of another
-- generation is not whole; one of the same generation stays as it was.
-- KEYS header; ARGV generation
if redis.call('HGET', KEYS[1], 'g') ~= ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'g', ARGV[1], 'w', '0')
end
return 1
