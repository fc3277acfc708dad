// The load generator of e2e/matrix/load with Go's http.Transport, whose pool takes the latest connection first and whose GETs are sent again where the
// server has closed one. Orders and output are those of generator.ts.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

type orders struct {
	Sender          string  `json:"sender"`
	URL             string  `json:"url"`
	Origin          int64   `json:"origin,string"`
	NewPerSecond    float64 `json:"newPerSecond"`
	PooledPerSecond float64 `json:"pooledPerSecond"`
	SlowShare       float64 `json:"slowShare"`
	TimeoutMs       int64   `json:"timeoutMs"`
	MaxSeconds      float64 `json:"maxSeconds"`
}

type record struct {
	ID         int      `json:"id"`
	Intended   float64  `json:"intended"`
	Sent       *float64 `json:"sent,omitempty"`
	Finished   float64  `json:"finished"`
	Mode       string   `json:"mode"`
	Kind       string   `json:"kind"`
	Sender     string   `json:"sender"`
	Client     string   `json:"client"`
	Pod        string   `json:"pod,omitempty"`
	PodKnownBy string   `json:"podKnownBy,omitempty"`
	Connection int64    `json:"connection,omitempty"`
	Reused     bool     `json:"reused"`
	Connected  *float64 `json:"connected,omitempty"`
	Outcome    string   `json:"outcome"`
	Status     int      `json:"status,omitempty"`
	Error      string   `json:"error,omitempty"`
	Received   int64    `json:"received"`
	Retries    int      `json:"retries,omitempty"`
}

// A connection that remembers who has answered on it: what is lost on it later is lost there.
type connection struct {
	net.Conn
	number    int64
	connected float64
	pod       atomic.Value
}

var (
	given   orders
	count   atomic.Int64
	mutex   sync.Mutex
	records []record
)

// Milliseconds since the run's origin, on the clock that all programs of this machine share.
func now() float64 {
	var at syscall.Timespec
	const monotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&at)), 0)
	return float64(at.Nano()-given.Origin) / 1e6
}

func transport(fresh bool) *http.Transport {
	dialer := &net.Dialer{}
	return &http.Transport{
		DisableKeepAlives: fresh, MaxIdleConnsPerHost: 256,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			made, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &connection{Conn: made, number: count.Add(1), connected: now()}, nil
		},
	}
}

func outcomeOf(err error, connected, receiving bool) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENOBUFS):
		return "not-sent"
	case !connected:
		return "unreachable"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case receiving:
		return "truncated"
	}
	return "reset-before-response"
}

func send(through *http.Transport, mode string, intended float64) {
	made := record{Intended: intended, Mode: mode, Kind: "quick", Sender: given.Sender, Client: "go", Outcome: "ok"}
	path := ""
	if rand.Float64() < given.SlowShare {
		made.Kind, path = "slow", "slow"
	}
	var used *connection
	tries := 0
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(given.TimeoutMs)*time.Millisecond)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		tries++
		used, _ = got.Conn.(*connection)
		made.Reused = got.Reused
		sent := now()
		made.Sent = &sent
	}})
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, given.URL+path, nil)
	response, err := through.RoundTrip(request)
	if err == nil {
		made.Received, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	made.Finished = now()
	if tries > 1 {
		made.Retries = tries - 1
	}
	if response != nil {
		made.Status = response.StatusCode
		made.Pod, made.PodKnownBy = response.Header.Get("x-lameduck-pod"), "header"
		if response.StatusCode >= 500 {
			made.Outcome = "bad-status"
		}
	}
	if used != nil {
		made.Connection, made.Connected = used.number, &used.connected
		if made.Pod != "" {
			used.pod.Store(made.Pod)
		} else if pod, known := used.pod.Load().(string); known {
			made.Pod, made.PodKnownBy = pod, "tuple"
		}
	}
	if made.Pod == "" {
		made.PodKnownBy = ""
	}
	if err != nil {
		made.Outcome, made.Error = outcomeOf(err, used != nil, response != nil), err.Error()
	}
	mutex.Lock()
	defer mutex.Unlock()
	made.ID = len(records)
	records = append(records, made)
}

func main() {
	// As generator.ts: a nice value counts within a session only.
	os.WriteFile("/proc/self/autogroup", []byte("-20"), 0)
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		panic(err)
	}
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	output := json.NewEncoder(os.Stdout)
	telling := time.NewTicker(time.Second)
	pool, fresh := transport(false), transport(true)
	rate := given.NewPerSecond + given.PooledPerSecond
	var underWay sync.WaitGroup
	due := now()
	for end := due + given.MaxSeconds*1e3; due < end; {
		select {
		case <-over:
			end = 0
		case <-telling.C:
			mutex.Lock()
			output.Encode(map[string]int{"sent": len(records)})
			mutex.Unlock()
		case <-time.After(time.Duration((due - now()) * 1e6)):
			mode, through := "pooled", pool
			if rand.Float64()*rate < given.NewPerSecond {
				mode, through = "new", fresh
			}
			intended := due
			underWay.Add(1)
			go func() {
				defer underWay.Done()
				send(through, mode, intended)
			}()
			due += rand.ExpFloat64() * 1e3 / rate
		}
	}
	underWay.Wait()
	buffered := bufio.NewWriter(os.Stdout)
	defer buffered.Flush()
	output = json.NewEncoder(buffered)
	for _, each := range records {
		output.Encode(each)
	}
}
