-- Takes the read side of a lock, or takes it once more for its owner.
-- KEYS[1] the lock: a hash of mode (read or write) and of owner to hold count
-- KEYS[2] prefix of the owner's timers, one string with a TTL for each hold
-- ARGV[1] lease in milliseconds   ARGV[2] owner   ARGV[3] owner on the write side
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, or -1
-- when it has none. The timers of earlier holds stay as they are.
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  mode = 'read'
  redis.call('hset', KEYS[1], 'mode', mode)
end
if mode ~= 'read' and redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return redis.call('pttl', KEYS[1])
end
local hold = redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('set', KEYS[2] .. ':' .. hold, 1, 'px', ARGV[1])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
return nil
