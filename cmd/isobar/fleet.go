package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/fleet"
)

// connectFlags adds the flags for connecting to a fleet.
func connectFlags(cmd *cobra.Command, o *fleet.Options, prefix string) {
	f := cmd.Flags()
	f.StringVar(&o.TokenFile, prefix+"token-file", "", "`FILE` with the fleet's token")
	f.StringVar(&o.NKeyFile, prefix+"nkey", "", "`FILE` with the seed of an nkey, instead of a token")
	f.StringVar(&o.CredsFile, prefix+"creds", "", "`FILE` with a user's JWT and seed, instead of a token")
	f.StringVar(&o.CA, prefix+"ca", "", "PEM `FILE` of the authority that signed the servers' certificates")
	f.StringVar(&o.Cert, prefix+"cert", "", "PEM `FILE` of this client's certificate")
	f.StringVar(&o.Key, prefix+"key", "", "PEM `FILE` of the key of this client's certificate")
	cmd.MarkFlagsMutuallyExclusive(prefix+"token-file", prefix+"nkey", prefix+"creds")
}

// connection completes the options to connect to url.
func (a *app) connection(o fleet.Options, url, name string) fleet.Options {
	o.URL, o.Name = url, name
	o.Log = func(format string, args ...any) { fmt.Fprintf(a.Err, "isobar: fleet: "+format+"\n", args...) }
	return o
}

func (a *app) fleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Measure on many machines: serve a fleet and show its state",
		Long:  help("fleet"),
		Args:  onlyCommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.fleetServeCommand(), a.fleetStatusCommand())
	return cmd
}

// serveOptions are the flags of 'fleet serve'.
type serveOptions struct {
	config  fleet.ServerConfig
	metrics string
	json    bool
}

func (a *app) fleetServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a fleet until interrupted",
		Long:  help("fleet-serve"),
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serveFleet(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.config.Listen, "listen", "127.0.0.1:4222", "`HOST:PORT` for clients; port 0 for any")
	f.StringVar(&o.config.Dir, "dir", "", "`DIR` for the streams (default: fleet, beside the store)")
	f.StringVar(&o.config.TokenFile, "token-file", "", "`FILE` with the token (default: DIR/token, created if missing)")
	f.StringSliceVar(&o.config.NKeys, "nkey", nil,
		"public key (U...) of a user who may connect, instead of a token; may be repeated")
	f.StringVar(&o.config.Cert, "cert", "", "PEM `FILE` of the server's certificate")
	f.StringVar(&o.config.Key, "key", "", "PEM `FILE` of the certificate's key")
	f.StringVar(&o.config.CA, "ca", "", "PEM `FILE` of the authority that must have signed clients' certificates")
	f.BoolVar(&o.config.Plaintext, "plaintext", false, "allow addresses other than loopback without a certificate")
	f.BoolVar(&o.config.Sync, "sync", false, "write every message to disk before confirming it")
	f.StringVar(&o.config.Name, "name", "", "name of this server in a cluster")
	f.StringVar(&o.config.Cluster, "cluster", "", "name of the cluster")
	f.StringVar(&o.config.ClusterListen, "cluster-listen", "", "`HOST:PORT` for the other servers")
	f.StringSliceVar(&o.config.Routes, "route", nil, "`HOST:PORT` of another server; may be repeated")
	f.StringVar(&o.metrics, "metrics", "", "serve Prometheus metrics at `HOST:PORT`, under /metrics")
	f.BoolVar(&o.json, "json", false, "print where it listens as JSON")
	return cmd
}

func (a *app) serveFleet(ctx context.Context, o *serveOptions) error {
	if o.config.Dir == "" {
		path, err := a.StorePath()
		if err != nil {
			return err
		}
		o.config.Dir = filepath.Join(filepath.Dir(path), "fleet")
	}
	var err error
	if o.config.Dir, err = filepath.Abs(o.config.Dir); err != nil {
		return fmt.Errorf("fleet serve: %w", err)
	}
	credential := "--nkey SEEDFILE"
	if len(o.config.NKeys) == 0 {
		o.config.TokenFile = cmp.Or(o.config.TokenFile, filepath.Join(o.config.Dir, "token"))
		credential = "--token-file " + o.config.TokenFile
	}
	if err := o.config.Check(); err != nil {
		return usage(err)
	}
	s, err := fleet.Serve(o.config)
	if err != nil {
		return err
	}
	defer s.Close()
	metrics := ""
	if o.metrics != "" {
		url, stop, err := s.ServeMetrics(ctx, o.metrics)
		if err != nil {
			return fmt.Errorf("fleet serve: --metrics: %w", err)
		}
		defer stop()
		metrics = url
	}
	if o.json {
		err = writeJSON(a.Out, map[string]string{"url": s.URL(), "token_file": o.config.TokenFile, "dir": o.config.Dir,
			"metrics": metrics})
	} else {
		fmt.Fprintf(a.Out, "serving    %s\nstreams    %s\n", s.URL(), o.config.Dir)
		if metrics != "" {
			fmt.Fprintf(a.Out, "metrics    %s\n", metrics)
		}
		_, err = fmt.Fprintf(a.Out, "join with  isobar worker %s %s\n", s.URL(), credential)
	}
	return cmp.Or(err, s.Wait(ctx))
}
