package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// alike is how much a searched word must be like one of a dish's names' to count as that word mistyped: pg_trgm's similarity.
// "panner" is 0.4 like "paneer", "biriyani" 0.55 like "biryani"; "spice" is 0.22 like "rice".
const alike = 0.35

// searchedWords is how many words of a search are looked at.
const searchedWords = 6

// searchItems finds the dishes of an outlet that each word fits, with how well: in the dish's name or one of its aliases, in its category,
// in its description, or, mistyped, much like a word of the names. The words are in lower case; any bytes will do.
func (s *Store) searchItems(ctx context.Context, outletID int64, words []string) (map[int64]float64, error) {
	words = words[:min(len(words), searchedWords)]
	for _, word := range words {
		if !isText(word) || len(word) > 400 {
			return nil, nil
		}
	}
	var rows []struct {
		ID    int64
		Score float64
	}
	// position, unlike LIKE, has no special characters. A word of one or two letters is like too much: it is only looked for as it is.
	if err := s.read(ctx, &rows, `WITH dishes AS (
			SELECT i.id, search_fold(i.name) AS name, search_fold(i.description) AS description, search_fold(c.name) AS category, search_fold(a.aliases) AS aliases,
				regexp_split_to_array(lower(i.name || ' ' || a.aliases), '\s+') AS parts
			FROM items i JOIN categories c ON c.id = i.category_id, LATERAL (SELECT COALESCE(string_agg(alias, ' '), '') AS aliases FROM item_aliases WHERE item_id = i.id) a
			WHERE i.outlet_id = @outlet AND i.archived_at IS NULL),
		words AS (SELECT n, word, search_fold(word) AS fold FROM unnest(CAST(@words AS text[])) WITH ORDINALITY w (word, n)),
		fits AS (SELECT d.id, GREATEST(
				CASE WHEN position(' ' || w.fold IN ' ' || d.name) > 0 THEN 1.0 WHEN position(w.fold IN d.name) > 0 THEN 0.9 END,
				CASE WHEN position(w.fold IN d.aliases) > 0 THEN 0.95 END,
				CASE WHEN position(w.fold IN d.category) > 0 THEN 0.6 END,
				CASE WHEN position(w.fold IN d.description) > 0 THEN 0.5 END,
				CASE WHEN length(w.word) > 2 THEN (SELECT 0.85 * max(similarity(w.word, part)) FROM unnest(d.parts) part WHERE similarity(w.word, part) >= @alike) END) AS fit
			FROM dishes d, words w)
		SELECT id, sum(fit) AS score FROM fits GROUP BY id HAVING bool_and(fit IS NOT NULL)`,
		map[string]any{"outlet": outletID, "words": textArray(words), "alike": alike}); err != nil {
		return nil, fmt.Errorf("search at outlet %d: %w", outletID, err)
	}
	score := map[int64]float64{}
	for _, row := range rows {
		score[row.ID] = row.Score
	}
	return score, nil
}

// rank orders dishes within their categories, and the categories by their best dish; what fits equally well stays in menu order.
func rank(categories []Category, score map[int64]float64) {
	for _, c := range categories {
		slices.SortStableFunc(c.Items, func(a, b Item) int { return cmp.Compare(score[b.ID], score[a.ID]) })
	}
	slices.SortStableFunc(categories, func(a, b Category) int { return cmp.Compare(score[b.Items[0].ID], score[a.Items[0].ID]) })
}
