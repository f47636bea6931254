import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPickle } from './pickle.ts'

/** Runs Python code with the JSON value `given`. Returns what it assigns to `answer`, with bytes as base64. */
function python<T>(code: string, given: unknown): T {
  const program = `import base64, json, pickle, sys\ngiven = json.load(sys.stdin)\n${code}\nprint(json.dumps(answer))`
  const options = { input: JSON.stringify(given), encoding: 'utf8', maxBuffer: 1e9 } as const
  return JSON.parse(execFileSync('python3', ['-c', program], options)) as T
}

const plain = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'plain' },
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('a\\u0041', "it's", '"', '\n', 'x'.repeat(70_000), '__proto__', null, true, false, 0, -1, 255, 256),
    fc.maxSafeInteger(),
    // Whole numbers are integers in JSON, and therefore in Python.
    fc
      .double({ noDefaultInfinity: true, noNaN: true })
      .filter((one) => !Number.isInteger(one) || Number.isSafeInteger(one)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 4 })
  )
})).value

const PICKLED = `answer = [[base64.b64encode(pickle.dumps(one, p)).decode() for p in range(6)] for one in given]`

test('pickled data is read unchanged, with every protocol', () => {
  fc.assert(
    fc.property(fc.array(plain, { minLength: 40, maxLength: 40 }), (values) => {
      const pickled = python<string[][]>(PICKLED, values)
      for (const [index, value] of values.entries()) {
        for (const one of pickled[index]!) {
          const read = readPickle(Buffer.from(one, 'base64'))
          expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(value)))
        }
      }
    }),
    { numRuns: 5 }
  )
})

test('tuples, bytes and long integers are read too', () => {
  const [first, ...others] = python<string[]>(
    `value = {b"name": ("a", (), ("b",), (1, 2, 3)), "big": -2**80, "twice": ["same" * 3] * 1, "list": [1, "a", "a"]}
answer = [base64.b64encode(pickle.dumps(value, p)).decode() for p in range(3, 6)]`,
    null
  ).map((one) => JSON.parse(JSON.stringify(readPickle(Buffer.from(one, 'base64')))) as unknown)
  expect(first).toEqual({
    name: ['a', [], ['b'], [1, 2, 3]],
    big: String(-(2n ** 80n)),
    twice: ['samesamesame'],
    list: [1, 'a', 'a']
  })
  for (const other of others) expect(other).toEqual(first)
})

const HOSTILE = [
  ...['type("E", (), {"__reduce__": lambda self: (print, ("run",))})()', 'print', 'object()', '{1, 2}', 'frozenset()'],
  ...['__import__("datetime").datetime.now()', 'bytearray(b"a")', 'Exception("a")', 'complex(1, 2)', '1 .__class__'],
  ...['{"name": __import__("decimal").Decimal(1)}', '{1: "a"}', '(lambda l: (l.append(l), l)[1])([])']
]

test.each(HOSTILE)('a pickle of %s is refused, with every protocol', (expression) => {
  const pickled = python<string[]>(
    `value = ${expression}
answer = []
for p in range(6):
    answer.append(base64.b64encode(pickle.dumps(value, p)).decode())`,
    null
  )
  for (const one of pickled) expect(() => readPickle(Buffer.from(one, 'base64'))).toThrow(/^it /)
})

test.each([
  ['runs a program', `cos\nsystem\n(S'true'\ntR.`],
  ['names a class by its stack', `\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.`],
  ['makes an instance', `(ios\nsystem\n.`],
  ['asks for an object that is elsewhere', `Pname\n.`],
  ['uses the registry of extensions', `\x80\x02\x82\x01.`],
  ['sets a state', `}}b.`],
  ['takes more than it has', `\x80\x02X\xff\xff\xff\xff.`],
  ['stands for a huge text', `X${'\x40\x42\x0f\x00'}${'a'.repeat(999_000)}q\x000.`],
  ['is larger than its message', `(${'X\x00\x10\x00\x00'}${'a'.repeat(4096)}q\x00${'h\x00'.repeat(100_000)}t.`],
  ['is of Python 2', `(dp1\nS'name'\np2\nI5\ns.`],
  ['ends without a value', '.'],
  ['has two values', 'NN.'],
  ['goes on after its end', 'N.N.']
])('a pickle that %s is refused', (_what, bytes) => {
  expect(() => readPickle(Buffer.from(bytes, 'latin1'))).toThrow()
})

test('arbitrary bytes give plain data or an error, and never reach a prototype', () => {
  const known = '(.NIKMJLFGVSUCTBX}])dltaesupqrghj\n0123\x80\x85\x88\x8a\x8c\x94\x95\x00\x01\x04a'
  const opcodes = fc.constantFrom(...known.split(''))
  fc.assert(
    fc.property(fc.array(opcodes, { maxLength: 60 }), (codes) => {
      try {
        JSON.stringify(readPickle(Buffer.from(codes.join(''), 'latin1')))
      } catch (error) {
        expect(error).toBeInstanceOf(Error)
      }
    }),
    { numRuns: 5_000 }
  )
  const named = `(V__proto__\n(Vpolluted\nI01\ndd.`
  expect(Object.keys(readPickle(Buffer.from(named)) as object)).toEqual(['__proto__'])
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})
