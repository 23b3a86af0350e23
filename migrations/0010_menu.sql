-- The menu beyond dishes and choices: other names, what is in a dish, when it is served, special prices, combos, pictures.

-- +goose Up

CREATE EXTENSION IF NOT EXISTS pg_trgm;                     -- how alike two words are; of the server's own contrib

CREATE TABLE photos (                                       -- named by what is in them, so an address never changes its picture
  hash       text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{32}$'),
  small      bytea NOT NULL,                                                    -- 256 × 256, JPEG
  large      bytea NOT NULL,                                                    -- 640 × 640, JPEG
  created_at timestamptz NOT NULL DEFAULT shop_now()
);

-- +goose StatementBegin
CREATE FUNCTION are_allergens(words text[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT words <@ ARRAY['gluten','crustaceans','milk','egg','fish','peanuts','nuts','soy','sulphites'] $$;
-- +goose StatementEnd

ALTER TABLE items
  ADD COLUMN jain      boolean NOT NULL DEFAULT false,                          -- no root vegetables, no egg, nothing that lived
  ADD COLUMN allergens text[] NOT NULL DEFAULT '{}' CHECK (are_allergens(allergens)),
  ADD COLUMN portion   text NOT NULL DEFAULT '' CHECK (length(portion) <= 60),
  ADD COLUMN calories  int CHECK (calories BETWEEN 1 AND 10000),                -- kcal of one portion; NULL: not given
  ADD COLUMN photo     text REFERENCES photos,                                  -- NULL: the drawn picture
  ADD CONSTRAINT items_jain_check CHECK (NOT jain OR mark = 'veg');
ALTER TABLE options
  ADD COLUMN jain        boolean NOT NULL DEFAULT false,
  ADD COLUMN allergens   text[] NOT NULL DEFAULT '{}' CHECK (are_allergens(allergens)),
  ADD COLUMN daily_limit int CHECK (daily_limit >= 0),                          -- NULL: not limited by itself; else that day's stock.initial of this choice
  ADD CONSTRAINT options_jain_check CHECK (NOT jain OR mark = 'veg');

CREATE TABLE item_aliases (                                 -- what else people call a dish, in any script and spelling
  item_id bigint NOT NULL REFERENCES items ON DELETE CASCADE,
  alias   text NOT NULL CHECK (length(alias) BETWEEN 1 AND 80 AND alias = lower(btrim(alias))),
  PRIMARY KEY (item_id, alias)
);

-- search_fold writes alike what people spell differently: long and short vowels, doubled letters, in Latin and in Devanagari.
-- +goose StatementBegin
CREATE FUNCTION search_fold(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT translate(regexp_replace(replace(replace(replace(replace(lower(words), 'ee', 'i'), 'oo', 'u'), 'aa', 'a'), 'w', 'v'), '([a-z])\1', '\1', 'g'), 'ीूईऊँ़', 'िुइउं') $$;
-- +goose StatementEnd

-- A dish or category with windows is served inside them only: a dish when its own and its category's, where they have any, both hold.
CREATE TABLE menu_windows (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item_id       bigint REFERENCES items ON DELETE CASCADE,
  category_id   bigint REFERENCES categories ON DELETE CASCADE,
  weekdays      int NOT NULL DEFAULT 127 CHECK (weekdays BETWEEN 1 AND 127),    -- bit 0 = Sunday: the day it opens
  opens_minute  int NOT NULL DEFAULT 0 CHECK (opens_minute BETWEEN 0 AND 1439), -- minutes after midnight, India time
  closes_minute int NOT NULL DEFAULT 1440 CHECK (closes_minute <= 2880),        -- may be after midnight
  starts_on     date,                                                           -- first and last day it opens; NULL: no such bound
  ends_on       date,
  CHECK ((item_id IS NULL) <> (category_id IS NULL)),
  CHECK (closes_minute > opens_minute AND closes_minute - opens_minute <= 1440),
  CHECK (ends_on >= starts_on)
);
CREATE INDEX menu_windows_item ON menu_windows (item_id);
CREATE INDEX menu_windows_category ON menu_windows (category_id);

CREATE TABLE special_prices (                               -- of those in force at an instant the one that began last counts
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item_id     bigint NOT NULL REFERENCES items ON DELETE CASCADE,
  option_id   bigint REFERENCES options ON DELETE CASCADE,                      -- a choice's price; NULL: the dish's own
  price_paise bigint NOT NULL CHECK (price_paise BETWEEN 0 AND 100000000),
  starts_at   timestamptz NOT NULL,
  ends_at     timestamptz NOT NULL,                                             -- the first moment it is no longer in force
  CHECK (ends_at > starts_at)
);
CREATE INDEX special_prices_item ON special_prices (item_id, ends_at);

CREATE TABLE item_parts (                                   -- a combo is made of other dishes and takes their stock
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item_id        bigint NOT NULL REFERENCES items ON DELETE CASCADE,            -- the combo
  option_id      bigint REFERENCES options ON DELETE CASCADE,                   -- only with this choice of it; NULL: always
  part_item_id   bigint NOT NULL REFERENCES items,
  part_option_id bigint REFERENCES options,                                     -- the part's variant
  qty            int NOT NULL DEFAULT 1 CHECK (qty BETWEEN 1 AND 20),
  CONSTRAINT item_parts_key UNIQUE NULLS NOT DISTINCT (item_id, option_id, part_item_id, part_option_id),
  CONSTRAINT item_parts_self_check CHECK (item_id <> part_item_id)
);
CREATE INDEX item_parts_part ON item_parts (part_item_id);

-- One level only, of one outlet, and choices of the dishes they are said to be of: so that what a combo takes can be read at one glance.
-- +goose StatementBegin
CREATE FUNCTION item_parts_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM 1 FROM items WHERE id IN (NEW.item_id, NEW.part_item_id) ORDER BY id FOR NO KEY UPDATE; -- two writers cannot nest combos behind each other's back
  IF EXISTS (SELECT 1 FROM item_parts WHERE item_id = NEW.part_item_id) OR EXISTS (SELECT 1 FROM item_parts WHERE part_item_id = NEW.item_id)
    OR (SELECT count(DISTINCT outlet_id) FROM items WHERE id IN (NEW.item_id, NEW.part_item_id)) <> 1
    OR NEW.option_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM options o JOIN option_groups g ON g.id = o.group_id WHERE o.id = NEW.option_id AND g.item_id = NEW.item_id)
    OR NEW.part_option_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM options o JOIN option_groups g ON g.id = o.group_id WHERE o.id = NEW.part_option_id AND g.item_id = NEW.part_item_id)
  THEN RAISE EXCEPTION 'dish % cannot be a part of dish %', NEW.part_item_id, NEW.item_id USING ERRCODE = '23514', CONSTRAINT = 'item_parts_guard'; END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER item_parts_guard BEFORE INSERT OR UPDATE ON item_parts FOR EACH ROW EXECUTE FUNCTION item_parts_guard();
