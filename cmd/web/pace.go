//go:build !faultpoint

package main

const (
	pace         = 1
	asksLoopback = false
)
