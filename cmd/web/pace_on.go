//go:build faultpoint

package main

const (
	// pace takes the politeness out of the sweeps of a crash test; its gateway is the stand-in.
	pace = 1000

	// asksLoopback lets a crash test's push service be the stand-in too. No program that ships can be told to.
	asksLoopback = true
)
