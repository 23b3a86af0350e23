package standin

var publicCalls = map[string]func(*Server, *call) answer{}
