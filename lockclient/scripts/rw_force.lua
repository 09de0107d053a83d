-- Frees a lock that is in one mode, whoever holds it.
-- KEYS[1] the lock   KEYS[2] its channel
-- ARGV[1] message for waiters: 0 for a lock in read mode, 1 in write mode
-- ARGV[2] PUBLISH or SPUBLISH
-- Replies 1 when the lock was in that mode, else 0. Timers end by themselves.
local mode = ARGV[1] == '0' and 'read' or 'write'
if redis.call('hget', KEYS[1], 'mode') ~= mode then
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[2], KEYS[2], ARGV[1])
return 1
