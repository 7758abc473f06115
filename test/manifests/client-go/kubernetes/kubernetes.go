// Package kubernetes and its neighbours stand for k8s.io/client-go, which Helm's
// engine has for templates that ask a cluster. Ours ask none; with the real one, which
// has all types of Kubernetes, 519 packages are compiled here instead of 301.
package kubernetes
