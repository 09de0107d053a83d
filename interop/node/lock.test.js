// A test as an application has it: of a lock in a cluster, at REDIS_URL.
const assert = require('node:assert');
const fs = require('node:fs');
const { test } = require('node:test');
const { Cluster } = require('ioredis');

const release = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

test('one holds at a time', async () => {
  const trusted = process.env.REDIS_TLS_CA;
  const redis = new Cluster([process.env.REDIS_URL || 'redis://127.0.0.1:6379'],
    trusted && { redisOptions: { tls: { ca: fs.readFileSync(trusted) } } });
  redis.defineCommand('release', { numberOfKeys: 1, lua: release });
  try {
    for (const key of ['orders:1', 'orders:2', 'orders:4']) { // a slot of each master
      assert.equal(await redis.set(key, 'c1', 'PX', 10000, 'NX'), 'OK');
      assert.equal(await redis.set(key, 'c2', 'PX', 10000, 'NX'), null);
      assert.equal(await redis.release(key, 'c2'), 0);
      assert.equal(await redis.release(key, 'c1'), 1);
    }
  } finally {
    redis.disconnect();
  }
});
