//go:build faultpoint

package jobs

// pace makes the sweeps of a crash test run every 100 milliseconds to 6 seconds, so that a killed program is seen to heal in seconds.
const pace = 50
