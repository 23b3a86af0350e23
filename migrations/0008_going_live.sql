-- Going live: what a customer has to be told about a shop is there before the first real payment, and cannot be taken away afterwards.

-- +goose Up

-- What is missing of it, in the words of the form; empty: nothing. models.Outlet.Missing says the same to a program.
-- +goose StatementBegin
CREATE FUNCTION outlet_missing(o outlets) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(array_agg(what ORDER BY n), '{}') FROM (VALUES (1, 'legal name', o.legal_name), (2, 'email', o.email), (3, 'FSSAI number', o.fssai),
    (4, 'grievance officer', o.grievance_name), (5, 'contact of the grievance officer', o.grievance_contact)) f (n, what, value) WHERE value = '' $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION outlets_live() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM settings WHERE name = 'live_since') AND NOT outlet_missing(NEW) <@ outlet_missing(OLD) THEN
    RAISE EXCEPTION 'what customers have to be told cannot be taken away in live mode' USING ERRCODE = '23514', CONSTRAINT = 'outlets_live_check';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER outlets_live BEFORE UPDATE ON outlets FOR EACH ROW EXECUTE FUNCTION outlets_live();
