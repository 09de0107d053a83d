package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 4 && args[0] == "locks" && (args[3] == "alone" || args[3] == "contended"):
		count, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return locks(args[1], count, args[3] == "contended")
	case len(args) == 3 && args[0] == "simulator":
		length, err := time.ParseDuration(args[2])
		if err != nil {
			return err
		}
		facts, err := simulator(ctx, args[1], length)
		if err != nil {
			return err
		}
		for _, f := range facts {
			if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("expected locks ADDR CLIENTS alone|contended, or simulator ADDR LENGTH")
}

// locks measures a round for each length that it reads.
func locks(addr string, count int, contended bool) error {
	g, err := newLockGenerator(addr, count, contended)
	if err != nil {
		return err
	}
	defer g.close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		length, err := time.ParseDuration(lines.Text())
		if err != nil {
			return err
		}
		one, err := g.measure(length)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(one); err != nil {
			return err
		}
	}
	return nil
}
