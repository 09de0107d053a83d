-- Renews the lease of one hold of a read side, with all its timers, in the form
-- of Redisson 3.16.
-- KEYS[1] the lock   KEYS[2] prefix of all its timers
-- ARGV[1] lease in milliseconds   ARGV[2] owner
-- Replies 1 where the owner holds the lock and its timers run, else 0. Redisson
-- 3.16 renews the timers of all owners, and so keeps crashed readers alive; this
-- script touches the owner's own.
local holds = redis.call('hget', KEYS[1], ARGV[2])
if holds == false then
  return 0
end
for hold = tonumber(holds), 1, -1 do
  local timer = KEYS[2] .. ':' .. ARGV[2] .. ':rwlock_timeout:' .. hold
  local left = redis.call('pttl', timer)
  if left == -2 then
    return 0
  end
  if left < tonumber(ARGV[1]) then
    redis.call('pexpire', timer, ARGV[1])
  end
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return 1
