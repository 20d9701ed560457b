package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// status is metav1.Status as the API server writes it.
type status struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   struct{}       `json:"metadata"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Reason     string         `json:"reason,omitempty"`
	Details    *statusDetails `json:"details,omitempty"`
	Code       int            `json:"code"`
}

type statusDetails struct {
	Name       string `json:"name,omitempty"`
	Group      string `json:"group,omitempty"`
	Kind       string `json:"kind,omitempty"`
	RetryAfter int    `json:"retryAfterSeconds,omitempty"`
}

var reasons = map[int]string{
	400: "BadRequest",
	401: "Unauthorized",
	403: "Forbidden",
	404: "NotFound",
	405: "MethodNotAllowed",
	406: "NotAcceptable",
	409: "Conflict",
	410: "Expired",
	413: "RequestEntityTooLarge",
	415: "UnsupportedMediaType",
	422: "Invalid",
	429: "TooManyRequests",
	500: "InternalError",
	503: "ServiceUnavailable",
	504: "Timeout",
}

// statusFor makes the Status of an action: what its author left out is what the API server would say.
func statusFor(a *action, info *requestInfo) []byte {
	s := status{Kind: "Status", APIVersion: "v1", Status: "Failure", Code: a.Code}
	s.Reason = a.Reason
	if s.Reason == "" {
		s.Reason = reasons[a.Code]
		if a.Code == http.StatusConflict && info.Verb == "create" && info.Subresource == "" {
			s.Reason = "AlreadyExists"
		}
	}
	s.Message = a.Message
	if s.Message == "" {
		s.Message = defaultMessage(s.Reason, a.Code, info)
	}
	details := statusDetails{info.Name, info.Group, info.Resource, a.RetryAfter}
	if a.Code == http.StatusUnauthorized || a.Code == http.StatusGone {
		details = statusDetails{}
	}
	if details != (statusDetails{}) {
		s.Details = &details
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

func defaultMessage(reason string, code int, info *requestInfo) string {
	what := info.Resource
	if info.Group != "" {
		what += "." + info.Group
	}
	switch reason {
	case "Unauthorized":
		return "Unauthorized"
	case "AlreadyExists":
		return fmt.Sprintf("%s %q already exists", what, info.Name)
	case "NotFound":
		return fmt.Sprintf("%s %q not found", what, info.Name)
	case "Conflict":
		return fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified", what, info.Name)
	case "Expired":
		return "too old resource version: 1 (2)"
	}
	return fmt.Sprintf("%s (%d, injected)", reason, code)
}
