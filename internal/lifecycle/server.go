package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server is one HTTP listener.
type Server struct {
	Address string
	Option  string // option that sets Address; error messages name it
	Handler http.Handler
	After   []<-chan struct{} // channels that must be closed before the server starts to listen
	Within  time.Duration     // time limit for open requests at a graceful shutdown
	// Listener, if not nil, is already open, and connections to it wait until the server runs. If it is nil, the
	// server opens Address.
	Listener net.Listener
	Opened   chan struct{} // closed when the server accepts connections; may be nil
	// Drain is how long the server still accepts new requests after ctx has ended. After that, open requests may
	// continue for Within. Each response during the drain closes its connection.
	Drain    time.Duration
	Patience *Patience                       // limits for slow clients; nil: DefaultPatience
	Wrap     func(net.Listener) net.Listener // wraps the listener, to replace responses of net/http itself; nil: unchanged
}

// Patience has the time limits for a slow client. Handlers limit their own waits for Kafka and Redis.
type Patience struct {
	Header time.Duration // until the header of a request is complete
	Body   time.Duration // until the body, too, is complete
	Answer time.Duration // from the end of the header until the client has read the response
	Idle   time.Duration // between two requests
}

// DefaultPatience is the default patience of a server.
var DefaultPatience = Patience{Header: 5 * time.Second, Body: 30 * time.Second, Answer: 60 * time.Second, Idle: 2 * time.Minute}

const headerAtMost = 64 << 10

// Open opens the listener unless it is already open.
func (s *Server) Open(ctx context.Context) (err error) {
	if s.Listener == nil {
		if s.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address); err != nil {
			return fmt.Errorf("listen (--%s): %w", s.Option, err)
		}
	}
	return nil
}

// Run waits until the channels in After are closed, and then serves until ctx ends. After that, it accepts new
// requests for the time Drain, and gives open requests the time Within to finish.
func (s *Server) Run(ctx context.Context) error {
	for _, ready := range s.After {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.Open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while waiting for After
		}
		return err
	}
	patience := s.Patience
	if patience == nil {
		patience = &DefaultPatience
	}
	web := &http.Server{
		Handler:           closeAfterResponse(ctx, s.Handler),
		ReadHeaderTimeout: patience.Header,
		ReadTimeout:       patience.Body,
		WriteTimeout:      patience.Answer,
		IdleTimeout:       patience.Idle,
		MaxHeaderBytes:    headerAtMost,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // discards net/http's messages about client errors
	}
	listener := s.Listener
	if s.Wrap != nil {
		listener = s.Wrap(listener)
	}
	if s.Opened != nil {
		close(s.Opened)
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	late, drained := Linger(ctx, s.Drain)
	defer drained()
	select {
	case err := <-ended:
		return fmt.Errorf("serve (--%s): %w", s.Option, err)
	case <-late.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Within)
	defer cancel()
	if err := web.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
		if err != nil {
			return fmt.Errorf("close (--%s): %w", s.Option, err)
		}
	} else if err != nil {
		return fmt.Errorf("stop (--%s): %w", s.Option, err)
	}
	return nil
}

// closeAfterResponse closes the connection after each response once ctx has ended, so that the client opens the next
// connection to another process.
func closeAfterResponse(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
