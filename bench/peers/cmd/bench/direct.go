package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// direct reads the mock's stream without an agent. No agent can have better figures.
func direct(e *Env, o options) *Result {
	r := &Result{Name: "direct", Info: Info{Version: "-",
		Protocol: "the benchmark reads the model server itself", WireAPI: "chat"},
		ToolsWorked: true}
	stream := func(n, delay int) ([]float64, float64, error) {
		body := fmt.Sprintf(
			`{"model":"mock-model","stream":true,"messages":[{"role":"user","content":"STREAM n=%d size=%d delay_us=%d id=direct"}]}`,
			n,
			o.size,
			delay,
		)
		resp, err := http.Post(e.BaseURL+"/v1/chat/completions", "application/json",
			strings.NewReader(body))
		if err != nil {
			return nil, 0, err
		}
		defer resp.Body.Close()
		var lat []float64
		var first, last int64
		br := bufio.NewReaderSize(resp.Body, 1<<16)
		for {
			line, err := br.ReadSlice('\n')
			at := now()
			if h := token.FindSubmatch(line); h != nil {
				ns, _ := strconv.ParseInt(string(h[1]), 10, 64)
				lat = append(lat, float64(at-ns)/1e6)
				if first == 0 {
					first = ns
				}
				last = at
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return lat, 0, err
			}
		}
		return lat, float64(len(lat)) / (float64(last-first) / 1e9), nil
	}
	var pool, rate, blat []float64
	for i := 0; i < o.streams; i++ {
		lat, _, err := stream(o.n, o.delayUS)
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
		}
		s := stat(lat)
		if s != nil {
			r.DeltaP50s, r.DeltaP99s = append(r.DeltaP50s, s.P50), append(r.DeltaP99s, s.P99)
		}
		pool = append(pool, lat...)
		r.Missing += o.n - len(lat)
	}
	for i := 0; i < o.bursts; i++ {
		lat, d, err := stream(o.n, 0)
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
		}
		rate, blat = append(rate, d), append(blat, lat...)
		r.Missing += o.n - len(lat)
	}
	r.DeltaLatency, r.Throughput, r.BurstLatency = stat(pool), stat(rate), stat(blat)
	return r
}
