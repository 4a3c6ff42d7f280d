package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// apiError is an answer that is not 200 (service-facts.md section 10).
type apiError struct {
	Status  int
	Code    string
	Message string
}

func (e *apiError) Error() string { return e.Code + ": " + e.Message }

func badRequest(code, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

func forbidden(code, message string) *apiError {
	return &apiError{http.StatusForbidden, code, message}
}

// notFound says nothing about whether the thing exists for someone else.
func notFound(kind string) *apiError {
	return &apiError{http.StatusNotFound, kind + "_not_found", "The " + kind + " does not exist or you have no permission to see it."}
}

// call is an API operation: it answers with a value to encode or with an error.
type call func(w http.ResponseWriter, r *http.Request, who caller) (any, error)

// api turns an operation into a handler that checks the access token first.
func (s *Server) api(fn call) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.authenticate(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sandbox", error="invalid_token"`)
			writeJSON(w, http.StatusUnauthorized, errorBody("access_token_invalid", "The access token is missing, unknown or expired."))
			return
		}
		answer, err := fn(w, r, who)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		if answer != nil {
			writeJSON(w, http.StatusOK, answer)
		}
	}
}

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var e *apiError
	if !errors.As(err, &e) {
		s.log.Error("request failed", "method", r.Method, "route", r.Pattern, "error", err)
		e = &apiError{http.StatusInternalServerError, "service_exception_unexpected", "Something unexpected happened in the service."}
	}
	writeJSON(w, e.Status, errorBody(e.Code, e.Message))
}

func errorBody(code, message string) map[string]string {
	return map[string]string{"error": code, "message": message}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	answer, whole := v.(json.RawMessage)
	if whole {
		answer = append(slices.Clip(answer), '\n')
	} else {
		answer, _ = encoded(v)
	}
	_, _ = w.Write(answer) // the caller has gone; there is nobody left to tell
}

// encoded is v as JSON, with a line end.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// maxBody bounds a JSON body; file contents never travel in one.
const maxBody = 4 << 20

// readJSON decodes a request body into v. Unknown fields are ignored, an empty body is an empty object.
func readJSON(w http.ResponseWriter, r *http.Request, kind string, v any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &apiError{http.StatusRequestEntityTooLarge, kind + "_length_body", "The request is too large."}
	case err != nil:
		return badRequest(kind+"_invalid_body", "The request could not be read to its end.")
	case len(strings.TrimSpace(string(raw))) == 0:
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return badRequest(kind+"_invalid_json", "The request is not the JSON that is expected here: %v.", err)
	}
	return nil
}
