"""Says what is wrong and why: lint of manifests, explain of pods and claims, simulate."""
