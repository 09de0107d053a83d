// Package redisserver starts redis-server, for the tests that compare with it.
package redisserver
