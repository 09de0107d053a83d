-- Takes the write side of a lock, or takes it once more for its owner.
-- KEYS[1] the lock: a hash of mode (read or write) and of owner to hold count
-- ARGV[1] lease in milliseconds   ARGV[2] owner on the write side
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, or -1
-- when it has none. Each further hold makes the lease longer by its own.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])
return nil
