package models

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ZoneEdit is a zone as its editors see it, switched off ones among them. PINs are sorted; a zone with a radius or corners has none.
type ZoneEdit struct {
	Zone     `gorm:"embedded"`
	OutletID int64
	Position int
	Active   bool
	Version  int
	PINs     []string `gorm:"-"`
}

// Value writes the corners as JSON.
func (p Polygon) Value() (driver.Value, error) {
	if p == nil {
		return nil, nil
	}
	text, err := json.Marshal([][2]int64(p))
	return string(text), err
}

const zoneEdit = `SELECT z.*, false AS has_pin FROM delivery_zones z`

// ListZoneEdits reads an outlet's zones in the order they are looked at.
func (s *Store) ListZoneEdits(ctx context.Context, outletID int64) (zones []ZoneEdit, err error) {
	if err = s.read(ctx, &zones, zoneEdit+` WHERE z.outlet_id = ? ORDER BY z.position`, outletID); err != nil {
		return nil, fmt.Errorf("zones of outlet %d: %w", outletID, err)
	}
	return zones, s.fillPINs(ctx, zones)
}

// FindZoneEdit reads one zone for a staff member. Errors: ErrNotFound, also for one that the member may not edit.
func (s *Store) FindZoneEdit(ctx context.Context, zoneID, staffID int64) (z ZoneEdit, err error) {
	if err = s.one(ctx, &z, zoneEdit+` WHERE z.id = ? AND EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND s.role IN ('owner', 'manager') AND (s.outlet_id IS NULL OR s.outlet_id = z.outlet_id))`,
		zoneID, staffID); err != nil {
		return z, fmt.Errorf("zone %d: %w", zoneID, err)
	}
	zones := []ZoneEdit{z}
	err = s.fillPINs(ctx, zones)
	return zones[0], err
}

func (s *Store) fillPINs(ctx context.Context, zones []ZoneEdit) error {
	ids := make(IDList, len(zones))
	for i, z := range zones {
		ids[i] = z.ID
	}
	var rows []struct {
		ZoneID int64
		PIN    string `gorm:"column:pin"`
	}
	if err := s.read(ctx, &rows, `SELECT zone_id, pin FROM delivery_zone_pins WHERE zone_id = ANY (?::bigint[]) ORDER BY pin`, ids); err != nil {
		return fmt.Errorf("PIN codes of zones: %w", err)
	}
	for _, row := range rows {
		i := slices.Index(ids, row.ZoneID)
		zones[i].PINs = append(zones[i].PINs, row.PIN)
	}
	return nil
}

// CreateZone adds a zone behind the others. Errors: ErrBadInput, ErrNotFound for the outlet.
func (s *Store) CreateZone(ctx context.Context, staffID int64, z ZoneEdit) (id int64, err error) {
	err = s.editOutlet(ctx, z.OutletID, staffID, func(tx *Store) (string, string, error) {
		if err := tx.one(ctx, &id, `INSERT INTO delivery_zones (outlet_id, name, position, radius_metres, polygon, served, fee_paise, minimum_paise, free_above_paise)
			SELECT ?, ?, COALESCE(max(position), 0) + 1, ?::int, ?::jsonb, ?, ?, ?, ?::bigint FROM delivery_zones WHERE outlet_id = ? RETURNING id`,
			z.OutletID, z.Name, z.RadiusMetres, z.Polygon, z.Served, z.FeePaise, z.MinimumPaise, z.FreeAbovePaise, z.OutletID); err != nil {
			return "", "", err
		}
		return "create_zone", fmt.Sprintf("zone %d %s", id, z.terms()), tx.writePINs(ctx, id, z.PINs)
	})
	return id, err
}

// SaveZone writes a zone if nobody has since its Version was read. Its place among the others stays. Errors: ErrEdited, ErrBadInput, ErrNotFound.
func (s *Store) SaveZone(ctx context.Context, staffID int64, z ZoneEdit) error {
	return s.editOutlet(ctx, z.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `UPDATE delivery_zones SET name = ?, radius_metres = ?, polygon = ?::jsonb, served = ?, fee_paise = ?, minimum_paise = ?, free_above_paise = ?, version = version + 1
			WHERE id = ? AND outlet_id = ? AND version = ?`, z.Name, z.RadiusMetres, z.Polygon, z.Served, z.FeePaise, z.MinimumPaise, z.FreeAbovePaise, z.ID, z.OutletID, z.Version)
		if r.Error != nil {
			return "", "", r.Error
		}
		if r.RowsAffected == 0 {
			return "", "", tx.edited(ctx, "delivery_zones", z.ID)
		}
		return "edit_zone", fmt.Sprintf("zone %d %s", z.ID, z.terms()), tx.writePINs(ctx, z.ID, z.PINs)
	})
}

func (s *Store) writePINs(ctx context.Context, zoneID int64, pins []string) error {
	if err := s.exec(ctx, `DELETE FROM delivery_zone_pins WHERE zone_id = ?`, zoneID).Error; err != nil {
		return err
	}
	return s.exec(ctx, `INSERT INTO delivery_zone_pins (zone_id, pin) SELECT ?, unnest(?::text[]) ON CONFLICT DO NOTHING`, zoneID, textArray(pins)).Error
}

// SwitchZone switches a zone off, or on again. Safe to repeat. Errors: ErrNotFound.
func (s *Store) SwitchZone(ctx context.Context, z ZoneEdit, staffID int64, active bool) error {
	return s.editOutlet(ctx, z.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `UPDATE delivery_zones SET active = ?, version = version + 1 WHERE id = ? AND outlet_id = ? AND active <> ?`, active, z.ID, z.OutletID, active)
		if r.Error != nil || r.RowsAffected == 0 {
			return "", "", r.Error
		}
		return map[bool]string{true: "resume_zone", false: "stop_zone"}[active], fmt.Sprintf("zone %d %s", z.ID, z.Name), nil
	})
}

// MoveZone has a zone change places with the one before it, or after it, if it still is where whoever presses saw it. At the end of the list
// it stays. Errors: ErrEdited, ErrNotFound.
func (s *Store) MoveZone(ctx context.Context, z ZoneEdit, staffID int64, earlier bool, was int) error {
	return s.editOutlet(ctx, z.OutletID, staffID, func(tx *Store) (string, string, error) {
		next, way := `min(position)`, `>`
		if earlier {
			next, way = `max(position)`, `<`
		}
		var at struct {
			Position int
			Next     *int
		}
		if err := tx.one(ctx, &at, `SELECT z.position, (SELECT `+next+` FROM delivery_zones o WHERE o.outlet_id = z.outlet_id AND o.position `+way+` z.position) AS next FROM delivery_zones z WHERE z.id = ? AND z.outlet_id = ?`,
			z.ID, z.OutletID); err != nil {
			return "", "", err
		}
		if at.Position != was {
			return "", "", ErrEdited
		}
		if at.Next == nil {
			return "", "", nil
		}
		if err := tx.exec(ctx, `UPDATE delivery_zones SET position = ?::int + ?::int - position WHERE outlet_id = ? AND position IN (?, ?)`, at.Position, *at.Next, z.OutletID, at.Position, *at.Next).Error; err != nil {
			return "", "", err
		}
		return "move_zone", fmt.Sprintf("zone %d %s from place %d to %d", z.ID, z.Name, at.Position, *at.Next), nil
	})
}

// TryPlace says what FindDestination does of a delivery to a place, and which zone it is in; nil: none, so the distance bands count.
// Errors: those of FindDestination.
func (s *Store) TryPlace(ctx context.Context, outletID int64, pin string, latE6, lngE6 *int) (Destination, *Zone, error) {
	return s.findDestination(ctx, outletID, "delivery", pin, latE6, lngE6)
}

// terms are what a zone says, for the audit.
func (z ZoneEdit) terms() string {
	where := fmt.Sprintf("PIN codes %s", strings.Join(z.PINs, " "))
	switch {
	case z.RadiusMetres != nil:
		where = fmt.Sprintf("within %d m", *z.RadiusMetres)
	case z.Polygon != nil:
		where = fmt.Sprintf("%d corners", len(*z.Polygon))
	}
	said := fmt.Sprintf("%s, %s, fee %d paise, from %d paise", z.Name, where, z.FeePaise, z.MinimumPaise)
	if z.FreeAbovePaise != nil {
		said += fmt.Sprintf(", free from %d paise", *z.FreeAbovePaise)
	}
	if !z.Served {
		said += ", not served"
	}
	if len(said) > 1000 {
		said = said[:1000] + " …"
	}
	return said
}

// Limits of a polygon and of a list of PIN codes.
const (
	MinCorners = 3
	MaxCorners = 500
	MaxPINs    = 1000
)

// ErrPolygon says in words for people what is wrong with corners that were typed.
type ErrPolygon string

func (e ErrPolygon) Error() string { return string(e) }

// decimal is a coordinate as maps write it. What stands behind the sixth decimal is a tenth of a metre, and dropped.
var decimal = regexp.MustCompile(`^([+-]?)(\d{1,3})(?:\.(\d{1,30}))?$`)

// ParseE6 reads degrees as degrees × 10⁶. ok is false for what is no number up to most degrees.
func ParseE6(text string, most int64) (e6 int64, ok bool) {
	parts := decimal.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, false
	}
	for _, digit := range parts[2] + (parts[3] + "000000")[:6] {
		e6 = e6*10 + int64(digit-'0')
	}
	if parts[1] == "-" {
		e6 = -e6
	}
	return e6, e6 >= -most*1_000_000 && e6 <= most*1_000_000
}

// ParsePolygon reads an area: one corner a line, latitude and longitude with a comma between, or GeoJSON of one polygon without holes, in which
// longitude stands first. A last corner that repeats the first is dropped. Errors: ErrPolygon.
func ParsePolygon(text string) (Polygon, error) {
	text = strings.TrimSpace(text)
	var corners Polygon
	var err error
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		corners, err = parseGeoJSON(text)
	} else {
		corners, err = parseLines(text)
	}
	if err != nil {
		return nil, err
	}
	if n := len(corners); n > 1 && corners[0] == corners[n-1] {
		corners = corners[:n-1]
	}
	corners = slices.Compact(corners)
	switch {
	case len(corners) < MinCorners:
		return nil, ErrPolygon("An area needs at least 3 corners that are not the same.")
	case len(corners) > MaxCorners:
		return nil, ErrPolygon(fmt.Sprintf("An area has at most %d corners; this one has %d.", MaxCorners, len(corners)))
	case corners.isFlat():
		return nil, ErrPolygon("All corners lie on one line, so the area holds nothing.")
	}
	if a, b, crossing := corners.crossing(); crossing {
		return nil, ErrPolygon(fmt.Sprintf("The edge after corner %d crosses the edge after corner %d. Please list the corners in their order along the border.", a+1, b+1))
	}
	return corners, nil
}

func parseLines(text string) (corners Polygon, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		lat, lng, found := strings.Cut(line, ",")
		if !found {
			lat, lng, found = strings.Cut(line, " ")
		}
		latE6, latOK := ParseE6(lat, 90)
		lngE6, lngOK := ParseE6(lng, 180)
		if !found || !latOK || !lngOK {
			return nil, ErrPolygon(fmt.Sprintf("Line %d is no corner. Please write latitude, longitude, such as 12.971599, 77.640125.", n))
		}
		corners = append(corners, [2]int64{latE6, lngE6})
	}
	return corners, nil
}

// geoJSON is what map programs export: a polygon, or a feature or a list of features that holds one (RFC 7946).
type geoJSON struct {
	Type        string          `json:"type"`
	Coordinates json.RawMessage `json:"coordinates"`
	Geometry    *geoJSON        `json:"geometry"`
	Features    []geoJSON       `json:"features"`
}

func parseGeoJSON(text string) (Polygon, error) {
	read := geoJSON{Type: "Polygon"}
	var err error
	if strings.HasPrefix(text, "[") {
		read.Coordinates = json.RawMessage(text)
	} else {
		err = json.Unmarshal([]byte(text), &read)
	}
	if err != nil {
		return nil, ErrPolygon("This is not GeoJSON: it cannot be read. Please copy all of it, from { to }.")
	}
	if read.Type == "FeatureCollection" {
		if len(read.Features) != 1 {
			return nil, ErrPolygon(fmt.Sprintf("This GeoJSON has %d areas; a zone is one. Please make a zone for each.", len(read.Features)))
		}
		read = read.Features[0]
	}
	if read.Type == "Feature" && read.Geometry != nil {
		read = *read.Geometry
	}
	if read.Type == "MultiPolygon" {
		return nil, ErrPolygon("This GeoJSON has several areas; a zone is one. Please make a zone for each.")
	}
	var rings [][][]json.Number
	if read.Type != "Polygon" || json.Unmarshal(read.Coordinates, &rings) != nil {
		return nil, ErrPolygon("This GeoJSON holds no polygon.")
	}
	if len(rings) != 1 {
		return nil, ErrPolygon("An area with holes cannot be a zone. Please put a zone for the hole before this one.")
	}
	var corners Polygon
	for n, corner := range rings[0] {
		if len(corner) < 2 {
			return nil, ErrPolygon(fmt.Sprintf("Corner %d has no longitude and latitude.", n+1))
		}
		lngE6, lngOK := ParseE6(corner[0].String(), 180)
		latE6, latOK := ParseE6(corner[1].String(), 90)
		if !lngOK || !latOK {
			return nil, ErrPolygon(fmt.Sprintf("Corner %d is no place on Earth. In GeoJSON the longitude stands first.", n+1))
		}
		corners = append(corners, [2]int64{latE6, lngE6})
	}
	return corners, nil
}

// turn says on which side of the line from a to b the corner c lies: 1, -1, or 0 on it.
func turn(a, b, c [2]int64) int {
	side := (b[1]-a[1])*(c[0]-a[0]) - (b[0]-a[0])*(c[1]-a[1])
	switch {
	case side > 0:
		return 1
	case side < 0:
		return -1
	}
	return 0
}

func (p Polygon) isFlat() bool {
	for _, c := range p[2:] {
		if turn(p[0], p[1], c) != 0 {
			return false
		}
	}
	return true
}

// crossing finds two edges that cross each other between their ends.
func (p Polygon) crossing() (first, second int, found bool) {
	for i := range p {
		a, b := p[i], p[(i+1)%len(p)]
		for j := i + 2; j < len(p); j++ {
			c, d := p[j], p[(j+1)%len(p)]
			if turn(a, b, c)*turn(a, b, d) < 0 && turn(c, d, a)*turn(c, d, b) < 0 {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}
