package main

import (
	"net"
	"sync"
	"sync/atomic"
)

// faultConn is a client's TCP connection that can be reset or made silent.
type faultConn struct {
	*net.TCPConn
	id     int64
	silent atomic.Bool
	gone   func()
}

// Read never returns once the connection is silent, except when the peer is gone: what arrives is thrown
// away, so that nothing above (a PING, a new stream) gets an answer.
func (c *faultConn) Read(b []byte) (int, error) {
	for {
		n, err := c.TCPConn.Read(b)
		if err != nil || !c.silent.Load() {
			return n, err
		}
	}
}

// Write claims success and sends nothing once the connection is silent.
func (c *faultConn) Write(b []byte) (int, error) {
	if c.silent.Load() {
		return len(b), nil
	}
	return c.TCPConn.Write(b)
}

func (c *faultConn) Close() error {
	c.gone()
	return c.TCPConn.Close()
}

// reset closes with a TCP RST.
func (c *faultConn) reset() {
	c.SetLinger(0)
	c.Close()
}

// faultListener hands out faultConns and knows those that are open.
type faultListener struct {
	net.Listener
	mu   sync.Mutex
	last int64
	open map[*faultConn]bool
}

func (l *faultListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c := &faultConn{TCPConn: raw.(*net.TCPConn), id: l.last}
	c.gone = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}
	l.open[c] = true
	return c, nil
}

// resetAll resets every open connection.
func (l *faultListener) resetAll() {
	l.mu.Lock()
	all := make([]*faultConn, 0, len(l.open))
	for c := range l.open {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		c.reset()
	}
}
