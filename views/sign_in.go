package views

import (
	"context"
	"fmt"
	"strings"
)

// CodeMailView is what the letter with a code is written from.
type CodeMailView struct {
	Code string
	Site string // what the shop is called
}

// CodeMail brings the code of a sign-in. The subject does not hold it: screens that are locked show subjects.
func CodeMail(ctx context.Context, v CodeMailView) (Letter, error) {
	subject := strings.Join(strings.Fields(T(ctx, "Your code to sign in")+" · "+v.Site), " ")
	said := codeWords(ctx)
	var html strings.Builder
	if err := codeMailHTML(subject, v, said).Render(ctx, &html); err != nil {
		return Letter{}, fmt.Errorf("views: letter with a code: %w", err)
	}
	text := T(ctx, "Your code: %s", v.Code) + "\n\n" + strings.Join(said, "\n\n") + "\n\n" + v.Site + "\n"
	return Letter{Subject: subject, Text: text, HTML: html.String()}, nil
}

func codeWords(ctx context.Context) []string {
	return []string{
		T(ctx, "Type it into the page where you asked for it. It is good for 10 minutes and works once."),
		T(ctx, "If you did not ask for it, somebody may have mistyped an address: do nothing. We never ask for this code by telephone."),
	}
}
