-- Takes the read side of a lock, or takes it once more for its owner.
-- KEYS[1] the lock: a hash of mode (read or write) and of owner to hold count
-- KEYS[2] prefix of the owner's timers, one string with a TTL for each hold
-- ARGV[1] lease in milliseconds   ARGV[2] owner   ARGV[3] owner on the write side
-- ARGV[4] again if the owner has it: a hold that is gone stays so; else absent
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, -1 when it
-- has none, -2 when it is gone. All timers of the owner get the lease, as any of them may be
-- the last to go.
local mode = redis.call('hget', KEYS[1], 'mode')
if ARGV[4] and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
if mode == false and redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], 'mode', 'read')
elseif mode ~= 'read' and (mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[3]) == 0) then
  return redis.call('pttl', KEYS[1])
end
for hold = redis.call('hincrby', KEYS[1], ARGV[2], 1), 1, -1 do
  redis.call('set', KEYS[2] .. ':' .. hold, 1, 'px', ARGV[1])
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return nil
