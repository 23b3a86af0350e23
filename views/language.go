package views

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	speech "golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// Every string a customer reads goes through T. Its key is the English sentence itself; each language is one file of language/, named by its
// tag: {"name": how it calls itself, "words": {English: its words}}. Where words depend on a count they are {"one": …, "other": …}, chosen by
// the first argument; English has a file for these, and for am and pm. TestEveryWordIsInEveryLanguage holds files and code together.

//go:embed language/*.json
var languageFiles embed.FS

// Language is one that pages are written in.
type Language struct {
	Tag  string // as in <html lang>, cookies and orders.language: "en-IN", "hi"
	Name string // what it calls itself
}

var (
	languages = []Language{{Tag: "en-IN", Name: "English"}}
	speakers  = map[string]*speech.Printer{}
	matcher   language.Matcher
)

func init() {
	words := catalog.NewBuilder(catalog.Fallback(language.English))
	files, err := fs.Glob(languageFiles, "language/*.json")
	for _, file := range files {
		if err = addLanguage(words, file); err != nil {
			break
		}
	}
	if err != nil {
		panic(fmt.Sprintf("views: %v", err)) // the files are part of the binary: this is a fault of the build, and every test sees it
	}
	var tags []language.Tag
	for _, l := range languages {
		tag := language.MustParse(l.Tag)
		tags, speakers[l.Tag] = append(tags, tag), speech.NewPrinter(tag, speech.Catalog(words))
	}
	matcher = language.NewMatcher(tags)
}

type languageFile struct {
	Name  string                     `json:"name"`
	Words map[string]json.RawMessage `json:"words"`
}

func addLanguage(words *catalog.Builder, file string) error {
	raw, err := languageFiles.ReadFile(file)
	if err != nil {
		return err
	}
	var read languageFile
	if err := json.Unmarshal(raw, &read); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(file, "language/"), ".json")
	tag, err := language.Parse(name)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for key, value := range read.Words {
		if err := addWords(words, tag, key, value); err != nil {
			return fmt.Errorf("%s: %q: %w", file, key, err)
		}
	}
	if name != languages[0].Tag {
		languages = append(languages, Language{Tag: name, Name: read.Name})
	}
	return nil
}

func addWords(words *catalog.Builder, tag language.Tag, key string, value json.RawMessage) error {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return words.SetString(tag, key, one)
	}
	var forms map[string]string
	if err := json.Unmarshal(value, &forms); err != nil {
		return err
	}
	var cases []any
	for _, form := range []string{"zero", "one", "two", "few", "many", "other"} {
		if text, given := forms[form]; given {
			cases = append(cases, form, text)
		}
	}
	return words.Set(tag, key, plural.Selectf(1, "", cases...))
}

// Languages lists what pages can be written in, English first.
func Languages() []Language { return slices.Clone(languages) }

type languageKey struct{}

// WithLanguage makes T speak the language of this tag; a tag that is none of Languages leaves English.
func WithLanguage(ctx context.Context, tag string) context.Context {
	return context.WithValue(ctx, languageKey{}, tag)
}

// LanguageOf is the tag that T speaks under this context.
func LanguageOf(ctx context.Context) string {
	if tag, ok := ctx.Value(languageKey{}).(string); ok && speakers[tag] != nil {
		return tag
	}
	return languages[0].Tag
}

// MatchLanguage chooses the tag for a visitor: what was chosen before if it is one of Languages, else the best for an Accept-Language
// header, else English. Any strings are safe.
func MatchLanguage(chosen, acceptLanguage string) string {
	if speakers[chosen] != nil {
		return chosen
	}
	wanted, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil || len(wanted) == 0 {
		return languages[0].Tag
	}
	_, i, _ := matcher.Match(wanted...)
	return languages[i].Tag
}

// T says an English sentence in the language of the context, with its arguments in their places as fmt does: a literal percent sign is
// written %%. The sentence must be a literal here or under Key. One that a language lacks stays English. Arguments are words, amounts and
// times already written for this language; only counts are numbers.
func T(ctx context.Context, sentence string, args ...any) string {
	return speakers[LanguageOf(ctx)].Sprintf(sentence, args...)
}

// Key marks a sentence that T will say later, from a table or a constant.
func Key(sentence string) string { return sentence }

// inEnglish is for what is in English whatever the visitor speaks: staff's pages, and the papers that tax law asks for.
var inEnglish = context.Background()
