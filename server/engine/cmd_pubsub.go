package engine

import "minikv/internal/resp"

// Pub/Sub commands, https://redis.io/docs/latest/commands/?group=pubsub

const subscribing = PubSub | NoScript | Loading | Stale

var pubsubCommands = []Command{
	{Name: "SUBSCRIBE", Arity: -2, Flags: subscribing, Run: runSubscribe(&channelKind)},
	{Name: "UNSUBSCRIBE", Arity: -1, Flags: subscribing, Run: runUnsubscribe(&channelKind)},
	{Name: "PSUBSCRIBE", Arity: -2, Flags: subscribing, Run: runSubscribe(&patternKind)},
	{Name: "PUNSUBSCRIBE", Arity: -1, Flags: subscribing, Run: runUnsubscribe(&patternKind)},
	{Name: "SSUBSCRIBE", Arity: -2, Flags: subscribing, Run: runSubscribe(&shardKind)},
	{Name: "SUNSUBSCRIBE", Arity: -1, Flags: subscribing, Run: runUnsubscribe(&shardKind)},
	{Name: "PUBLISH", Arity: 3, Flags: PubSub | Loading | Stale | Fast | MayReplicate, Fill: fillOrAlone(runPublish)},
	{Name: "SPUBLISH", Arity: 3, Flags: PubSub | Loading | Stale | Fast | MayReplicate, Fill: fillOrAlone(runSPublish)},
	{Name: "PUBSUB", Arity: -2, Sub: pubsubSubcommands},
}

var pubsubSubcommands = []Command{
	{Name: "CHANNELS", Arity: -2, Flags: PubSub | Loading | Stale,
		Run: func(c *Call) resp.Value { return c.listChannels(c.Node.pubsub.channels) }},
	{Name: "SHARDCHANNELS", Arity: -2, Flags: PubSub | Loading | Stale,
		Run: func(c *Call) resp.Value { return c.listChannels(c.Node.pubsub.shards) }},
	{Name: "NUMSUB", Arity: -2, Flags: PubSub | Loading | Stale,
		Run: func(c *Call) resp.Value { return c.countSubscribers(c.Node.pubsub.channels) }},
	{Name: "SHARDNUMSUB", Arity: -2, Flags: PubSub | Loading | Stale,
		Run: func(c *Call) resp.Value { return c.countSubscribers(c.Node.pubsub.shards) }},
	{Name: "NUMPAT", Arity: 2, Flags: PubSub | Loading | Stale,
		Run: func(c *Call) resp.Value { return resp.Int(int64(len(c.Node.pubsub.patterns))) }},
	help("PUBSUB", "", pubsubHelp),
}

// runSubscribe is SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE name [name ...]. The
// confirmations are its reply.
func runSubscribe(k *kind) func(*Call) resp.Value {
	return func(c *Call) resp.Value {
		if c.InTx && k == &shardKind {
			return resp.Err("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
		}
		c.Node.subscribe(c.Session, k, c.Args[1:])
		return resp.Value{}
	}
}

// runUnsubscribe is UNSUBSCRIBE, PUNSUBSCRIBE or SUNSUBSCRIBE [name ...].
func runUnsubscribe(k *kind) func(*Call) resp.Value {
	return func(c *Call) resp.Value {
		c.Node.unsubscribe(c.Session, k, c.Args[1:])
		return resp.Value{}
	}
}

// runPublish is PUBLISH channel message. Replicas' subscribers get it, too.
func runPublish(c *Call, reply *resp.Value) {
	c.ReplicateAnyway()
	if c.Node.nobodyHears(c.Args[1]) {
		reply.SetInt(0)
		return
	}
	reply.SetInt(int64(c.Node.Publish(string(c.Args[1]), string(c.Args[2]))))
}

// runSPublish is SPUBLISH shardchannel message.
func runSPublish(c *Call, reply *resp.Value) {
	c.ReplicateAnyway()
	reply.SetInt(int64(c.Node.PublishShard(string(c.Args[1]), string(c.Args[2]))))
}

// listChannels is the reply of PUBSUB CHANNELS [pattern], sorted.
func (c *Call) listChannels(all map[string][]*Session) resp.Value {
	switch len(c.Args) {
	case 2:
		return names(all, nil)
	case 3:
		return names(all, c.Args[2])
	}
	return resp.Err(errSubSyntax("PUBSUB", c.Args[1]))
}

// countSubscribers is the reply of PUBSUB NUMSUB [channel ...].
func (c *Call) countSubscribers(all map[string][]*Session) resp.Value {
	list := make([]resp.Value, 0, 2*(len(c.Args)-2))
	for _, name := range c.Args[2:] {
		list = append(list, resp.Str(string(name)), resp.Int(int64(len(all[string(name)]))))
	}
	return resp.List(list...)
}
