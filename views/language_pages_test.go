package views

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/a-h/templ"
	"github.com/andybalholm/brotli"
	"golang.org/x/net/html"
	"golang.org/x/text/language"
	speech "golang.org/x/text/message"
	"golang.org/x/text/message/catalog"

	"tiffin/models"
)

// inHindi is a visitor who reads Hindi.
var inHindi = WithLanguage(context.Background(), "hi")

// marked is a language for tests alone: every sentence that T says stands in ⟦⟧, so that what does not was never given to T.
func marked(t *testing.T) context.Context {
	t.Helper()
	tag := language.MustParse("en-XA")
	words := catalog.NewBuilder(catalog.Fallback(language.English))
	for key := range keysInCode(t) {
		if err := words.SetString(tag, key, "⟦"+key+"⟧"); err != nil {
			t.Fatal(err)
		}
	}
	speakers["en-XA"] = speech.NewPrinter(tag, speech.Catalog(words))
	t.Cleanup(func() { delete(speakers, "en-XA") })
	return WithLanguage(context.Background(), "en-XA")
}

func renderIn(t *testing.T, ctx context.Context, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// customerSamples are the pages and fragments that customers get; staff's are told by their script or their name.
func customerSamples(t *testing.T) map[string]templ.Component {
	t.Helper()
	samples := samplePages()
	for name, c := range sampleFragments() {
		samples["fragment "+name] = c
	}
	delete(samples, "fragment board_columns")
	for name, c := range samples {
		if source := render(t, c); strings.Contains(source, "/static/staff.") {
			delete(samples, name)
		}
	}
	if len(samples) < 40 {
		t.Fatalf("only %d samples are of customers", len(samples))
	}
	return samples
}

// readAttributes are what people hear or see of an element beside its text, and what its script says.
var readAttributes = []string{"aria-label", "alt", "title", "placeholder", "label", "data-hint", "data-say", "data-few", "data-lost", "data-slow", "data-most", "data-some", "data-none", "data-else"}

// wordsOf is every text of a document that people read.
func wordsOf(root *html.Node) (texts []string) {
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode && !slices.Contains([]string{"script", "noscript", "title"}, n.Parent.Data): // a tab's title comes from the handler
			texts = append(texts, n.Data)
		case n.Type == html.TextNode && n.Parent.Data == "noscript":
			if inner, err := html.Parse(strings.NewReader(n.Data)); err == nil {
				texts = append(texts, wordsOf(inner)...)
			}
		case n.Type == html.ElementNode:
			for _, a := range n.Attr {
				if slices.Contains(readAttributes, a.Key) {
					texts = append(texts, a.Val)
				}
			}
		}
	}
	return texts
}

// unmarked is what of a text stands outside all ⟦⟧, which nest.
func unmarked(text string) string {
	var b strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '⟦':
			depth++
		case r == '⟧':
			depth--
			b.WriteRune(' ')
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sampleData is every text of the samples that is the shop's or the customer's own, longest first.
func sampleData() []string {
	data := []string{"English", "हिन्दी", "CGST", "SGST", "GSTIN", "+91", "rfnd_TstAbCdEf00003", "rfnd_TstAbCdEf00009", "pay_TstAbCdEf00002", "pay_TstSecond00004", "KK/26-27/000101", "R/26-27/000101",
		"The tandoor is out of order", "The gas is off", "The curry was cold", "Your bank declined the payment.", "The shop is busy.", "The kitchen is very busy.", "7c1f",
		"Butter Chicken: choose 1 from Size.", "Only 4 left.", "We could not find that page.", "The bank is not available.", "A mobile number has 10 digits, such as 98450 12345.",
		"A PIN code has 6 digits, such as 560038.", "An earlier order of this number is not paid yet. Please pay this one online, or pay the other first."} // sentences that handlers, staff or banks wrote
	data = append(data, careData...)
	data = append(data, accountData...)
	outlet := func(o models.Outlet) {
		data = append(data, o.Name, o.Tagline, o.LegalName, o.Address, o.PIN, o.Email, o.GrievanceName, o.GrievanceContact, o.GSTIN, o.FSSAI)
	}
	outlet(sampleOutlet())
	for _, c := range sampleMenu().Categories {
		data = append(data, c.Name)
		for _, i := range c.Items {
			data = append(data, i.Name, i.Description, i.Portion)
			for _, g := range i.Groups {
				data = append(data, g.Name)
				for _, o := range g.Options {
					data = append(data, o.Name)
				}
			}
		}
	}
	o := sampleOrder()
	data = append(data, o.Name, o.Email, o.Line1, o.Line2, o.PIN, o.Directions, o.Note)
	for _, i := range o.Items {
		data = append(data, i.Name, i.Note)
		for _, option := range i.Options {
			data = append(data, option.Name)
		}
	}
	slices.SortFunc(data, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(slices.Compact(data), func(s string) bool { return s == "" })
}

// TestEverySentenceIsTranslated: whatever a customer reads or hears is said by T, or is the shop's own data.
func TestEverySentenceIsTranslated(t *testing.T) {
	ctx, data := marked(t), sampleData()
	seen := map[string]bool{}
	for name, c := range customerSamples(t) {
		for _, text := range wordsOf(parse(t, renderIn(t, ctx, c))) {
			rest := unmarked(text)
			for _, own := range data {
				rest = strings.ReplaceAll(rest, own, " ")
			}
			if rest = strings.TrimSpace(rest); strings.ContainsFunc(rest, unicode.IsLetter) && !seen[rest] {
				seen[rest] = true
				t.Errorf("%s: %q of %q was not said by T", name, rest, strings.TrimSpace(text))
			}
		}
	}
	for name, write := range map[string]func(context.Context, MailView) (Letter, error){"confirmation": ConfirmationMail, "refund": RefundMail, "cancelled": CancelledMail, "shortage": ShortageMail,
		"complaint received": sampleCareMail(ComplaintReceivedMail), "complaint answered": sampleCareMail(ComplaintAnsweredMail), "complaint resolved": sampleCareMail(ComplaintResolvedMail), "review wanted": ReviewMail} {
		l, err := write(ctx, sampleMailView())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append(wordsOf(parse(t, l.HTML)), l.Subject, l.Text) {
			rest := unmarked(text)
			for _, own := range data {
				rest = strings.ReplaceAll(rest, own, " ")
			}
			if strings.ContainsFunc(rest, unicode.IsLetter) {
				t.Errorf("letter %s: %q was not said by T", name, strings.TrimSpace(rest))
			}
		}
	}
}

// sampleMailView is enough for every kind of letter.
func sampleMailView() MailView {
	share := sampleShares()
	return MailView{Outlet: sampleOutlet(), Order: sampleOrder(), OrderURL: "https://1", Share: &share, Shortage: &models.Shortage{Line: 1, Fallback: models.AnswerCancel, AnswerBy: *at(10)},
		Refund: &models.Refund{AmountPaise: 25253, Status: "requested", Kind: "staff", Reason: "The curry was cold", RequestedAt: *at(0), RazorpayRefundID: ptr("rfnd_TstAbCdEf00003")}}
}

func sampleShares() models.Parts {
	return models.Parts{SubtotalPaise: 25000, DiscountPaise: 1000, PackagingPaise: 500, DeliveryPaise: 300, CGSTPaise: 100, SGSTPaise: 100, TipPaise: 200, RoundOffPaise: 53, CustomerFeePaise: 10}
}

// englishRun is two or more Latin words in a row.
var englishRun = regexp.MustCompile(`[A-Za-z]{2,}[ ,]+[A-Za-z]{2,}`)

// sameInHindi are what Hindi texts say in Latin letters: names, and words that the law prescribes.
var sameInHindi = []string{"Composition taxable person, not eligible to collect tax on supplies", "name@example.com", "GST", "UPI", "Razorpay", "FSSAI", "GSTIN"}

// TestHindiIsHindi: no English is left in a page in Hindi, whether T was forgotten or a sentence.
func TestHindiIsHindi(t *testing.T) {
	data := append(sampleData(), sameInHindi...)
	for name, c := range customerSamples(t) {
		for _, text := range wordsOf(parse(t, renderIn(t, inHindi, c))) {
			rest := text
			for _, own := range data {
				rest = strings.ReplaceAll(rest, own, "·")
			}
			if found := englishRun.FindString(rest); found != "" {
				t.Errorf("%s: %q in %q", name, found, text)
			}
		}
	}
}

// TestHindiPagesAreAsBefore compares pages and a letter in Hindi with testdata; run with -update after a change that was meant.
func TestHindiPagesAreAsBefore(t *testing.T) {
	pages := samplePages()
	letter, err := ConfirmationMail(inHindi, sampleMailView())
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"letter.txt": letter.Subject + "\n\n" + letter.Text}
	for _, name := range []string{"menu", "checkout", "order_preparing"} {
		texts[name+".html"] = hashInName.ReplaceAllString(renderIn(t, inHindi, pages[name]), ".HASH.")
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		path := filepath.Join("testdata", "hi_"+name)
		if *update {
			if err := os.WriteFile(path, []byte(texts[name]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if texts[name] != string(want) {
			t.Errorf("%s differs", path)
		}
	}
}

// TestHindiBudgets: a page in Hindi may weigh what one in English may.
func TestHindiBudgets(t *testing.T) {
	for name, c := range customerSamples(t) {
		var b bytes.Buffer
		w := brotli.NewWriterLevel(&b, 5)
		if _, err := w.Write([]byte(renderIn(t, inHindi, c))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		most := 6 << 10
		if strings.HasPrefix(name, "menu") {
			most = 14 << 10
		}
		if b.Len() > most {
			t.Errorf("%s: %d bytes with brotli, at most %d", name, b.Len(), most)
		}
	}
}

// TestCountsHaveForms: one and many, in English and in Hindi, and amounts and numbers as they are written in India.
func TestCountsHaveForms(t *testing.T) {
	for _, c := range []struct {
		ctx  context.Context
		key  string
		args []any
		want string
	}{
		{inEnglish, "%d items", []any{1}, "1 item"},
		{inEnglish, "%d items", []any{0}, "0 items"},
		{inEnglish, "%d items", []any{2}, "2 items"},
		{inEnglish, "Only %d portions of %s left.", []any{1, "Kheer"}, "Only 1 portion of Kheer left."},
		{inHindi, "Only %d portions of %s left.", []any{1, "Kheer"}, "Kheer की सिर्फ़ 1 प्लेट बची है।"},
		{inHindi, "Only %d portions of %s left.", []any{3, "Kheer"}, "Kheer की सिर्फ़ 3 प्लेटें बची हैं।"},
		{inHindi, "%d PIN codes", []any{123456}, "1,23,456 पिन कोड"},
	} {
		if got := T(c.ctx, c.key, c.args...); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := Upcoming(inHindi, evening.AddDate(0, 0, 3), evening); got != "गुरुवार को शाम 7:45 बजे" {
		t.Errorf("%q", got)
	}
	if got := Date(inHindi, evening); got != "30 नवंबर 2026" {
		t.Errorf("%q", got)
	}
}
