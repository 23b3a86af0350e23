package models

import (
	"context"
	"encoding/json"
	"fmt"
)

// Zone is an area with a delivery fee of its own: within a radius of the outlet, within a polygon, or a list of PIN codes.
type Zone struct {
	ID             int64
	Name           string
	RadiusMetres   *int
	Polygon        *Polygon `gorm:"type:jsonb"`
	HasPIN         bool     `gorm:"column:has_pin"` // of the PIN code that was asked about
	Served         bool
	FeePaise       Paise
	MinimumPaise   Paise
	FreeAbovePaise *Paise
	TaxClass       string
}

// Polygon is the corners of an area, in order, each latitude and longitude in degrees × 10⁶. The last joins the first.
type Polygon [][2]int64

// Scan reads a column of JSON.
func (p *Polygon) Scan(v any) error {
	text, ok := v.(string)
	if raw, isBytes := v.([]byte); isBytes {
		text, ok = string(raw), true
	}
	if !ok {
		return fmt.Errorf("a polygon of %T", v)
	}
	return json.Unmarshal([]byte(text), p)
}

// Holds reports whether a place lies within the area, its edges included. It is exact: degrees × 10⁶ multiply within an int64.
func (p Polygon) Holds(lat, lng int64) bool {
	inside := false
	for i, a := range p {
		b := p[(i+1)%len(p)]
		// Which side of the edge the place lies on: 0 is on its line.
		side := (b[1]-a[1])*(lat-a[0]) - (b[0]-a[0])*(lng-a[1])
		if side == 0 && lat >= min(a[0], b[0]) && lat <= max(a[0], b[0]) && lng >= min(a[1], b[1]) && lng <= max(a[1], b[1]) {
			return true
		}
		// A ray to the east crosses the edge: its ends lie on both sides of the ray, and the place to the west of it.
		if (a[0] > lat) != (b[0] > lat) && (side > 0) == (b[0] < a[0]) {
			inside = !inside
		}
	}
	return inside
}

// place is what is known of where a delivery goes.
type place struct {
	metres       *int // from the outlet
	located      bool
	latE6, lngE6 int
}

// matchZone is the first of the zones, which are in the owner's order, that holds the place. A radius needs its distance, a polygon its
// coordinates: without them it holds nothing. Pure.
func matchZone(zones []Zone, at place) *Zone {
	for i, z := range zones {
		switch {
		case z.RadiusMetres != nil:
			if at.metres != nil && *at.metres <= *z.RadiusMetres {
				return &zones[i]
			}
		case z.Polygon != nil:
			if at.located && z.Polygon.Holds(int64(at.latE6), int64(at.lngE6)) {
				return &zones[i]
			}
		case z.HasPIN:
			return &zones[i]
		}
	}
	return nil
}

// band is what the zone costs, as a band that reaches everywhere.
func (z Zone) band() DeliveryBand {
	return DeliveryBand{FeePaise: z.FeePaise, MinimumPaise: z.MinimumPaise, FreeAbovePaise: z.FreeAbovePaise, TaxClass: z.TaxClass}
}

func (s *Store) listZones(ctx context.Context, outletID int64, pin string) (zones []Zone, err error) {
	err = s.read(ctx, &zones, `SELECT z.*, EXISTS (SELECT 1 FROM delivery_zone_pins p WHERE p.zone_id = z.id AND p.pin = ?) AS has_pin
		FROM delivery_zones z WHERE z.outlet_id = ? AND z.active ORDER BY z.position`, pin, outletID)
	return zones, err
}
