-- Frees a fair lock, whoever holds it, and wakes the head of the queue, in the form of
-- Redisson 3.16.
-- KEYS[1] the lock   KEYS[2] the queue   KEYS[3] the waiters' deadlines
-- KEYS[4] the lock's channel: a waiter's own is that, a colon and the owner
-- ARGV[1] message for the waiter   ARGV[2] now in Unix milliseconds
-- Replies 1 when the lock was held, else 0.

-- Waiters whose deadline is over are dead, and so are those without one.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then
    break
  end
  local deadline = redis.call('zscore', KEYS[3], head)
  if deadline ~= false and tonumber(deadline) > tonumber(ARGV[2]) then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end

if redis.call('del', KEYS[1]) == 0 then
  return 0
end
local head = redis.call('lindex', KEYS[2], 0)
if head ~= false then
  redis.call('publish', KEYS[4] .. ':' .. head, ARGV[1])
end
return 1
