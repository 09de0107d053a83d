-- Renews the leases of many holds of write sides, one owner each.
-- KEYS the locks   ARGV[1] lease in milliseconds   ARGV[i+1] owner of KEYS[i]
-- Replies a list: 1 where the owner holds the lock, else 0. A lock that lives
-- longer already, because its owner reads with a longer lease, is not cut.
local renewed = {}
for i = 1, #KEYS do
  renewed[i] = redis.call('hexists', KEYS[i], ARGV[i + 1])
  if renewed[i] == 1 and redis.call('pttl', KEYS[i]) < tonumber(ARGV[1]) then
    redis.call('pexpire', KEYS[i], ARGV[1])
  end
end
return renewed
