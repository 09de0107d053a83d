package engine

import "strings"

// fact is what COMMAND tells of some commands, which are separated by blanks.
type fact struct{ what, commands string }

// tipTable is the tips for clients and proxies, of all commands that have any.
// Source: COMMAND INFO of Redis 7.0.15.
var tipTable = []fact{
	{"nondeterministic_output",
		"client|info client|list cluster|bumpepoch cluster|count-failure-reports cluster|getkeysinslot " +
			"cluster|info cluster|links cluster|nodes cluster|replicas cluster|shards cluster|slaves cluster|slots " +
			"dump hrandfield hscan lastsave migrate object|encoding object|freq object|idletime object|refcount pttl " +
			"spop srandmember sscan time ttl xadd xautoclaim xclaim xinfo|consumers xpending xtrim zrandmember zscan"},
	{"nondeterministic_output request_policy:all_nodes response_policy:special",
		"latency|doctor latency|graph latency|histogram latency|history latency|latest"},
	{"nondeterministic_output request_policy:all_shards response_policy:special",
		"function|stats info memory|doctor memory|malloc-stats memory|stats"},
	{"nondeterministic_output request_policy:special",
		"scan"},
	{"nondeterministic_output_order",
		"command command|docs command|info command|list function|list hgetall hkeys hvals module|list sdiff " +
			"sinter smembers sunion"},
	{"request_policy:all_nodes nondeterministic_output",
		"slowlog|get"},
	{"request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
		"slowlog|len"},
	{"request_policy:all_nodes response_policy:all_succeeded",
		"config|set latency|reset script|flush script|load slowlog|reset"},
	{"request_policy:all_shards nondeterministic_output",
		"randomkey"},
	{"request_policy:all_shards nondeterministic_output_order",
		"keys"},
	{"request_policy:all_shards response_policy:agg_logical_and",
		"script|exists"},
	{"request_policy:all_shards response_policy:agg_min",
		"wait"},
	{"request_policy:all_shards response_policy:agg_sum",
		"dbsize"},
	{"request_policy:all_shards response_policy:all_succeeded",
		"flushall flushdb function|delete function|flush function|load function|restore memory|purge ping"},
	{"request_policy:all_shards response_policy:one_succeeded",
		"function|kill script|kill"},
	{"request_policy:multi_shard",
		"mget"},
	{"request_policy:multi_shard response_policy:agg_min",
		"msetnx"},
	{"request_policy:multi_shard response_policy:agg_sum",
		"del exists touch unlink"},
	{"request_policy:multi_shard response_policy:all_succeeded",
		"mset"},
}

// sinceTable is the releases in which commands came.
// Source: COMMAND DOCS of Redis 7.0.15.
var sinceTable = []fact{
	{"1.0.0",
		"auth bgrewriteaof bgsave dbsize debug decr decrby del echo exists expire flushall flushdb get getset " +
			"incr incrby info keys lastsave lindex llen lpop lpush lrange lrem lset ltrim mget monitor move ping quit " +
			"randomkey rename renamenx rpop rpush sadd save scard sdiff sdiffstore select set setnx shutdown sinter " +
			"sinterstore sismember slaveof smembers smove sort spop srandmember srem substr sunion sunionstore sync " +
			"ttl type"},
	{"1.0.1",
		"mset msetnx"},
	{"1.0.5",
		"zrangebyscore"},
	{"1.2.0",
		"exec expireat multi rpoplpush zadd zcard zincrby zrange zrem zremrangebyscore zrevrange zscore"},
	{"2.0.0",
		"append blpop brpop config config|get config|resetstat config|set discard hdel hexists hget hgetall " +
			"hincrby hkeys hlen hmget hmset hset hsetnx hvals psubscribe publish punsubscribe setex subscribe " +
			"unsubscribe zcount zinterstore zrank zremrangebyrank zrevrank zunionstore"},
	{"2.2.0",
		"brpoplpush getbit linsert lpushx persist rpushx setbit setrange strlen unwatch watch zrevrangebyscore"},
	{"2.2.3",
		"object object|encoding object|idletime object|refcount"},
	{"2.2.12",
		"slowlog slowlog|get slowlog|len slowlog|reset"},
	{"2.4.0",
		"client client|kill client|list getrange"},
	{"2.6.0",
		"bitcount bitop dump eval evalsha hincrbyfloat incrbyfloat migrate pexpire pexpireat psetex pttl restore " +
			"script script|exists script|flush script|kill script|load time"},
	{"2.6.9",
		"client|getname client|setname"},
	{"2.8.0",
		"config|rewrite hscan psync pubsub pubsub|channels pubsub|numpat pubsub|numsub scan sentinel|slaves " +
			"sscan zscan"},
	{"2.8.4",
		"sentinel sentinel|ckquorum sentinel|failover sentinel|flushconfig sentinel|get-master-addr-by-name " +
			"sentinel|is-master-down-by-addr sentinel|master sentinel|masters sentinel|monitor " +
			"sentinel|pending-scripts sentinel|remove sentinel|reset sentinel|sentinels sentinel|set"},
	{"2.8.7",
		"bitpos"},
	{"2.8.9",
		"pfadd pfcount pfdebug pfmerge pfselftest zlexcount zrangebylex zremrangebylex zrevrangebylex"},
	{"2.8.12",
		"role"},
	{"2.8.13",
		"command command|count command|getkeys command|info latency latency|doctor latency|graph latency|help " +
			"latency|history latency|latest latency|reset"},
	{"2.9.50",
		"client|pause"},
	{"3.0.0",
		"asking cluster cluster|addslots cluster|bumpepoch cluster|count-failure-reports cluster|countkeysinslot " +
			"cluster|delslots cluster|failover cluster|flushslots cluster|forget cluster|getkeysinslot cluster|info " +
			"cluster|keyslot cluster|meet cluster|myid cluster|nodes cluster|replicate cluster|reset " +
			"cluster|saveconfig cluster|set-config-epoch cluster|setslot cluster|slaves cluster|slots readonly " +
			"readwrite replconf restore-asking wait"},
	{"3.2.0",
		"bitfield client|reply geoadd geodist geohash geopos georadius georadiusbymember hstrlen script|debug " +
			"sentinel|info-cache sentinel|simulate-failure"},
	{"3.2.1",
		"touch"},
	{"3.2.10",
		"georadius_ro georadiusbymember_ro"},
	{"4.0.0",
		"memory memory|doctor memory|help memory|malloc-stats memory|purge memory|stats memory|usage module " +
			"module|list module|load module|unload object|freq swapdb unlink"},
	{"5.0.0",
		"bzpopmax bzpopmin client|help client|id client|unblock cluster|help cluster|replicas command|help " +
			"config|help lolwut module|help replicaof script|help sentinel|replicas xack xadd xclaim xdel xgroup " +
			"xgroup|create xgroup|delconsumer xgroup|destroy xgroup|help xgroup|setid xinfo xinfo|consumers " +
			"xinfo|groups xinfo|help xinfo|stream xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim " +
			"zpopmax zpopmin"},
	{"6.0.0",
		"acl acl|cat acl|deluser acl|genpass acl|getuser acl|help acl|list acl|load acl|log acl|save acl|setuser " +
			"acl|users acl|whoami bitfield_ro client|caching client|getredir client|tracking hello"},
	{"6.0.6",
		"lpos"},
	{"6.2.0",
		"blmove client|info client|trackinginfo client|unpause copy failover geosearch geosearchstore getdel " +
			"getex hrandfield lmove object|help pubsub|help reset sentinel|config sentinel|help sentinel|myid " +
			"slowlog|help smismember xautoclaim xgroup|createconsumer zdiff zdiffstore zinter zmscore zrandmember " +
			"zrangestore zunion"},
	{"7.0.0",
		"acl|dryrun blmpop bzmpop client|no-evict cluster|addslotsrange cluster|delslotsrange cluster|links " +
			"cluster|shards command|docs command|getkeysandflags command|list eval_ro evalsha_ro expiretime fcall " +
			"fcall_ro function function|delete function|dump function|flush function|help function|kill " +
			"function|list function|load function|restore function|stats latency|histogram lcs lmpop module|loadex " +
			"pexpiretime pubsub|shardchannels pubsub|shardnumsub sentinel|debug sintercard sort_ro spublish " +
			"ssubscribe sunsubscribe zintercard zmpop"},
}

// groupTable is the groups of the manual.
// Source: COMMAND DOCS of Redis 7.0.15.
var groupTable = []fact{
	{"bitmap",
		"bitcount bitfield bitfield_ro bitop bitpos getbit setbit"},
	{"cluster",
		"asking cluster readonly readwrite"},
	{"connection",
		"auth client echo hello ping quit reset select"},
	{"generic",
		"copy del dump exists expire expireat expiretime keys migrate move object persist pexpire pexpireat " +
			"pexpiretime pttl randomkey rename renamenx restore scan sort sort_ro touch ttl type unlink wait"},
	{"geo",
		"geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch " +
			"geosearchstore"},
	{"hash",
		"hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan hset hsetnx " +
			"hstrlen hvals"},
	{"hyperloglog",
		"pfadd pfcount pfdebug pfmerge pfselftest"},
	{"list",
		"blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lrem " +
			"lset ltrim rpop rpoplpush rpush rpushx"},
	{"pubsub",
		"psubscribe publish pubsub punsubscribe spublish ssubscribe subscribe sunsubscribe unsubscribe"},
	{"scripting",
		"eval eval_ro evalsha evalsha_ro fcall fcall_ro function script"},
	{"sentinel",
		"sentinel"},
	{"server",
		"acl bgrewriteaof bgsave command config dbsize debug failover flushall flushdb info lastsave latency " +
			"lolwut memory module monitor psync replconf replicaof restore-asking role save shutdown slaveof slowlog " +
			"swapdb sync time"},
	{"set",
		"sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember smove spop " +
			"srandmember srem sscan sunion sunionstore"},
	{"sorted-set",
		"bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore " +
			"zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore zrangestore zrank " +
			"zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank " +
			"zscan zscore zunion zunionstore"},
	{"stream",
		"xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid " +
			"xtrim"},
	{"string",
		"append decr decrby get getdel getex getrange getset incr incrby incrbyfloat lcs mget mset msetnx psetex " +
			"set setex setnx setrange strlen substr"},
	{"transactions",
		"discard exec multi unwatch watch"},
}

// factsOf is, for each command of a table, what is said of it.
func factsOf(table []fact) map[string]string {
	found := make(map[string]string)
	for _, one := range table {
		for name := range strings.FieldsSeq(one.commands) {
			found[name] = one.what
		}
	}
	return found
}

var (
	tipsOf   = factsOf(tipTable)
	sinceOf  = factsOf(sinceTable)
	groupsIn = factsOf(groupTable)
)
