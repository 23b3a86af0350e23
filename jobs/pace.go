//go:build !faultpoint

package jobs

// pace is how many times faster than the timetable says the sweeps run: once, in every program that ships.
const pace = 1
