// Package slot computes the Redis Cluster hash slot of a key.
//
// A slot is a number from 0 to 16383: the CRC16 (XMODEM) of the key, or of its
// hash tag, modulo 16384. A hash tag is what stands between the first '{' and
// the first '}' after it, if that is not empty.
//
// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
package slot
