-- Renews the leases of many holds of read sides, with all their timers.
-- KEYS[2i-1] a lock   KEYS[2i] prefix of all its timers
-- ARGV[1] lease in milliseconds   ARGV[2i] 1, the number of owners   ARGV[2i+1] owner
-- Replies a list: 1 where the owner holds the lock and its timers run, else 0. Only
-- the owner's own timers are touched, and nothing lives shorter than it would: its
-- owner may have taken the lock again with a longer lease.
local renewed = {}
for i = 1, #KEYS / 2 do
  local lock, owner = KEYS[2 * i - 1], ARGV[2 * i + 1]
  local holds = redis.call('hget', lock, owner)
  renewed[i] = holds ~= false and 1 or 0
  for hold = tonumber(holds or 0), 1, -1 do
    local timer = KEYS[2 * i] .. ':' .. owner .. ':rwlock_timeout:' .. hold
    local left = redis.call('pttl', timer)
    if left == -2 then
      renewed[i] = 0
    elseif left < tonumber(ARGV[1]) then
      redis.call('pexpire', timer, ARGV[1])
    end
  end
  if renewed[i] == 1 and redis.call('pttl', lock) < tonumber(ARGV[1]) then
    redis.call('pexpire', lock, ARGV[1])
  end
end
return renewed
