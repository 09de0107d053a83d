-- Replaces the lease of one hold of a read or write side.
-- KEYS[1] the lock   KEYS[2] prefix of all its timers
-- ARGV[1] lease in milliseconds   ARGV[2] owner   ARGV[3] its side: read or write
-- Replies 1 when the owner holds that side, else 0. The lock lives as long as the
-- longest timer, and in write mode as long as the write side's lease.
local holds = redis.call('hget', KEYS[1], ARGV[2])
if holds == false then
  return 0
end
local longest = 0
if ARGV[3] == 'write' then
  longest = tonumber(ARGV[1])
else
  for hold = tonumber(holds), 1, -1 do
    if redis.call('pexpire', KEYS[2] .. ':' .. ARGV[2] .. ':rwlock_timeout:' .. hold, ARGV[1]) == 0 then
      return 0
    end
  end
  if redis.call('hget', KEYS[1], 'mode') == 'write' then
    longest = redis.call('pttl', KEYS[1])
  end
end
for _, owner in ipairs(redis.call('hkeys', KEYS[1])) do
  for hold = tonumber(redis.call('hget', KEYS[1], owner)) or 0, 1, -1 do
    local timer = KEYS[2] .. ':' .. owner .. ':rwlock_timeout:' .. hold
    longest = math.max(longest, redis.call('pttl', timer))
  end
end
redis.call('pexpire', KEYS[1], longest)
return 1
