-- Sets the number of permits, of a semaphore that does not exist yet.
-- KEYS[1] the semaphore: the number of free permits   KEYS[2] its channel
-- ARGV[1] how many permits   ARGV[2] PUBLISH or SPUBLISH; Redisson 3.16 sends none
-- and publishes
-- Replies 1 when set, 0 when the semaphore existed.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('set', KEYS[1], ARGV[1])
redis.call(ARGV[2] or 'publish', KEYS[2], ARGV[1])
return 1
