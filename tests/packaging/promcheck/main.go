// Promcheck answers questions about PromQL with Prometheus' own parser and engine.
//
//	promcheck names < EXPRESSIONS    what each expression of a JSON list names
//	promcheck rules FILE...          whether Prometheus would load these files of rules
//	promcheck eval < QUESTIONS       what each expression of a JSON list gives on the series beside it
//
// Answers are a JSON list on stdout, in the order of the questions.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/common/model"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

var exprs = parser.NewParser(parser.Options{})

// names is what one expression reads.
type names struct {
	Error     string     `json:"error,omitempty"`
	Selectors []selector `json:"selectors"`
	// Labels that are grouped by, or matched on between two sides.
	Grouping []string `json:"grouping"`
}

// selector is one metric that is read, and the labels it is chosen by.
type selector struct {
	Metric string            `json:"metric"`
	Labels map[string]string `json:"labels"`
}

// question is one expression to be worked out over series in the notation of Prometheus' tests.
type question struct {
	Series map[string]string `json:"series"`
	// Seconds between two samples of the series.
	Step int64  `json:"step"`
	Expr string `json:"expr"`
	// Seconds after the first sample.
	At int64 `json:"at"`
}

// sample is one element of the vector that an expression gives.
type sample struct {
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "promcheck:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "names":
		return answer(namesOf)
	case len(args) == 1 && args[0] == "eval":
		return answer(evaluate)
	case len(args) > 1 && args[0] == "rules":
		return checkRules(args[1:])
	}
	return fmt.Errorf("usage: promcheck names | eval | rules FILE...")
}

// answer reads a list of questions and prints the list of answers.
func answer[Q, A any](function func(Q) (A, error)) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var questions []Q
	if err := json.Unmarshal(text, &questions); err != nil {
		return err
	}
	answers := make([]A, 0, len(questions))
	for _, asked := range questions {
		answered, err := function(asked)
		if err != nil {
			return err
		}
		answers = append(answers, answered)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func namesOf(text string) (names, error) {
	found := names{Selectors: []selector{}, Grouping: []string{}}
	expr, err := exprs.ParseExpr(text)
	if err != nil {
		found.Error = err.Error()
		return found, nil
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			chosen := selector{Metric: n.Name, Labels: map[string]string{}}
			for _, matcher := range n.LabelMatchers {
				if matcher.Name == labels.MetricName {
					continue
				}
				chosen.Labels[matcher.Name] = matcher.Type.String() + matcher.Value
			}
			found.Selectors = append(found.Selectors, chosen)
		case *parser.AggregateExpr:
			found.Grouping = append(found.Grouping, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				found.Grouping = append(found.Grouping, n.VectorMatching.MatchingLabels...)
				found.Grouping = append(found.Grouping, n.VectorMatching.Include...)
			}
		}
		return nil
	})
	return found, nil
}

func checkRules(files []string) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	wrong := 0
	for _, file := range files {
		_, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, exprs, logger)
		for _, err := range errs {
			fmt.Fprintln(os.Stderr, err)
		}
		wrong += len(errs)
	}
	if wrong > 0 {
		return fmt.Errorf("%d errors in rules", wrong)
	}
	return nil
}

func evaluate(asked question) ([]sample, error) {
	folder, err := os.MkdirTemp("", "promcheck")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	store, err := tsdb.Open(folder, nil, nil, options, nil)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := load(store, asked); err != nil {
		return nil, err
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000000, Timeout: time.Minute, Parser: exprs})
	defer engine.Close()
	query, err := engine.NewInstantQuery(context.Background(), store, nil, asked.Expr, time.Unix(asked.At, 0))
	if err != nil {
		return nil, err
	}
	defer query.Close()
	return samplesOf(query.Exec(context.Background()))
}

// load puts the series of a question into the store.
func load(store *tsdb.DB, asked question) error {
	appender := store.Appender(context.Background())
	for name, values := range asked.Series {
		series, points, err := exprs.ParseSeriesDesc(name + " " + values)
		if err != nil {
			return err
		}
		for i, point := range points {
			if point.Omitted {
				continue
			}
			if _, err := appender.Append(0, series, int64(i)*asked.Step*1000, point.Value); err != nil {
				return err
			}
		}
	}
	return appender.Commit()
}

func samplesOf(result *promql.Result) ([]sample, error) {
	if result.Err != nil {
		return nil, result.Err
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, err
	}
	found := []sample{}
	for _, element := range vector {
		found = append(found, sample{Labels: element.Metric.Map(), Value: element.F})
	}
	return found, nil
}
