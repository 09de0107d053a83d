-- Takes the write side of a lock, or takes it once more for its owner.
-- KEYS[1] the lock: a hash of mode (read or write) and of owner to hold count
-- ARGV[1] lease in milliseconds   ARGV[2] owner on the write side
-- ARGV[3] again if the owner has it: a lock that is gone stays so; else absent
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, -1 when it
-- has none, -2 when it is gone.
local mode = redis.call('hget', KEYS[1], 'mode')
if not ARGV[3] and mode == false and redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], 'mode', 'write')
elseif mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return nil
