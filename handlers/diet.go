package handlers

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
)

// dietChosen reads the menu's filter. The form says filter=1 so that what is absent means unticked; otherwise the cookie remembers.
func (a *App) dietChosen(c *fiber.Ctx) models.Diet {
	if c.Query("filter") != "1" {
		return dietOf(c)
	}
	var words []string
	for _, word := range []string{"veg", "egg", "jain"} {
		if c.Query(word) == "1" {
			words = append(words, word)
		}
	}
	for _, allergen := range c.Context().QueryArgs().PeekMulti("without") {
		words = append(words, "no_"+string(allergen))
	}
	diet, text := readDiet(words)
	switch was := c.Cookies(dietCookie); {
	case was == text:
	case text == "":
		a.setCookie(c, dietCookie, "", "/", 0)
	default:
		a.setCookie(c, dietCookie, text, "/", guestCookieAge)
	}
	return diet
}

// dietOf is the filter that is on, as the cookie remembers it.
func dietOf(c *fiber.Ctx) models.Diet {
	diet, _ := readDiet(strings.Split(c.Cookies(dietCookie), "."))
	return diet
}

// readDiet makes a filter of words, and the cookie's text of that. Words that are none of ours say nothing.
func readDiet(words []string) (diet models.Diet, text string) {
	var kept []string
	keep := func(word string, on *bool) {
		if *on = slices.Contains(words, word); *on {
			kept = append(kept, word)
		}
	}
	keep("veg", &diet.Veg)
	keep("egg", &diet.Egg)
	keep("jain", &diet.Jain)
	for _, allergen := range models.Allergens {
		if slices.Contains(words, "no_"+allergen) {
			diet.Without = append(diet.Without, allergen)
			kept = append(kept, "no_"+allergen)
		}
	}
	return diet, strings.Join(kept, ".")
}
