-- Takes a fair lock, or takes it once more for its owner, without queueing.
-- KEYS[1] the lock: a hash of owner to hold count; with a mode, what owners read
-- KEYS[2] the queue: a list of owners
-- KEYS[3] the waiters' deadlines: a sorted set, in Unix milliseconds
-- ARGV[1] lease in milliseconds   ARGV[2] owner
-- ARGV[3] now in Unix milliseconds, by the caller's clock
-- ARGV[4] how many milliseconds longer than its predecessor's a place is kept
-- ARGV[5] again if the owner has the lock: one that is gone stays so; or the error that a
-- holder gets who asks again; else absent
-- Replies nil when taken, else 1.

-- Waiters whose deadline is over are dead, and so are those without one.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then
    break
  end
  local deadline = redis.call('zscore', KEYS[3], head)
  if deadline ~= false and tonumber(deadline) > tonumber(ARGV[3]) then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end

local again = ARGV[5] == 'again'
local head = redis.call('lindex', KEYS[2], 0)
if not again and redis.call('exists', KEYS[1]) == 0 and (head == false or head == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[4]), waiter)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 and redis.call('hexists', KEYS[1], 'mode') == 0 then
  if ARGV[5] and not again then
    return redis.error_reply(ARGV[5])
  end
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return 1
