package main

import (
	"encoding/json"
	"testing"
	"time"
)

func TestReviewsHaveTheirSizeAndUID(t *testing.T) {
	for _, size := range []int{4 << 10, 60 << 10, 1400 << 10} {
		made, err := newReview(size)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(made.text); n < size || n > size+size/4 {
			t.Errorf("a review of %d bytes has %d", size, n)
		}
		body, uid := made.with(7<<48 + 9)
		var decoded struct{ Request struct{ UID string } }
		if err := json.Unmarshal(body, &decoded); err != nil {
			t.Fatal(err)
		}
		if decoded.Request.UID != uid || len(uid) != len(uidOfTemplate) {
			t.Errorf("the uid is %q, not %q", decoded.Request.UID, uid)
		}
	}
}

func TestHostileBodiesHaveTheirSize(t *testing.T) {
	if n := len(zeros()); n != 8*mebibyte-1 {
		t.Errorf("zeros: %d bytes", n)
	}
	if !json.Valid(zeros()) || !json.Valid(values(1000)) {
		t.Error("the text is no JSON")
	}
	if n := len(values(290_000)); n > 8*mebibyte {
		t.Errorf("values: %d bytes", n)
	}
}

func TestNewConnectionsAreSpreadEvenly(t *testing.T) {
	l := &load{fresh: 0.2}
	count := 0
	for number := range uint64(1000) {
		if l.isFresh(number) {
			count++
		}
	}
	if count != 200 {
		t.Errorf("%d of 1000 on new connections", count)
	}
}

func TestPercentiles(t *testing.T) {
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(100-i) * time.Millisecond
	}
	got := percentiles(times)
	if got["p50"] != 51 || got["p99"] != 100 || got["longest"] != 100 {
		t.Errorf("%v", got)
	}
	if percentiles(nil) != nil {
		t.Error("percentiles of nothing")
	}
}

func TestAnswersAreChecked(t *testing.T) {
	good := `{"response":{"uid":"u","allowed":true}}`
	if err := checkAnswer(200, []byte(good), "u"); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct {
		status int
		text   string
	}{{500, good}, {200, "no"}, {200, `{"response":{"uid":"v","allowed":true}}`}, {200, `{"response":{"uid":"u"}}`}} {
		if checkAnswer(bad.status, []byte(bad.text), "u") == nil {
			t.Errorf("%d %s is taken for good", bad.status, bad.text)
		}
	}
}
