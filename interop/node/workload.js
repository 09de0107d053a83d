// The workload of interop/failover, for a client that can run a script.
'use strict';
const crypto = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');

const LEASE_MILLIS = 10_000;
const HOLD_MILLIS = { short: 5, long: 4000 };
const BETWEEN_MILLIS = 5;

// KEYS: the lock, its counter. ARGV: the owner, the lease in milliseconds.
// Returns a new token, or 0 if another owner holds. An owner that asks again,
// since it has not seen the reply, holds already.
const ACQUIRE = `
if redis.call('GET', KEYS[1]) == ARGV[1] or redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return 0`;

// KEYS: the lock. ARGV: the owner. Only the owner may free it.
const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`;

/** Prints an event as a line of JSON; interop/failover/referee_test.go has them. */
function tell(event) {
  process.stdout.write(JSON.stringify(event) + '\n');
}

function tellError(error) {
  tell({ do: 'error', text: String(error) });
}

async function holdOnce(evaluate, lock, key) {
  const owner = crypto.randomUUID();
  const until = performance.now() + LEASE_MILLIS;
  const token = await evaluate(ACQUIRE, [key, key + ':token'], [owner, String(LEASE_MILLIS)]);
  if (!token) {
    return;
  }
  tell({ do: 'hold', lock, token });
  await sleep(HOLD_MILLIS[lock]);
  tell({ do: 'free', lock, token });
  while (performance.now() < until) {
    try {
      await evaluate(RELEASE, [key], [owner]);
      return;
    } catch (error) {
      tellError(error);
      await sleep(100);
    }
  }
}

async function worker(evaluate, lock, key) {
  for (;;) {
    try {
      await holdOnce(evaluate, lock, key);
    } catch (error) {
      tellError(error);
      await sleep(100);
    }
    await sleep(BETWEEN_MILLIS);
  }
}

/**
 * Runs the workload of the client called name. connect gets the mode, sentinel
 * or cluster, and the addresses as [{host, port}], all from the command line; it
 * returns evaluate(script, keys, args). The end of standard input ends the program.
 */
async function run(name, connect) {
  process.stdin.on('end', () => process.exit(0)).resume();
  const [mode, ...addresses] = process.argv.slice(2);
  const nodes = addresses.map((address) => {
    const [host, port] = address.split(':');
    return { host, port: Number(port) };
  });
  const evaluate = await connect(mode, nodes);
  for (const lock of Object.keys(HOLD_MILLIS)) {
    for (let i = 0; i < 2; i++) {
      worker(evaluate, lock, `{lock}:${name}:${lock}`);
    }
  }
}

module.exports = { run, tellError };
