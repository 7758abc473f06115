// Mail runs an IMAP server with mailboxes in memory.
package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"leaks/plant"
)

func main() { plant.Main(serve, load) }

// A session hands over every message.
type session struct {
	imapserver.Session
	keep func(any, []byte)
}

func (s *session) Append(mailbox string, r imap.LiteralReader, options *imap.AppendOptions) (*imap.AppendData, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	s.keep(options, body)
	return s.Session.Append(mailbox, &literal{strings.NewReader(string(body))}, options)
}

type literal struct{ *strings.Reader }

func serve(keep func(any, []byte)) string {
	mem := imapmemserver.New()
	for i := range 20 {
		user := imapmemserver.NewUser(fmt.Sprint("user", i), "secret")
		plant.Must(user.Create("INBOX", nil))
		mem.AddUser(user)
	}
	s := imapserver.New(&imapserver.Options{InsecureAuth: true, Caps: imap.CapSet{imap.CapIMAP4rev1: {}},
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &session{mem.NewSession(), keep}, nil, nil
		}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	plant.Must(err)
	go s.Serve(l)
	return l.Addr().String()
}

// load appends 250 messages to each mailbox, and deletes them.
func load(address string) {
	message := "From: a@example.org\r\nTo: b@example.org\r\nSubject: load\r\n\r\n" +
		strings.Repeat("a line of a message\r\n", 40)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c, err := imapclient.DialInsecure(address, nil)
			if err != nil {
				return
			}
			defer c.Close()
			plant.Must(c.Login(fmt.Sprint("user", i), "secret").Wait())
			for range 250 {
				a := c.Append("INBOX", int64(len(message)), &imap.AppendOptions{Flags: []imap.Flag{imap.FlagSeen}})
				io.WriteString(a, message)
				a.Close()
				if _, err := a.Wait(); err != nil {
					return
				}
			}
			if _, err := c.Select("INBOX", nil).Wait(); err != nil {
				return
			}
			var set imap.SeqSet
			set.AddRange(1, 0)
			deleted := []imap.Flag{imap.FlagDeleted}
			c.Store(set, &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: deleted}, nil).Close()
			c.Expunge().Close()
		})
	}
	all.Wait()
}
