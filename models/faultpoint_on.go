//go:build faultpoint

package models

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// faultPlan comes from TIFFIN_FAULTPOINT="name" or "name:3" (the third time the point is reached). Only builds with the tag read it.
var (
	faultName, faultAt = readFaultPlan()
	faultSeen          atomic.Int64
)

func readFaultPlan() (string, int64) {
	name, nth, found := strings.Cut(os.Getenv("TIFFIN_FAULTPOINT"), ":")
	if !found {
		return name, 1
	}
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil || n < 1 {
		panic("TIFFIN_FAULTPOINT: " + nth + " is not a count")
	}
	return name, n
}

// FaultPoint kills this process with SIGKILL when it is the planned point at the planned count.
func FaultPoint(name string) {
	if name == faultName && faultSeen.Add(1) == faultAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; do not go on meanwhile
	}
}
