/**
 * Who uses this namespace, and who of them leads. `engine_lease` has one row. A term is one engine's time as the
 * leader; `begin_write` is how each of its transactions begins: it waits for the lock of writers (group-commit.ts),
 * then holds the lease, and fails if it is another engine's by now.
 */
export const engines = `
CREATE TABLE engine_lease (
  id bigint PRIMARY KEY CHECK (id = 1),
  epoch bigint NOT NULL,
  holder text,
  has_lock boolean NOT NULL,
  expires_at timestamptz NOT NULL,
  -- Who is to follow after a handover, and until when nobody else may.
  next text,
  next_until timestamptz
);

INSERT INTO engine_lease (id, epoch, holder, has_lock, expires_at) VALUES (1, 0, NULL, false, 'epoch');

CREATE TABLE engine_terms (
  epoch bigint PRIMARY KEY,
  engine text NOT NULL,
  since timestamptz NOT NULL,
  reason text NOT NULL
);

CREATE TABLE engines (
  id text PRIMARY KEY,
  name text NOT NULL,
  address text NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  is_drained boolean NOT NULL DEFAULT false
);

-- What all engines of a namespace must have in common.
CREATE TABLE engine_common (
  name text PRIMARY KEY,
  value text NOT NULL
);

CREATE FUNCTION begin_write(writers bigint, namespace bigint, wanted_holder text, wanted_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(writers::int, namespace::int); PERFORM 1 FROM engine_lease
      WHERE holder = wanted_holder AND epoch = wanted_epoch FOR SHARE; IF NOT FOUND THEN
        RAISE EXCEPTION 'another engine leads' USING ERRCODE = 'SD002'; END IF; END $$;
`
