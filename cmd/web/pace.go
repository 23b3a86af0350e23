//go:build !faultpoint

package main

const pace = 1
