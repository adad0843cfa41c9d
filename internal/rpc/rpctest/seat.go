package rpctest

// seat is an editor with its daemon. A script starts with one seat. The command other adds a second
// one with the same home folder.
type seat struct {
	daemon Daemon
	ed     *Editor
	cursor int              // index in the log after the last message that met an expectation
	last   *Message         // the message that matched the last expectation
	answer *Message         // the response to the last request
	sent   string           // ID of the last request
	past   []string         // transcripts of the daemons before each restart
	seqs   map[string]int64 // each session's last sequence number, over all daemons of the seat
	dead   bool
}

// cmdOther switches to the other seat. On the first call, it starts the second daemon.
func cmdOther(r *runner, _ string) error {
	away := r.seat
	if r.away != nil {
		r.seat, r.away = *r.away, &away
		return nil
	}
	r.seat, r.away = seat{seqs: map[string]int64{}}, &away
	r.launch()
	return nil
}

// finishSeats stops both daemons and returns the story of each.
func (r *runner) finishSeats() (stories []string) {
	r.finishSeat()
	stories = append(r.past, Story(r.ed.Log(0), r.ws))
	if r.away == nil {
		return stories
	}
	here := r.seat
	r.seat, r.away = *r.away, nil
	r.finishSeat()
	others := append(r.past, Story(r.ed.Log(0), r.ws))
	r.seat = here
	return append(stories, others...)
}
