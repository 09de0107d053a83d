package main

import (
	"fmt"
	"strconv"
	"strings"

	"minikv/cluster"
)

// Several nodes in one process: --nodes 5, --replicas 2, --sentinel 1x2 or --cluster 3x1.

// sentinels is how many Sentinels watch the masters of --sentinel, if it does not say.
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
		err = product(o.value, "MASTERSxREPLICAS[xSENTINELS], such as 1x2", &plan.Masters, &plan.Replicas, &plan.Sentinels)
		if err == nil && plan.Sentinels == 0 {
			err = fmt.Errorf("expected at least one Sentinel")
		}
	case "cluster":
		plan.Cluster = true
		err = product(o.value, "MASTERSxREPLICAS, such as 3x1", &plan.Masters, &plan.Replicas)
	}
	if err == nil {
		err = plan.Check()
	}
	return plan, err
}

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("expected a number that is not negative")
	}
	return n, nil
}

// product reads "3x1" into as many numbers; what lacks behind the second stays.
func product(text, expected string, numbers ...*int) error {
	parts := strings.Split(strings.ToLower(text), "x")
	if len(parts) < 2 || len(parts) > len(numbers) {
		return fmt.Errorf("expected %s", expected)
	}
	for i, part := range parts {
		n, err := count(part)
		if err != nil {
			return fmt.Errorf("expected %s", expected)
		}
		*numbers[i] = n
	}
	return nil
}
