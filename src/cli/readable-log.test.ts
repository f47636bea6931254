import pino from 'pino'
import { expect, test } from 'vitest'
import { until } from '../engine/testing/until.ts'
import { openReadableLog } from './readable-log.ts'

test('text that an error or a log entry quotes cannot control the terminal of the service', async () => {
  let shown = ''
  const logger = pino(
    { serializers: { error: pino.stdSerializers.err } },
    openReadableLog({ write: (text) => (shown += text) })
  )
  const hostile = 'said \x1b[2J\x1b]52;c;x\x07 \u009b2J \u202egnp.\u2066 end'
  logger.warn({ node: hostile, error: new Error(hostile) }, `a node ${hostile}`)
  await until('it is written', () => shown.includes('stack'))
  expect(shown).toContain('WARN')
  expect(shown.match(/said .* end/g)?.length).toBeGreaterThan(2)
  // Ignore the line ends and the colour resets that the log itself writes.
  expect(shown.replaceAll('\n', '').replaceAll(/\x1b\[\d*m/g, '')).not.toMatch(/[\p{Cc}\u202e\u2066]/u)
})
