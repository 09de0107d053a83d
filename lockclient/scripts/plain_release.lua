-- Deletes a plain lock if it is still ours.
-- KEYS[1] the lock: a string   ARGV[1] its random value
-- Replies 1 when deleted, else 0.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
