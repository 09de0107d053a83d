-- Takes a lock, or takes it once more for its owner, and draws a fencing token: also where
-- the owner reads in that hash.
-- KEYS[1] the lock: a hash of owner to hold count   KEYS[2] the token counter
-- ARGV[1] lease in milliseconds   ARGV[2] owner
-- Replies {-1, token} when taken, else {remaining TTL in milliseconds, -1}.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  local token = redis.call('incr', KEYS[2])
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return {-1, token}
end
return {redis.call('pttl', KEYS[1]), -1}
