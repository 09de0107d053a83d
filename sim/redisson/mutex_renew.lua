-- Renews the leases of many locks, one owner each.
-- KEYS the locks   ARGV[1] lease in milliseconds   ARGV[i+1] owner of KEYS[i]
-- Replies a list: 1 where the owner holds the lock, else 0. The lease is set, also
-- where it was longer.
local renewed = {}
for i = 1, #KEYS do
  renewed[i] = redis.call('hexists', KEYS[i], ARGV[i + 1])
  if renewed[i] == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
  end
end
return renewed
