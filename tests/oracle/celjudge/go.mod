module celjudge

go 1.24

require (
	k8s.io/api v0.36.3
	k8s.io/apiserver v0.36.3
	k8s.io/dynamic-resource-allocation v0.36.3
)
