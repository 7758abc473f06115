// Package golangci makes the checks of package advise a linter of golangci-lint,
// by its module plugin system. Importing it registers the linter isobar.
//
// golangci-lint custom builds a golangci-lint with it from a .custom-gcl.yml:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/isobar-go/isobar
//	    import: github.com/isobar-go/isobar/advise/golangci
//	    version: latest
//
// and .golangci.yml switches it on:
//
//	version: "2"
//	linters:
//	  enable: [isobar]
//	  settings:
//	    custom:
//	      isobar:
//	        type: module
//	        settings:
//	          disable: [sprintf]
//	          all: [closurecapture]
package golangci

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/isobar-go/isobar/advise"
)

func init() { register.Plugin("isobar", newPlugin) }

// Settings are the custom settings in .golangci.yml.
type Settings struct {
	Disable []string `json:"disable"` // checks to disable
	All     []string `json:"all"`     // checks that report findings without a profile
}

type plugin struct{ analyzers []*analysis.Analyzer }

// newPlugin returns an error if a setting names no check, contradicts another, or leaves no check.
func newPlugin(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](conf)
	if err != nil {
		return nil, fmt.Errorf("isobar: %w; settings are disable and all, lists of checks", err)
	}
	for _, name := range s.Disable {
		if advise.Lookup(name) == nil {
			return nil, unknown("disable", name)
		}
	}
	for _, name := range s.All {
		c := advise.Lookup(name)
		if c == nil {
			return nil, unknown("all", name)
		}
		if slices.Contains(s.Disable, name) {
			return nil, fmt.Errorf("isobar: all: %s is disabled; take it from one of the two", name)
		}
		c.ReportAll(true)
	}
	p := plugin{}
	for _, c := range advise.All() {
		if !slices.Contains(s.Disable, c.Name) {
			p.analyzers = append(p.analyzers, c.Analyzer)
		}
	}
	if len(p.analyzers) == 0 {
		return nil, errors.New("isobar: disable: no check is left; disable the linter instead")
	}
	return p, nil
}

func unknown(setting, name string) error {
	var names []string
	for _, c := range advise.All() {
		names = append(names, c.Name)
	}
	return fmt.Errorf("isobar: %s: there is no check %q; there are %s", setting, name, strings.Join(names, ", "))
}

func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return p.analyzers, nil }

func (p plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
