// Package discovery asks a cluster for the kinds that it has.
package discovery

import (
	"errors"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// DiscoveryClient is never made.
type DiscoveryClient struct{}

// NewDiscoveryClientForConfig fails.
func NewDiscoveryClientForConfig(*rest.Config) (*DiscoveryClient, error) {
	return nil, errors.ErrUnsupported
}

// ServerResourcesForGroupVersion fails.
func (*DiscoveryClient) ServerResourcesForGroupVersion(string) (*meta.APIResourceList, error) {
	return nil, errors.ErrUnsupported
}
