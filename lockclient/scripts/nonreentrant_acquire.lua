-- Takes a lock that its owner may not take again.
-- KEYS[1] the lock: a hash of owner to hold count; with a mode, what owners read
-- ARGV[1] lease in milliseconds   ARGV[2] owner   ARGV[3] error that a holder gets who asks again
-- Replies nil when taken, else the lock's remaining TTL in milliseconds, or -1
-- when it has none.
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 and redis.call('hexists', KEYS[1], 'mode') == 0 then
  return redis.error_reply(ARGV[3])
end
return redis.call('pttl', KEYS[1])
