package main

import (
	"encoding/json"
	"net/http"
	"strings"
)

// requestInfo says what a request asks of the API, in the words of Kubernetes. For a request that is not
// about a resource (/healthz, /openapi) Verb is the method in lower case and the rest is empty.
type requestInfo struct {
	Verb        string `json:"verb"`
	Group       string `json:"group"`
	Version     string `json:"version"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// parseRequest reads method, path and query, and for a create the name in the JSON body.
func parseRequest(r *http.Request, body []byte) requestInfo {
	info := requestInfo{Verb: strings.ToLower(r.Method)}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) >= 3:
		info.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 4:
		info.Group, info.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return info
	}
	info.setResource(parts)
	watch := r.URL.Query().Get("watch")
	info.Verb = resourceVerb(r.Method, info.Name != "", watch == "true" || watch == "1")
	if info.Verb == "create" && info.Name == "" {
		info.Name = nameInBody(body)
	}
	return info
}

// setResource takes what follows the version: [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
func (i *requestInfo) setResource(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		i.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	i.Resource = parts[0]
	if len(parts) > 1 {
		i.Name = parts[1]
	}
	if len(parts) > 2 {
		i.Subresource = strings.Join(parts[2:], "/")
	}
}

func resourceVerb(method string, named, watch bool) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		switch {
		case named:
			return "get"
		case watch:
			return "watch"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if !named {
			return "deletecollection"
		}
	}
	return strings.ToLower(method)
}

func nameInBody(body []byte) string {
	var object struct {
		Metadata struct{ Name string }
	}
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	return object.Metadata.Name
}
