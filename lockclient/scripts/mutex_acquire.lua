-- Takes a lock, or takes it once more for its owner.
-- KEYS[1] the lock: a hash of owner to hold count; with a mode, what owners read
-- ARGV[1] lease in milliseconds   ARGV[2] owner
-- ARGV[3] again if the owner has it: a lock that is gone stays so; else absent
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, -1 when it
-- has none, -2 when it is gone.
if ARGV[3] and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
local free = redis.call('exists', KEYS[1]) == 0
if free or redis.call('hexists', KEYS[1], ARGV[2]) == 1 and redis.call('hexists', KEYS[1], 'mode') == 0 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
