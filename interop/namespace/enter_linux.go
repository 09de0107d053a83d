package namespace

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// inside is set in the namespace.
const inside = "NAMESPACE_INSIDE"

// Enter runs this program once more, with its arguments behind those given, in a namespace
// that ends with it, and exits as it does. In there Enter returns "", and elsewhere, where
// there can be no namespace, why.
func Enter(args ...string) (absent string) {
	if os.Getenv(inside) != "" {
		if err := Run("ip", "link", "set", "lo", "up"); err != nil {
			panic(err)
		}
		return ""
	}
	if absent = missing(); absent != "" {
		return absent
	}
	runtime.LockOSThread() // the thread with which Pdeathsig is bound up

	again := exec.Command("/proc/self/exe", append(args, os.Args[1:]...)...)
	again.Env = append(os.Environ(), inside+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := again.Run(); again.ProcessState == nil {
		panic(err)
	}
	os.Exit(again.ProcessState.ExitCode())
	return ""
}

// missing tells why there can be no namespace.
func missing() string {
	for _, program := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	rules := exec.Command("iptables", "-w", "-S")
	rules.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if said, err := rules.CombinedOutput(); err != nil {
		return fmt.Sprintf("no network namespace with iptables: %v %s", err, said)
	}
	return ""
}

// Run runs a command. Its error has what that said.
func Run(words ...string) error {
	if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, said)
	}
	return nil
}
