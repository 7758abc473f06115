// Isobar-vet runs the checks of package advise under go vet:
//
//	go vet -vettool=$(which isobar-vet) ./...
//
// Each check has a flag to run it alone, and a flag NAME.all to report findings that
// otherwise need a profile: go vet -vettool=... -sprintf.all ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/isobar-go/isobar/advise"
)

func main() { unitchecker.Main(advise.Analyzers()...) }
