//go:build faultpoint

package jobs

// pace makes the sweeps of a crash test run every 50 to 600 milliseconds, so that a killed program is seen to heal in seconds.
const pace = 100
