package handlers

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/static"
)

// serveStatic hands out a fixed file by its hashed name, compressed where the browser takes it. The name changes with the bytes, so
// the answer may be kept for a year.
func (a *App) serveStatic(c *fiber.Ctx) error {
	body, br, gz, contentType, ok := static.Open(c.Params("*"))
	if !ok {
		return models.ErrNotFound
	}
	c.Set(fiber.HeaderContentType, contentType)
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	accepted := c.Get(fiber.HeaderAcceptEncoding)
	switch {
	case br != nil && takesEncoding(accepted, "br"):
		c.Set(fiber.HeaderContentEncoding, "br")
		body = br
	case gz != nil && takesEncoding(accepted, "gzip"):
		c.Set(fiber.HeaderContentEncoding, "gzip")
		body = gz
	}
	return c.Send(body)
}

// takesEncoding reports whether an Accept-Encoding header names the encoding without refusing it (q=0).
func takesEncoding(header, name string) bool {
	for _, part := range strings.Split(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), name) {
			continue
		}
		weight, found := strings.CutPrefix(strings.TrimSpace(params), "q=")
		if !found {
			return true
		}
		q, err := strconv.ParseFloat(weight, 64)
		return err == nil && q > 0
	}
	return false
}
