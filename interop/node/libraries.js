// The lock libraries of npm. Each opens a party's client, whose take(name,
// leaseMillis, wait) returns a lock that is held: {extend(leaseMillis), release()}.
// They throw a Refusal when the library says that the lock is another's or no
// longer held.
'use strict';
const crypto = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const Redis = require('ioredis');
const redis = require('redis');
const semaphore = require('redis-semaphore');
const Redlock4 = require('redlock4');
const { default: Redlock5, ExecutionError } = require('redlock5');

const POLL_MILLIS = 20; // where the library leaves the pace to its user
const RENEW_MILLIS = 200; // of a library that renews by itself
const RENEW_LIMIT_MILLIS = 3000; // by which it has renewed, or has said that it could not

/** A library's own way to say no: the name of its error, if it has one. */
class Refusal extends Error {
  constructor(name = '') {
    super(`no ${name}`.trim());
  }
}

// Each KEYS: the lock. ARGV: the owner, and for the first the lease in milliseconds.
const EXTEND = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** Runs attempt until it is true, or once; then throws a Refusal. */
async function acquire(attempt, wait) {
  while (!(await attempt())) {
    if (!wait) {
      throw new Refusal();
    }
    await sleep(POLL_MILLIS);
  }
}

function mustHold(changed) {
  if (!changed) {
    throw new Refusal();
  }
}

/** Turns errors of a type into Refusals. */
async function refusing(type, promise) {
  try {
    return await promise;
  } catch (error) {
    throw error instanceof type ? new Refusal(error.constructor.name) : error;
  }
}

function openIoredis(host, port) {
  const client = new Redis({ host, port });
  client.on('error', (error) => console.error('ioredis:', error.message));
  return client;
}

async function openNodeRedis(host, port) {
  const client = redis.createClient({ socket: { host, port } });
  client.on('error', (error) => console.error('node-redis:', error.message));
  return client.connect();
}

/** The lock that users of ioredis write themselves. */
const ioredis = {
  package: 'ioredis',
  open(host, port) {
    const client = openIoredis(host, port);
    client.defineCommand('extendLock', { numberOfKeys: 1, lua: EXTEND });
    client.defineCommand('releaseLock', { numberOfKeys: 1, lua: RELEASE });
    return {
      async take(name, lease, wait) {
        const owner = crypto.randomUUID();
        await acquire(() => client.set(name, owner, 'PX', lease, 'NX'), wait);
        return {
          extend: async (millis) => mustHold(await client.extendLock(name, owner, millis)),
          release: async () => mustHold(await client.releaseLock(name, owner)),
        };
      },
      close: () => client.disconnect(),
    };
  },
};

/** The lock that users of node-redis write themselves. */
const nodeRedis = {
  package: 'redis',
  async open(host, port) {
    const client = await openNodeRedis(host, port);
    const run = (script, name, ...args) => client.eval(script, { keys: [name], arguments: args });
    return {
      async take(name, lease, wait) {
        const owner = crypto.randomUUID();
        await acquire(() => client.set(name, owner, { NX: true, PX: lease }), wait);
        return {
          extend: async (millis) => mustHold(await run(EXTEND, name, owner, String(millis))),
          release: async () => mustHold(await run(RELEASE, name, owner)),
        };
      },
      close: () => client.close(),
    };
  },
};

/** redlock 4 and 5, each with one master; the two have other names for the same. */
const redlock4 = {
  package: 'redlock4',
  open(host, port) {
    const client = openIoredis(host, port);
    const locks = new Redlock4([client], { retryCount: 0, retryDelay: POLL_MILLIS, retryJitter: 0 });
    locks.on('clientError', (error) => console.error('redlock 4:', error.message));
    const refused = (promise) => refusing(Redlock4.LockError, promise);
    return {
      async take(name, lease, wait) {
        const held = await refused(locks.lockWithOptions(name, lease, { retryCount: wait ? -1 : 0 }));
        return { extend: (millis) => refused(held.extend(millis)), release: () => refused(held.unlock()) };
      },
      close: () => client.disconnect(),
    };
  },
};

const redlock5 = {
  package: 'redlock5',
  open(host, port) {
    const client = openIoredis(host, port);
    const locks = new Redlock5([client], { retryCount: 0, retryDelay: POLL_MILLIS, retryJitter: 0 });
    const refused = (promise) => refusing(ExecutionError, promise);
    return {
      async take(name, lease, wait) {
        let held = await refused(locks.acquire([name], lease, { retryCount: wait ? -1 : 0 }));
        return {
          extend: async (millis) => {
            held = await refused(held.extend(millis));
          },
          release: () => refused(held.release()),
        };
      },
      close: () => client.disconnect(),
    };
  },
};

/** The mutex of redis-semaphore renews by itself, and calls back when it has lost the lock. */
const redisSemaphore = {
  package: 'redis-semaphore',
  open(host, port) {
    const client = openIoredis(host, port);
    return {
      async take(name, lockTimeout, wait) {
        let lost;
        const loss = new Promise((resolve) => {
          lost = resolve;
        });
        const mutex = new semaphore.Mutex(client, name, {
          lockTimeout,
          refreshInterval: RENEW_MILLIS,
          retryInterval: POLL_MILLIS,
          acquireTimeout: lockTimeout,
          acquireAttemptsLimit: wait ? Infinity : 1,
          onLockLost: lost,
        });
        await refusing(semaphore.TimeoutError, mutex.acquire());
        return {
          async extend() {
            const error = await Promise.race([loss, sleep(RENEW_LIMIT_MILLIS)]);
            if (error) {
              throw new Refusal(error.constructor.name);
            }
          },
          release: () => mutex.release(),
        };
      },
      close: () => client.disconnect(),
    };
  },
};

/**
 * simple-redis-mutex has one subscriber and one script for everything in its
 * module, so each party gets a module of its own.
 */
const simpleRedisMutex = {
  package: 'simple-redis-mutex',
  async open(host, port) {
    delete require.cache[require.resolve('simple-redis-mutex')];
    const { lock, tryLock } = require('simple-redis-mutex');
    const client = await openNodeRedis(host, port);
    return {
      async take(name, timeout, wait) {
        const [held, release] = wait
          ? [true, await lock(client, name, { timeout })]
          : await tryLock(client, name, { timeout });
        mustHold(held);
        return { extend: () => release.refreshTimeout(), release };
      },
      close: () => client.close(),
    };
  },
};

const libraries = {
  ioredis,
  'node-redis': nodeRedis,
  redlock4,
  redlock5,
  'redis-semaphore': redisSemaphore,
  'simple-redis-mutex': simpleRedisMutex,
};

module.exports = { Refusal, libraries };
