// Askgo answers what Go's libraries say about schedules, patterns, time zones and quantities.
//
//	askgo cron|regex|quantity
//	askgo zone ZONEINFO.ZIP
//	askgo zones ZONEINFO.ZIP
//
// It reads one question a line and prints one JSON answer a line. A question is a JSON string, but
// for regex an array: the pattern and texts.
//
//	cron      {"ok", "fields": [minute, hour, day, month, weekday], "star": [day, weekday], "every"}
//	          fields are sets of bits in decimal; every is in seconds
//	regex     {"ok", "matches"}: whether the pattern matches each text
//	quantity  {"ok", "text", "large"}: the canonical text, and whether an int64 cannot hold it
//	zone      {"ok"}
//
// zones reads nothing and prints the names in Go's own time zone database, a JSON string a line.
// A file is given instead of time.LoadLocation's search, which asks the machine's database first.
package main

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

const starBit = 1 << 63

type answer struct {
	OK      bool     `json:"ok"`
	Text    string   `json:"text,omitempty"`
	Fields  []string `json:"fields,omitempty"`
	Star    []bool   `json:"star,omitempty"`
	Every   int64    `json:"every,omitempty"`
	Large   bool     `json:"large,omitempty"`
	Matches []bool   `json:"matches,omitempty"`
}

// parseCron is the library's parser; it panics at some texts, and Kubernetes takes that as an error.
func parseCron(text string) (schedule cron.Schedule, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%v", caught)
		}
	}()
	return cron.ParseStandard(text)
}

func askCron(text string) answer {
	schedule, err := parseCron(text)
	if err != nil || strings.Contains(text, "TZ") {
		return answer{}
	}
	switch found := schedule.(type) {
	case *cron.SpecSchedule:
		out := answer{OK: true, Star: []bool{found.Dom&starBit != 0, found.Dow&starBit != 0}}
		for _, field := range []uint64{found.Minute, found.Hour, found.Dom, found.Month, found.Dow} {
			out.Fields = append(out.Fields, strconv.FormatUint(field&^starBit, 10))
		}
		return out
	case cron.ConstantDelaySchedule:
		return answer{OK: true, Every: int64(found.Delay / time.Second)}
	}
	panic("a schedule of another type")
}

func askRegex(question []string) answer {
	pattern, err := regexp.Compile(question[0])
	if err != nil {
		return answer{}
	}
	out := answer{OK: true}
	for _, text := range question[1:] {
		out.Matches = append(out.Matches, pattern.MatchString(text))
	}
	return out
}

func askQuantity(text string) answer {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return answer{}
	}
	// String() would give back the text it was read from.
	number, suffix := quantity.CanonicalizeBytes(nil)
	size := quantity.DeepCopy()
	if size.Sign() < 0 {
		size.Neg()
	}
	return answer{OK: true, Text: string(number) + string(suffix),
		Large: size.CmpInt64(math.MaxInt64) > 0}
}

// zoneNames has the names in a zoneinfo.zip that hold a zone Go can load.
func zoneNames(path string) (map[string]bool, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	names := map[string]bool{}
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		opened, err := file.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(opened)
		opened.Close()
		if err != nil {
			return nil, err
		}
		if _, err := time.LoadLocationFromTZData(file.Name, data); err != nil {
			return nil, err
		}
		names[file.Name] = true
	}
	return names, nil
}

// answerAll answers the questions of stdin.
func answerAll[Question any](ask func(Question) answer) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		var question Question
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			return fmt.Errorf("%q is no question: %w", lines.Text(), err)
		}
		text, err := json.Marshal(ask(question))
		if err != nil {
			return err
		}
		out.Write(append(text, '\n'))
		// A caller may wait for the answer before it asks again.
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

func run(arguments []string) error {
	var names map[string]bool
	if len(arguments) == 2 && (arguments[0] == "zone" || arguments[0] == "zones") {
		var err error
		if names, err = zoneNames(arguments[1]); err != nil {
			return err
		}
	} else if len(arguments) != 1 {
		return fmt.Errorf("usage: askgo cron|regex|quantity|zone ZIP|zones ZIP")
	}
	switch arguments[0] {
	case "cron":
		return answerAll(askCron)
	case "regex":
		return answerAll(askRegex)
	case "quantity":
		return answerAll(askQuantity)
	case "zone":
		return answerAll(func(name string) answer { return answer{OK: names[name]} })
	case "zones":
		for name := range names {
			fmt.Printf("%q\n", name)
		}
		return nil
	}
	return fmt.Errorf("there is no mode %q", arguments[0])
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "askgo:", err)
		os.Exit(1)
	}
}
