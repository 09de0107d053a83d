package main

import (
	"errors"
	"slices"

	"minikv/server/engine"
)

// addUser takes in a user line; reason is why not.
func (conf *config) addUser(words []string) (reason string) {
	switch {
	case len(words) == 0:
		return reasonUnknown
	case slices.ContainsFunc(conf.users, func(have []string) bool { return have[0] == words[0] }):
		return "Error in user declaration '" + words[0] + "': Duplicate user found. A user can only be defined once in " +
			"config files"
	}
	if err := engine.ValidateUser(words); err != nil {
		return err.Error()
	}
	conf.users = append(conf.users, words)
	return ""
}

var errUsersTwice = errors.New("Configuring Redis with users defined in redis.conf and at the same setting an ACL " +
	"file path is invalid. This setup is very likely to lead to configuration errors and security holes, please define " +
	"either an ACL file or declare users directly in your redis.conf, but not both.")

// checkUsers checks the file of users, in the configured directory.
func (conf *config) checkUsers() error {
	file := conf.aclFile()
	switch {
	case file == nil:
		return nil
	case conf.users != nil:
		return errUsersTwice
	}
	return engine.ValidateACLFile(file)
}

// aclFile is the file of users, or nil.
func (conf *config) aclFile() engine.File {
	if name := conf.get("aclfile"); name != "" {
		return systemFile(name)
	}
	return nil
}

// systemFile is a file by its name, as it is configured.
type systemFile string

// Name is the file's.
func (f systemFile) Name() string { return string(f) }

// Read reads the file; its error is the system's, as C words it.
func (f systemFile) Read() ([]byte, error) {
	text, err := readText(string(f))
	if err != nil {
		reason := []byte(unwrapPath(err).Error())
		if 'a' <= reason[0] && reason[0] <= 'z' {
			reason[0] -= 'a' - 'A'
		}
		return nil, errors.New(string(reason))
	}
	return text, nil
}

// Write replaces the file.
func (f systemFile) Write(text []byte) error { return writeFile(string(f), text, publicMode) }
