-- Takes a waiter out of the queue of a fair lock; those behind it move up.
-- KEYS[1] the queue: a list of owners   KEYS[2] the waiters' deadlines
-- ARGV[1] owner   ARGV[2] by how many milliseconds the others' deadlines move up
-- Replies nothing.
local passed = false
for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if passed then
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter)
  end
  passed = passed or waiter == ARGV[1]
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])
