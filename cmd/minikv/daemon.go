package main

import (
	"fmt"
	"os"
	"os/exec"
)

// daemonMark is set in the environment of the process that startDaemon starts.
const daemonMark = "MINIKV_DAEMON"

func isDaemon() bool { return os.Getenv(daemonMark) != "" }

// startDaemon starts the same command line again, in the background and
// without a terminal. As with redis-server, whether it succeeds is for its log
// to say.
func startDaemon() error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("daemonize: %w", err)
	}
	cmd := exec.Command(executable, os.Args[1:]...)
	cmd.Env = append(os.Environ(), daemonMark+"=1")
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("daemonize: %w", err)
	}
	return cmd.Process.Release()
}
