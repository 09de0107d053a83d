-- Renews the leases of many locks, one owner each.
-- KEYS the locks   ARGV[1] lease in milliseconds   ARGV[i+1] owner of KEYS[i]
-- Replies a list: 1 where the owner holds the lock, else 0.
local renewed = {}
for i = 1, #KEYS do
  if redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
