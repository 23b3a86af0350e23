-- Delivery zones: areas with a fee of their own. The first that holds the place counts; where none does, the distance bands do.

-- +goose Up

CREATE TABLE delivery_zones (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id        bigint NOT NULL REFERENCES outlets,
  name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
  position         int NOT NULL,                                                -- looked at in this order
  radius_metres    int CHECK (radius_metres > 0),                               -- around the outlet, or
  polygon          jsonb,                                                       -- [[latitude, longitude], …] in degrees × 10⁶, three corners or more, or
                                                                                -- neither: the PIN codes of delivery_zone_pins
  served           boolean NOT NULL DEFAULT true,                               -- false: nobody is brought anything there
  fee_paise        bigint NOT NULL CHECK (fee_paise >= 0),
  minimum_paise    bigint NOT NULL DEFAULT 0 CHECK (minimum_paise >= 0),        -- of the item total
  free_above_paise bigint CHECK (free_above_paise > 0),
  tax_class        text NOT NULL DEFAULT 'restaurant',
  active           boolean NOT NULL DEFAULT true,
  CONSTRAINT delivery_zones_position_key UNIQUE (outlet_id, position),
  CHECK (radius_metres IS NULL OR polygon IS NULL),
  CONSTRAINT delivery_zones_polygon_check CHECK (polygon IS NULL OR (jsonb_typeof(polygon) = 'array' AND jsonb_array_length(polygon) BETWEEN 3 AND 500))
);

CREATE TABLE delivery_zone_pins (
  zone_id bigint NOT NULL REFERENCES delivery_zones ON DELETE CASCADE,
  pin     text NOT NULL CHECK (pin ~ '^[1-9][0-9]{5}$'),
  PRIMARY KEY (zone_id, pin)
);
