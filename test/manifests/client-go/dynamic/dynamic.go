// Package dynamic reads objects of a cluster.
package dynamic

import (
	"context"
	"errors"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// ResourceInterface is what the engine calls of the real one.
type ResourceInterface interface {
	Get(ctx context.Context, name string, options meta.GetOptions, subresources ...string) (
		*unstructured.Unstructured, error)
	List(ctx context.Context, options meta.ListOptions) (*unstructured.UnstructuredList, error)
}

// NamespaceableResourceInterface is a ResourceInterface for each namespace.
type NamespaceableResourceInterface interface {
	Namespace(string) ResourceInterface
	ResourceInterface
}

// Client is never made.
type Client struct{}

// NewForConfig fails.
func NewForConfig(*rest.Config) (*Client, error) {
	return nil, errors.ErrUnsupported
}

// Resource has no resource.
func (*Client) Resource(schema.GroupVersionResource) NamespaceableResourceInterface {
	return nil
}
