type Plain = string | number | boolean | null | Plain[] | { [name: string]: Plain }

/** The maximum size of the pickle in bytes, and of repeated strings in characters. */
const SIZE_MAX = 1_000_000
const MARK = Symbol('mark')

/**
 * Reads plain data from a pickle of Python 3's protocols 0 to 5. Executes no code: it refuses unknown opcodes, and
 * every opcode that names or calls a class or function. Integers too large for a number become text. Throws an Error.
 */
export function readPickle(bytes: Buffer): Plain {
  const stack: (Plain | typeof MARK)[] = []
  const memo = new Map<number, Plain>()
  let at = 0
  let repeated = 0

  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw new Error('it is cut off')
    at += length
    return bytes.subarray(at - length, at)
  }
  const unsigned = (size: number) => take(size).readUIntLE(0, size)
  const unsigned8 = () => Number(take(8).readBigUInt64LE())
  const line = () => {
    const end = bytes.indexOf('\n', at)
    return take(end < 0 ? Infinity : end + 1 - at)
      .toString('latin1')
      .slice(0, -1)
  }
  const top = (): Plain => {
    const value = stack.at(-1)
    if (value === undefined || value === MARK) throw new Error('it is no whole pickle')
    return value
  }
  const pop = (): Plain => {
    const value = top()
    stack.pop()
    return value
  }
  const popMany = (count: number) => Array.from({ length: count }, pop).toReversed()
  const popToMark = () => {
    const from = stack.lastIndexOf(MARK)
    if (from < 0) throw new Error('it is no whole pickle')
    return stack.splice(from).slice(1) as Plain[]
  }
  /**
   * Refuses repeated containers, which could contain themselves, and limits repeated strings, which can expand a
   * small pickle to a huge value.
   */
  const again = (key: number): Plain => {
    const value = memo.get(key)
    if (value === undefined || (typeof value === 'object' && value !== null))
      throw new Error('it refers to one of its parts twice')
    repeated += typeof value === 'string' ? value.length : 0
    if (repeated > SIZE_MAX) throw new Error('it is too large')
    return value
  }

  const values: Record<string, () => Plain> = {
    N: () => null,
    '\x88': () => true,
    '\x89': () => false,
    I: () => written(line()),
    L: () => written(line()),
    J: () => take(4).readInt32LE(),
    K: () => unsigned(1),
    M: () => unsigned(2),
    '\x8a': () => long(take(unsigned(1))),
    '\x8b': () => long(take(unsigned(4))),
    F: () => Number(line().replace(/inf$/, 'Infinity')),
    G: () => take(8).readDoubleBE(),
    V: () => escaped(line()),
    C: () => text(take(unsigned(1))),
    '\x8c': () => text(take(unsigned(1))),
    B: () => text(take(unsigned(4))),
    X: () => text(take(unsigned(4))),
    '\x8d': () => text(take(unsigned8())),
    '\x8e': () => text(take(unsigned8())),
    '}': emptyDict,
    d: () => filled(popToMark(), emptyDict()),
    ']': () => [],
    ')': () => [],
    l: popToMark,
    t: popToMark,
    '\x85': () => popMany(1),
    '\x86': () => popMany(2),
    '\x87': () => popMany(3),
    g: () => again(Number(line())),
    h: () => again(unsigned(1)),
    j: () => again(unsigned(4))
  }
  // Arguments are evaluated left to right, so they leave the stack before `top()` reads the value below them.
  const effects: Record<string, () => unknown> = {
    '\x80': () => unsigned(1),
    '\x95': () => take(8),
    '(': () => stack.push(MARK),
    a: () => extended(popMany(1), top()),
    e: () => extended(popToMark(), top()),
    s: () => filled(popMany(2), top()),
    u: () => filled(popToMark(), top()),
    p: () => memo.set(Number(line()), top()),
    q: () => memo.set(unsigned(1), top()),
    r: () => memo.set(unsigned(4), top()),
    '\x94': () => memo.set(memo.size, top())
  }

  if (bytes.length > SIZE_MAX) throw new Error('it is too large')
  for (let opcode = ''; opcode !== '.'; ) {
    opcode = String.fromCharCode(unsigned(1))
    const [value, effect] = [values[opcode], effects[opcode]]
    if (value !== undefined) stack.push(value())
    else if (effect !== undefined) effect()
    else if (opcode !== '.')
      throw new Error(`it contains more than plain data (0x${opcode.charCodeAt(0).toString(16)})`)
  }
  if (stack.length !== 1 || at !== bytes.length) throw new Error('it is no whole pickle')
  return pop()
}

/** Has no prototype, so `__proto__` is an ordinary name. */
const emptyDict = () => Object.create(null) as Plain

function filled(entries: Plain[], dict: Plain): Plain {
  if (typeof dict !== 'object' || dict === null || Array.isArray(dict) || entries.length % 2 !== 0)
    throw new Error('it is no whole pickle')
  for (let at = 0; at < entries.length; at += 2) {
    const name = entries[at]
    if (typeof name !== 'string') throw new Error('it has a key that is not text')
    dict[name] = entries[at + 1]!
  }
  return dict
}

function extended(values: Plain[], list: Plain): void {
  if (!Array.isArray(list)) throw new Error('it is no whole pickle')
  for (const value of values) list.push(value)
}

const text = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)

/** Opcodes `I` and `L`: `01` and `00` are booleans, and long integers end with an L. */
function written(digits: string): Plain {
  if (digits === '01' || digits === '00') return digits === '01'
  if (!/^-?\d{1,4000}L?$/.test(digits)) throw new Error('it has a number that is none')
  return whole(BigInt(digits.replace('L', '')))
}

const whole = (value: bigint): Plain => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value))

/** Two's complement, lowest byte first. */
function long(bytes: Buffer): Plain {
  if (bytes.length > 1_000) throw new Error('it has a number that is too long')
  return whole(BigInt.asIntN(bytes.length * 8, BigInt(`0x0${Buffer.from(bytes).reverse().toString('hex')}`)))
}

function escaped(written: string): string {
  return written.replace(/\\u([\da-f]{4})|\\U([\da-f]{8})/g, (_all, short?: string, long?: string) =>
    String.fromCodePoint(Number.parseInt(short ?? long!, 16))
  )
}
