import { expect, test } from 'vitest'
import { explainCommitError, explainPostgresError, PostgresError } from './postgres-error.ts'

const commitFailedWith = (code: string) =>
  explainPostgresError(
    explainCommitError(new PostgresError({ code, message: 'failed', detail: null, constraint: null })),
    'db'
  )

test.each(['57P01', '08006', 'CONNECTION_CLOSED', 'ECONNRESET', 'NO_ANSWER'])(
  'a COMMIT that ended with %s may have taken effect, and its error says so',
  (code) => {
    expect(commitFailedWith(code)).toMatchObject({ code: 'DATABASE_UNUSABLE', data: { commit: 'unknown' } })
  }
)

test.each(['53100', '57014', '40001', '25P02'])(
  'a COMMIT that the server refused with %s has not taken effect',
  (code) => {
    expect(commitFailedWith(code)).not.toMatchObject({ data: { commit: 'unknown' } })
  }
)
