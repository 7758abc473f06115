// Package fleet measures a plan on many machines, over NATS JetStream.
//
// The unit of work is a block: all cells of one repetition, run in plan order by
// one worker. So cells that are compared are always measured on one machine. A
// coordinator ([Fleet.Sweep]) publishes blocks to a work queue. Workers
// ([Worker]) take one at a time, run its cells with a [Runner], and publish all
// its records as one result. The coordinator passes results to a function that
// stores them, and then acknowledges them. There are three streams:
//
//	ISOBAR_WORK     isobar.work.SWEEP.BLOCK     blocks to run: a work queue
//	ISOBAR_RESULT   isobar.result.SWEEP.BLOCK   their results: a work queue
//	ISOBAR_DEAD     isobar.dead.SWEEP.BLOCK     messages given up, with the reason
//
// and two object stores, for programs and for results too large for a message.
//
// The coordinator's store is the truth. A block is done when it is stored. The streams are
// only transport and may lose anything: the coordinator republishes every block that is
// neither stored nor in a stream. Both work queues hold one message per block and refuse a
// second. If two workers run a block, because one seemed dead, it has two results; the first
// is stored, as a whole. So however often a process, a server or a connection dies, each
// cell has one record, and the records of a block come from one attempt on one machine.
//
// A worker trusts no message. It checks that a block matches its subject, that
// its operator allows it, and that no path leaves its directory. It publishes
// refused blocks to ISOBAR_DEAD with the reason.
//
// A Fleet is a connection; its methods may be called concurrently. A Worker and
// a sweep belong to one goroutine each.
//
// Imports: base, kit, lab.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams and the object stores.
const (
	workStream   = "ISOBAR_WORK"
	resultStream = "ISOBAR_RESULT"
	deadStream   = "ISOBAR_DEAD"
	programStore = "isobar-programs"
	resultStore  = "isobar-results"
)

const (
	// maxMessage bounds messages: the streams refuse larger ones.
	maxMessage = 4 << 20
	// inlineBytes is the largest result sent in a message. Third-party servers
	// accept 1 MB by default.
	inlineBytes = 512 << 10
	// resultAge is how long results wait for a coordinator to return.
	resultAge = 7 * 24 * time.Hour
	// programAge is how long programs are kept.
	programAge = 90 * 24 * time.Hour
	// deadAge and deadMessages bound the dead messages. A bound in bytes would
	// reserve that much of the server's disk.
	deadAge      = 30 * 24 * time.Hour
	deadMessages = 10_000
)

// Options say where the servers are and who connects. The zero value is not usable: set URL or Server.
type Options struct {
	// URL of a server, nats://HOST:PORT or tls://HOST:PORT, or several separated
	// by commas.
	URL string
	// Server is a server in this process, instead of URL.
	Server *Server
	// Name identifies the connection in the server's own monitoring.
	Name string
	// Set at most one: a file with the token, the seed of an nkey, or a user's JWT with its seed.
	TokenFile, NKeyFile, CredsFile string
	// PEM files: the authorities that signed the servers' certificates, and this
	// client's certificate and key.
	CA, Cert, Key string
	// Log receives one line whenever the connection is lost or restored; nil
	// discards it.
	Log func(format string, args ...any)
}

// A Fleet is a connection to the servers. Make one with Connect; it must not be
// copied.
type Fleet struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	log    func(format string, args ...any)
	lost   context.Context // ends when the connection is closed permanently
	closed context.CancelFunc

	mu       sync.Mutex
	answered map[string]bool // guarded by mu: names of the members that answered the last call of Members
	patience time.Duration   // how long Members waits for those; set by Connect
}

// Connect connects and creates missing streams. A lost connection is restored, however long
// that takes, unless the servers refuse the credential.
func Connect(ctx context.Context, o Options) (*Fleet, error) {
	f := &Fleet{log: o.Log, patience: patience}
	if f.log == nil {
		f.log = func(string, ...any) {}
	}
	f.lost, f.closed = context.WithCancel(context.Background())
	options, err := o.nats(f)
	if err != nil {
		return nil, err
	}
	target, where := o.URL, redact(o.URL)
	if o.Server != nil {
		target, where = nats.DefaultURL, nats.DefaultURL
	}
	if f.nc, err = nats.Connect(target, options...); err != nil {
		return nil, fmt.Errorf("fleet: connect: %s: %w: %s", where, err, o.remedy(err))
	}
	if f.js, err = jetstream.New(f.nc, jetstream.WithPublishAsyncMaxPending(2*publishBatch),
		jetstream.WithPublishAsyncTimeout(10*time.Second)); err == nil {
		err = f.ensure(ctx)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("fleet: connect: %s: %w: is JetStream enabled? 'isobar fleet serve' has it", where, err)
	}
	return f, nil
}

// Close closes the connection. A block that a worker is running goes to another
// worker later.
func (f *Fleet) Close() { f.nc.Close() }

func (o Options) nats(f *Fleet) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.Timeout(5 * time.Second), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				f.log("connection lost: %v", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { f.log("reconnected to %s", nc.ConnectedUrlRedacted()) }),
		nats.ClosedHandler(func(*nats.Conn) { f.closed() }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // operations report their errors
	}
	if o.Server != nil {
		return append(options, nats.InProcessServer(o.Server.ns), nats.Token(o.Server.token)), nil
	}
	if o.TokenFile != "" {
		token, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("fleet: connect: token: %w", err)
		}
		options = append(options, nats.Token(strings.TrimSpace(string(token))))
	}
	if o.NKeyFile != "" {
		option, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("fleet: connect: nkey: %w: give a file that holds the seed (SU...)", err)
		}
		options = append(options, option)
	}
	if o.CredsFile != "" {
		options = append(options, nats.UserCredentials(o.CredsFile))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" || o.Key != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	return options, nil
}

// remedy says how to fix a connection error.
func (o Options) remedy(err error) string {
	switch credential := o.TokenFile + o.NKeyFile + o.CredsFile; {
	case errors.Is(err, nats.ErrAuthorization) && credential != "":
		return credential + " is not this server's: give the file that 'isobar fleet serve' names when it starts"
	case errors.Is(err, nats.ErrAuthorization):
		return "the server requires a credential: give --token-file, --nkey or --creds"
	case strings.Contains(err.Error(), "certificate"), strings.Contains(err.Error(), "tls:"):
		return "give the authority that signed the server's certificate with --ca, and this machine's with --cert and --key"
	}
	return "is 'isobar fleet serve' running there?"
}

// redact removes passwords and tokens from URLs.
func redact(urls string) string {
	list := strings.Split(urls, ",")
	for i, s := range list {
		if u, err := url.Parse(s); err == nil && u.User != nil {
			u.User = url.User("...")
			list[i] = u.String()
		}
	}
	return strings.Join(list, ",")
}

// ensure creates missing streams and object stores.
func (f *Fleet) ensure(ctx context.Context) error {
	for _, config := range []jetstream.StreamConfig{
		{
			Name: workStream, Subjects: []string{"isobar.work.*.*"}, Description: "isobar: blocks to run",
			Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
			DiscardNewPerSubject: true,
		},
		{
			Name: resultStream, Subjects: []string{"isobar.result.*.*"}, Description: "isobar: records of blocks",
			Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
			DiscardNewPerSubject: true, MaxAge: resultAge,
		},
		{
			Name: deadStream, Subjects: []string{"isobar.dead.*.*"}, Description: "isobar: messages that were given up",
			MaxAge: deadAge, MaxMsgs: deadMessages, Discard: jetstream.DiscardOld,
		},
	} {
		config.MaxMsgSize, config.Compression = maxMessage, jetstream.S2Compression
		config.Duplicates = 10 * time.Minute
		if err := f.ensureStream(ctx, config); err != nil {
			return fmt.Errorf("stream %s: %w", config.Name, err)
		}
	}
	for _, config := range []jetstream.ObjectStoreConfig{
		{Bucket: programStore, Description: "isobar: programs by digest", TTL: programAge},
		{Bucket: resultStore, Description: "isobar: large results", TTL: resultAge},
	} {
		_, err := f.js.ObjectStore(ctx, config.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			config.Replicas = f.replicas()
			if _, err = f.js.CreateObjectStore(ctx, config); errors.Is(err, jetstream.ErrBucketExists) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("object store %s: %w", config.Bucket, err)
		}
	}
	return nil
}

func (f *Fleet) ensureStream(ctx context.Context, config jetstream.StreamConfig) error {
	_, err := f.js.Stream(ctx, config.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	config.Replicas = f.replicas()
	_, err = f.js.CreateStream(ctx, config)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // created meanwhile by another process
		return nil
	}
	return err
}

// replicas is how many servers keep a copy of a new stream: three if the
// servers form a cluster of at least that size.
func (f *Fleet) replicas() int {
	if f.nc.ConnectedClusterName() != "" && len(f.nc.Servers()) >= 3 {
		return 3
	}
	return 1
}
