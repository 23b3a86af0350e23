-- The languages the shop speaks.

-- +goose Up

-- An order keeps the language it was placed in, for letters about it.
ALTER TABLE orders ADD COLUMN language text NOT NULL DEFAULT 'en-IN' CONSTRAINT orders_language_check CHECK (language ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$');
