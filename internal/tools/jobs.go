package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of jobs.
const (
	maxRunningJobs = 16 // of one session
	maxEndedJobs   = 50 // ended jobs of one session that are remembered
	jobOutput      = 64 << 10
)

// ErrUnknownJob means that no job has that id.
var ErrUnknownJob = errors.New("there is no such job")

// Job is a snapshot of a background job: a command or a sub-agent that runs alongside the turns.
type Job struct {
	ID        string    `json:"jobId"`
	SessionID string    `json:"sessionId"`
	Kind      string    `json:"kind"` // command, agent
	Title     string    `json:"title"`
	Cwd       string    `json:"cwd,omitempty"`
	Status    string    `json:"status"` // running, completed, failed, killed
	End       string    `json:"end,omitempty"`
	ExitCode  *int      `json:"exitCode,omitempty"` // exit code of a command that ended on its own
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// JobEnd describes how a job ended.
type JobEnd struct {
	Failed bool
	Text   string // "exit code 1"
	Note   string // more text for the model
	Code   *int   // the exit code of a command; nil if there is no exit code
}

// Jobs manages the jobs of all sessions. Jobs outlive a turn, but not EndSession or Close. Jobs is
// safe for concurrent use.
type Jobs struct {
	onEnd func(Job, string)
	wg    sync.WaitGroup

	mu     sync.Mutex
	jobs   []*job // in the order in which they were started
	closed bool
}

type job struct {
	Job
	cancel context.CancelFunc
	done   chan struct{}
	out    []byte // the end of the output, at most twice jobOutput bytes
	lost   int64  // number of bytes that were dropped before out
	note   string // JobEnd.Note of an ended job
	killed bool
	silent bool // the session was deleted or the daemon is closing, so the end is not reported
}

// NewJobs returns an empty Jobs. onEnd, if set, is called with a message for the model when a job
// has ended on its own. It must not block for long.
func NewJobs(onEnd func(job Job, message string)) *Jobs { return &Jobs{onEnd: onEnd} }

// Start runs a job. run must return when its ctx ends, and may call write from any goroutine. Start
// returns an error if too many jobs of the session are running, and after Close.
func (j *Jobs) Start(spec Job, run func(ctx context.Context, write func([]byte)) JobEnd) (Job,
	error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Job{}, errors.New("starting a job: the daemon is shutting down")
	}
	if n := j.countLocked(spec.SessionID); n >= maxRunningJobs {
		return Job{}, fmt.Errorf("starting a job: %d jobs are already running; end one with the job tool first",
			n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &job{Job: spec, cancel: cancel, done: make(chan struct{})}
	b.ID, b.Status, b.StartedAt = newJobID(), "running", time.Now()
	j.jobs = append(j.jobs, b)
	j.wg.Go(func() {
		end := run(ctx, func(p []byte) { j.write(b, p) })
		cancel()
		j.ended(b, end)
	})
	return b.Job, nil
}

func newJobID() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return "job_" + hex.EncodeToString(b[:])
}

func (j *Jobs) countLocked(sessionID string) (n int) {
	for _, b := range j.jobs {
		if b.SessionID == sessionID && b.Status == "running" {
			n++
		}
	}
	return n
}

// Running reports whether a job of the session is running.
func (j *Jobs) Running(sessionID string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.countLocked(sessionID) > 0
}

func (j *Jobs) write(b *job, p []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if b.out = append(b.out, p...); len(b.out) > 2*jobOutput {
		cut := len(b.out) - jobOutput
		b.lost += int64(cut)
		b.out = append(b.out[:0], b.out[cut:]...)
	}
}

func (j *Jobs) ended(b *job, end JobEnd) {
	j.mu.Lock()
	b.EndedAt, b.End, b.ExitCode = time.Now(), end.Text, end.Code
	switch {
	case b.killed:
		b.Status = "killed"
	case end.Failed:
		b.Status = "failed"
	default:
		b.Status = "completed"
	}
	note := ""
	if b.note = end.Note; b.note != "" {
		note = "\n[" + b.note + "]"
	}
	snapshot, tail, tell := b.Job, b.tail(jobNotice), !b.silent && !b.killed && j.onEnd != nil
	close(b.done)
	j.forgetLocked(b.SessionID)
	j.mu.Unlock()
	if tell {
		j.onEnd(snapshot, endMessage(snapshot, tail)+note)
	}
}

// jobNotice is the maximum number of bytes of output in the message about a job's end.
const jobNotice = 2 << 10

func endMessage(b Job, tail string) string {
	s := fmt.Sprintf("The background job %s (%s) has %s", b.ID, oneLine(b.Title, 100), b.Status)
	if b.End != "" {
		s += ": " + b.End
	}
	s += fmt.Sprintf(" after %v.", b.EndedAt.Sub(b.StartedAt).Round(time.Second/10))
	if tail == "" {
		return s + " It had no output."
	}
	return s + " The end of its output:\n" + tail
}

// tail returns the end of the output, at most n bytes. If it has to cut the output and a line
// begins in the first half of these bytes, the result starts there.
func (b *job) tail(n int) string {
	out := b.out
	if len(out) > n {
		out = out[len(out)-n:]
		if nl := bytes.IndexByte(out, '\n'); nl >= 0 && nl < len(out)/2 {
			out = out[nl+1:]
		}
	}
	return validText(string(bytes.TrimRight(out, "\n")))
}

// forgetLocked drops the oldest ended jobs of a session, so that at most maxEndedJobs are left.
func (j *Jobs) forgetLocked(sessionID string) {
	ended := 0
	for i, b := range slices.Backward(j.jobs) {
		if b.SessionID != sessionID || b.Status == "running" {
			continue
		}
		if ended++; ended > maxEndedJobs {
			j.jobs = slices.Delete(j.jobs, i, i+1)
		}
	}
}

// List returns a session's jobs, the oldest first. If sessionID is empty, it returns all jobs.
func (j *Jobs) List(sessionID string) []Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	jobs := []Job{}
	for _, b := range j.jobs {
		if sessionID == "" || b.SessionID == sessionID {
			jobs = append(jobs, b.Job)
		}
	}
	return jobs
}

// Read returns a job and the end of the job's output.
func (j *Jobs) Read(jobID string) (Job, string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.find(jobID)
	if b == nil {
		return Job{}, "", fmt.Errorf("reading job %s: %w", jobID, ErrUnknownJob)
	}
	out := b.tail(jobOutput)
	if lost := b.lost + int64(max(0, len(b.out)-jobOutput)); lost > 0 {
		out = fmt.Sprintf("[%s earlier bytes were dropped]\n%s", number(int(lost)), out)
	}
	if b.note != "" {
		out = strings.TrimPrefix(out+"\n["+b.note+"]", "\n")
	}
	return b.Job, out, nil
}

// Kill stops a job. It does not wait until the job has stopped. Killing a job that has ended is not
// an error.
func (j *Jobs) Kill(jobID string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.find(jobID)
	if b == nil {
		return fmt.Errorf("ending job %s: %w", jobID, ErrUnknownJob)
	}
	if b.Status == "running" {
		b.killed = true
		b.cancel()
	}
	return nil
}

// Wait waits until a job has ended or ctx ends.
func (j *Jobs) Wait(ctx context.Context, jobID string) error {
	j.mu.Lock()
	b := j.find(jobID)
	j.mu.Unlock()
	if b == nil {
		return fmt.Errorf("waiting for job %s: %w", jobID, ErrUnknownJob)
	}
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (j *Jobs) find(jobID string) *job {
	for _, b := range j.jobs {
		if b.ID == jobID {
			return b
		}
	}
	return nil
}

// EndSession stops a deleted session's jobs, waits for them and forgets them. This includes jobs
// that a sub-agent starts while it is being stopped.
func (j *Jobs) EndSession(sessionID string) {
	for {
		for _, b := range j.silence(sessionID) {
			<-b.done
		}
		if j.forgetEnded(sessionID) {
			return
		}
	}
}

// forgetEnded forgets a session's jobs and returns true. If a job is running, it does nothing and
// returns false.
func (j *Jobs) forgetEnded(sessionID string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.countLocked(sessionID) > 0 {
		return false
	}
	j.jobs = slices.DeleteFunc(j.jobs, func(b *job) bool { return b.SessionID == sessionID })
	return true
}

func (j *Jobs) silence(sessionID string) (jobs []*job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.jobs {
		if sessionID == "" || b.SessionID == sessionID {
			b.silent, b.killed = true, b.Status == "running"
			b.cancel()
			jobs = append(jobs, b)
		}
	}
	return jobs
}

// Close stops all jobs, waits for them, and refuses new ones.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.silence("")
	j.wg.Wait()
}
