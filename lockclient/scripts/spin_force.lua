-- Frees a lock, whoever holds it, and wakes nobody.
-- KEYS[1] the lock
-- Replies 1 when the lock was held, else 0.
return redis.call('del', KEYS[1])
