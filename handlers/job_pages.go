package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"riverqueue.com/riverui"
	"riverqueue.com/riverui/uiendpoints"
)

// JobPages are River's own pages about the queue, for Deps.Jobs: they stand behind the owner's login. Their background work ends with ctx.
func JobPages(ctx context.Context, endpoints uiendpoints.Bundle, log *slog.Logger) (http.Handler, error) {
	pages, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: endpoints, Logger: log, Prefix: strings.TrimRight(jobsURL, "/")})
	if err != nil {
		return nil, fmt.Errorf("job pages: %w", err)
	}
	if err := pages.Start(ctx); err != nil {
		return nil, fmt.Errorf("job pages: %w", err)
	}
	return pages, nil
}
