package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// match says which requests a rule is about. An absent field matches all; an empty string matches only an
// empty value ("group": "" is the core group, "subresource": "" the object itself).
type match struct {
	Verb        *string `json:"verb,omitempty"`
	Group       *string `json:"group,omitempty"`
	Resource    *string `json:"resource,omitempty"`
	Subresource *string `json:"subresource,omitempty"`
	Namespace   *string `json:"namespace,omitempty"`
	Name        *string `json:"name,omitempty"`
	Path        string  `json:"path,omitempty"`      // regular expression
	Query       string  `json:"query,omitempty"`     // is contained in the raw query
	UserAgent   string  `json:"userAgent,omitempty"` // is contained in the header
}

// action is what happens to a request. Which fields a type takes stands in actionFields.
type action struct {
	Type        string `json:"type"`
	MS          int    `json:"ms,omitempty"`
	RandomMS    int    `json:"random_ms,omitempty"`
	After       bool   `json:"after,omitempty"`
	Connection  bool   `json:"connection,omitempty"`
	Clean       bool   `json:"clean,omitempty"`
	Code        int    `json:"code,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	RetryAfter  int    `json:"retryAfter,omitempty"`
	AfterEvents *int   `json:"after_events,omitempty"`
	AfterMS     int    `json:"after_ms,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
}

var actionFields = map[string][]string{
	"delay":          {"ms", "after"},
	"drop_before":    {},
	"drop_after":     {"connection"},
	"status":         {"code", "reason", "message", "retryAfter", "after"},
	"watch_error":    {"code", "reason", "message", "after_events"},
	"watch_close":    {"after_events", "after_ms", "connection"},
	"watch_cut":      {"after_events", "clean", "connection"},
	"watch_silence":  {"after_events", "connection"},
	"watch_lag":      {"ms", "random_ms"},
	"bookmarks_only": {},
	"goaway":         {},
	"rst":            {},
	"cut_body":       {"bytes", "clean", "connection"},
	"freeze":         {"after", "connection"},
	"token_reject":   {},
}

// watchOnly are the actions that concern a watch alone; cut_body concerns all but watches.
func (a *action) watchOnly() bool {
	return strings.HasPrefix(a.Type, "watch_") || a.Type == "bookmarks_only"
}

// events is the number of events a watch fault lets through first; -1 means no number was set for a
// watch_close that goes by time.
func (a *action) events() int {
	if a.AfterEvents != nil {
		return *a.AfterEvents
	}
	if a.AfterMS > 0 {
		return -1
	}
	return 0
}

type rule struct {
	ID          int      `json:"id"`
	Match       match    `json:"match"`
	Action      action   `json:"action"`
	Times       int      `json:"times,omitempty"`       // applied at most so often; 0: without end
	Skip        int      `json:"skip,omitempty"`        // so many matching requests pass first
	Probability *float64 `json:"probability,omitempty"` // of being applied to a request past the skip
	Seed        int64    `json:"seed,omitempty"`        // of the generators of the probability and of random_ms
	Matched     int      `json:"matched"`
	Hits        int      `json:"hits"`

	path   *regexp.Regexp
	random *rand.Rand
}

// parseRule decodes and checks a rule; the error tells the author what is wrong with which field.
func parseRule(text []byte) (*rule, error) {
	ru := &rule{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(ru); err != nil {
		return nil, err
	}
	if err := ru.checkAction(text); err != nil {
		return nil, err
	}
	if ru.Times < 0 || ru.Skip < 0 {
		return nil, errors.New("times and skip cannot be negative")
	}
	if p := ru.Probability; p != nil && (*p < 0 || *p > 1) {
		return nil, fmt.Errorf("probability %v is not between 0 and 1", *p)
	}
	var err error
	if ru.path, err = regexp.Compile(ru.Match.Path); err != nil {
		return nil, fmt.Errorf("match.path: %w", err)
	}
	ru.random = rand.New(rand.NewSource(ru.Seed))
	ru.ID, ru.Matched, ru.Hits = 0, 0, 0
	return ru, nil
}

func (ru *rule) checkAction(text []byte) error {
	a := &ru.Action
	allowed, known := actionFields[a.Type]
	if !known {
		return fmt.Errorf("action.type %q is unknown", a.Type)
	}
	var given struct{ Action map[string]any }
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for field := range given.Action {
		if field != "type" && !slices.Contains(allowed, field) {
			return fmt.Errorf("action %s takes no field %q", a.Type, field)
		}
	}
	if slices.Contains(allowed, "ms") && (a.MS < 0 || a.RandomMS < 0 || a.MS+a.RandomMS == 0) {
		return fmt.Errorf("action %s: ms must be above 0", a.Type)
	}
	if slices.Contains(allowed, "code") && (a.Code < 400 || a.Code > 599) {
		return fmt.Errorf("action %s: code %d is not between 400 and 599", a.Type, a.Code)
	}
	if a.AfterMS < 0 || a.Bytes < 0 || a.RetryAfter < 0 || a.AfterEvents != nil && *a.AfterEvents < 0 {
		return fmt.Errorf("action %s: a negative number", a.Type)
	}
	return nil
}

func is(want *string, have string) bool { return want == nil || *want == have }

func (ru *rule) matches(q *query) bool {
	m := &ru.Match
	if isWatch := q.Verb == "watch"; ru.Action.watchOnly() && !isWatch || ru.Action.Type == "cut_body" && isWatch {
		return false
	}
	return is(m.Verb, q.Verb) && is(m.Group, q.Group) && is(m.Resource, q.Resource) &&
		is(m.Subresource, q.Subresource) && is(m.Namespace, q.Namespace) && is(m.Name, q.Name) &&
		ru.path.MatchString(q.Path) && strings.Contains(q.Query, m.Query) &&
		strings.Contains(q.UserAgent, m.UserAgent)
}

// fires counts a matching request and says whether the rule is applied to it.
func (ru *rule) fires() bool {
	ru.Matched++
	if ru.Matched <= ru.Skip || ru.Times > 0 && ru.Hits >= ru.Times {
		return false
	}
	if ru.Probability != nil && ru.random.Float64() >= *ru.Probability {
		return false
	}
	ru.Hits++
	return true
}

// ruleSet is the ordered list of rules; safe for concurrent use.
type ruleSet struct {
	mu    sync.Mutex
	last  int
	rules []*rule
}

func (s *ruleSet) add(ru *rule) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	ru.ID = s.last
	s.rules = append(s.rules, ru)
	return ru.ID
}

func (s *ruleSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// remove reports whether there was a rule of that number.
func (s *ruleSet) remove(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rules)
	s.rules = slices.DeleteFunc(s.rules, func(ru *rule) bool { return ru.ID == id })
	return len(s.rules) < before
}

func (s *ruleSet) list() []rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]rule, 0, len(s.rules))
	for _, ru := range s.rules {
		all = append(all, *ru)
	}
	return all
}

// plan is what the rules do to one request: delays, and at most one fault of another kind.
type plan struct {
	before, after time.Duration
	fault         action
	random        *rand.Rand // of the fault, for this request alone
	names         []string
	ids           []int
}

// pick asks the rules in order. Every delay that fires is added up; the first other action that fires ends
// the search, and rules behind it do not see the request.
func (s *ruleSet) pick(q *query) plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	pl := plan{ids: []int{}}
	for _, ru := range s.rules {
		if !ru.matches(q) || !ru.fires() {
			continue
		}
		pl.names = append(pl.names, ru.Action.Type)
		pl.ids = append(pl.ids, ru.ID)
		if ru.Action.Type != "delay" {
			pl.fault = ru.Action
			pl.random = rand.New(rand.NewSource(ru.Seed + int64(ru.Hits)))
			break
		}
		if ru.Action.After {
			pl.after += time.Duration(ru.Action.MS) * time.Millisecond
		} else {
			pl.before += time.Duration(ru.Action.MS) * time.Millisecond
		}
	}
	return pl
}
