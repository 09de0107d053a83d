-- Renews the leases of many holds of read sides, with their timers.
-- KEYS[2i-1] a lock   KEYS[2i] prefix of all its timers
-- ARGV[1] lease in milliseconds   ARGV[2i] 1, the number of owners   ARGV[2i+1] owner
-- Replies a list: 1 where the owner is in the lock, with or without running timers,
-- else 0. The lease is set, also where it was longer.
local renewed = {}
for i = 1, #KEYS / 2 do
  local lock, owner = KEYS[2 * i - 1], ARGV[2 * i + 1]
  local holds = redis.call('hget', lock, owner)
  renewed[i] = 0
  if holds ~= false then
    for hold = holds, 1, -1 do
      redis.call('pexpire', KEYS[2 * i] .. ':' .. owner .. ':rwlock_timeout:' .. hold, ARGV[1])
    end
    redis.call('pexpire', lock, ARGV[1])
    renewed[i] = 1
  end
end
return renewed
