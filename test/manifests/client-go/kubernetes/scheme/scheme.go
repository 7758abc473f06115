// Package scheme has the API versions that a chart may ask for: here none.
package scheme

import "k8s.io/apimachinery/pkg/runtime"

// Scheme is empty.
var Scheme = runtime.NewScheme()
