-- Takes a waiter out of the queue of a fair lock; those behind it move up. If it was the
-- first, and the lock is free, the message for it may be lost with it: the next is woken.
-- KEYS[1] the queue: a list of owners   KEYS[2] the waiters' deadlines
-- KEYS[3] the lock   KEYS[4] its channel: a waiter's own is that, a colon and the owner;
-- both absent if the owner's release follows, which wakes, too
-- ARGV[1] owner   ARGV[2] by how many milliseconds the others' deadlines move up
-- ARGV[3] message for the waiter   ARGV[4] PUBLISH or SPUBLISH
-- Replies nothing.
local first = redis.call('lindex', KEYS[1], 0) == ARGV[1]
local passed = false
for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if passed then
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter)
  end
  passed = passed or waiter == ARGV[1]
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])
if first and KEYS[3] and redis.call('exists', KEYS[3]) == 0 then
  local head = redis.call('lindex', KEYS[1], 0)
  if head ~= false then
    redis.call(ARGV[4], KEYS[4] .. ':' .. head, ARGV[3])
  end
end
