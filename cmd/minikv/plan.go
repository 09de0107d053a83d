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
	if err == nil {
		err = plan.Check()
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
