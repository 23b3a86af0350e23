package standin

import "net/http"

func (s *Server) serveControl(w http.ResponseWriter, r *http.Request, path string) {
	write(w, answer{status: http.StatusOK, body: encode(s.Books())})
}
