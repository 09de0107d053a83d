package main

import (
	"fmt"
	"strconv"
	"strings"

	"minikv/cluster"
)

// Several nodes in one process: --nodes 5, --replicas 2, --sentinel 1x2 or --cluster 3x1.

// sentinels is how many Sentinels watch the masters of --sentinel.
const sentinels = 3

// order is a directive that asks for several nodes.
type order struct{ name, value string }

func (o order) String() string { return "--" + o.name + " " + o.value }

// usageError is a command line that asks for what cannot be.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// topology is what the orders amount to; ok is false when there are none.
func (conf *config) topology() (plan cluster.Plan, ok bool, err error) {
	if len(conf.orders) == 0 {
		return cluster.Plan{}, false, nil
	}
	first := conf.orders[0]
	if len(conf.orders) > 1 {
		return plan, false, &usageError{fmt.Sprintf("%s and %s: expected one topology", first, conf.orders[1])}
	}
	if plan, err = first.plan(); err != nil {
		return plan, false, &usageError{fmt.Sprintf("%s: %s", first, err)}
	}
	if err := plan.Check(); err != nil {
		return plan, false, &usageError{fmt.Sprintf("%s: %s", first, strings.TrimPrefix(err.Error(), "cluster: "))}
	}
	if port, _ := strconv.Atoi(conf.get("port")); port != 0 && port+plan.Size()-1 > maxPort {
		return plan, false, &usageError{fmt.Sprintf("%s: %d nodes from port %d on: ports end at %d",
			first, plan.Size(), port, maxPort)}
	}
	if path := conf.get("unixsocket"); path != "" {
		return plan, false, &usageError{fmt.Sprintf("%s: several nodes cannot share the unixsocket %s", first, path)}
	}
	return plan, true, nil
}

const maxPort = 65535

// plan reads the order's value.
func (o order) plan() (plan cluster.Plan, err error) {
	switch o.name {
	case "nodes":
		plan.Masters, err = count(o.value)
	case "replicas":
		plan.Masters = 1
		plan.Replicas, err = count(o.value)
	case "sentinel":
		plan.Sentinels = sentinels
		plan.Masters, plan.Replicas, err = product(o.value)
	case "cluster":
		plan.Cluster = true
		plan.Masters, plan.Replicas, err = product(o.value)
	}
	return plan, err
}

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("expected a number")
	}
	return n, nil
}

// product reads "3x1": masters, and replicas of each.
func product(text string) (masters, replicas int, err error) {
	left, right, _ := strings.Cut(strings.ToLower(text), "x")
	masters, err1 := count(left)
	replicas, err2 := count(right)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("expected MASTERSxREPLICAS, such as 3x1")
	}
	return masters, replicas, nil
}
