-- Renews a plain lock if it is still ours.
-- KEYS[1] the lock: a string   ARGV[1] its random value   ARGV[2] lease in milliseconds
-- Replies 1 when renewed, else 0.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
