package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

const maxRuleBytes = 1 << 20

func (p *proxy) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rules", p.addRule)
	mux.HandleFunc("GET /rules", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"rules": p.rules.list()})
	})
	mux.HandleFunc("DELETE /rules", func(w http.ResponseWriter, _ *http.Request) {
		p.rules.clear()
		reply(w, http.StatusOK, map[string]any{})
	})
	mux.HandleFunc("DELETE /rules/{id}", p.removeRule)
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, _ *http.Request) {
		entries, dropped := p.log.list()
		reply(w, http.StatusOK, map[string]any{"entries": entries, "dropped": dropped})
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		p.rules.clear()
		p.log.clear()
		p.listener.resetAll()
		reply(w, http.StatusOK, map[string]any{})
	})
	return mux
}

func (p *proxy) addRule(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRuleBytes))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	ru, err := parseRule(text)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	reply(w, http.StatusCreated, map[string]any{"id": p.rules.add(ru)})
}

func (p *proxy) removeRule(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || !p.rules.remove(id) {
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no rule %q", r.PathValue("id")))
		return
	}
	reply(w, http.StatusOK, map[string]any{})
}

func reply(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, code int, err error) {
	reply(w, code, map[string]any{"error": err.Error()})
}
