// The workload over node-redis: node-redis.js sentinel|cluster HOST:PORT...
'use strict';
const { createCluster, createSentinel } = require('redis');
const { run, tellError } = require('./workload');

run('node-redis', async (mode, nodes) => {
  const client =
    mode === 'cluster'
      ? createCluster({ rootNodes: nodes.map((node) => ({ socket: node })) })
      : createSentinel({ name: 'mymaster', sentinelRootNodes: nodes });
  client.on('error', tellError);
  await client.connect();
  return (script, keys, args) => client.eval(script, { keys, arguments: args });
});
