//go:build minor34

package main

import "errors"

// nodeLocal is what 1.34 does not have: all its errors concern every node.
var nodeLocal = errors.New("no error is local to a node")
