//go:build !faultpoint

package models

// FaultPoint marks a place where a crash test may stop the process (reliability: fault points). In a shipped build it is nothing.
func FaultPoint(string) {}
