//go:build !minor34

package main

import "k8s.io/dynamic-resource-allocation/structured"

// nodeLocal marks errors that concern one node only.
var nodeLocal = structured.ErrFailedAllocationOnNode
