// The workload over ioredis: ioredis.js sentinel|cluster HOST:PORT...
'use strict';
const Redis = require('ioredis');
const { run, tellError } = require('./workload');

run('ioredis', (mode, nodes) => {
  const client = mode === 'cluster' ? new Redis.Cluster(nodes) : new Redis({ sentinels: nodes, name: 'mymaster' });
  client.on('error', tellError);
  return (script, keys, args) => client.eval(script, keys.length, ...keys, ...args);
});
