// A lease of 30 seconds runs out at once: the test moves the server's clock through MINIKV_CONTROL.
const assert = require('node:assert');
const { test } = require('node:test');
const Redis = require('ioredis');

test('a lease ends', async () => {
  const redis = new Redis(process.env.REDIS_URL);
  const control = new Redis(process.env.MINIKV_CONTROL);
  try {
    assert.equal(await redis.set('orders:42', 'c1', 'PX', 30000, 'NX'), 'OK');
    assert.equal(await redis.set('orders:42', 'c2', 'PX', 30000, 'NX'), null);
    await control.call('MINIKV', 'CLOCK', 'ADVANCE', 31000);
    assert.equal(await redis.set('orders:42', 'c2', 'PX', 30000, 'NX'), 'OK');
  } finally {
    redis.disconnect();
    control.disconnect();
  }
});
