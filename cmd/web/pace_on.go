//go:build faultpoint

package main

// pace takes the politeness out of the sweeps of a crash test; its gateway is the stand-in.
const pace = 1000
