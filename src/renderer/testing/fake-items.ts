import { implement } from '@orpc/server'
import { contract, type ItemCell, type ItemCondition, type ItemsFormat, type Job } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { FakeWorld } from './fake-world.ts'

const COLUMNS = [
  { name: 'name', type: 'text' },
  { name: 'price', type: 'number' },
  { name: 'currency', type: 'text' },
  { name: 'in_stock', type: 'boolean' },
  { name: 'tags', type: 'nested' },
  { name: 'url', type: 'text' },
  { name: 'description', type: 'text' }
] as const

const ADJECTIVES = ['Walnut', 'Brass', 'Folding', 'Enamel', 'Linen', 'Oak', 'Steel', 'Wicker']
const THINGS = ['desk lamp', 'kettle', 'armchair', 'bookshelf', 'rug', 'stool', 'mirror', 'clock', 'vase']

type FakeItem = Record<string, unknown>

function itemAt(at: number): FakeItem {
  const name = `${ADJECTIVES[at % ADJECTIVES.length]} ${THINGS[(at * 7) % THINGS.length]}`
  return {
    name,
    price: at % 13 === 0 ? null : Math.round(((at * 37) % 400) * 100 + 995) / 100,
    currency: ['EUR', 'USD', 'GBP'][at % 3],
    in_stock: at % 4 !== 0,
    ...(at % 3 === 0 && { tags: ['sale', THINGS[at % THINGS.length]] }),
    url: `https://shop.example/p/${1000 + at}`,
    description: `${name}, number ${at} of the spring catalogue. Ships within two days from the warehouse in Lyon.`
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function cellOf(value: unknown): ItemCell {
  if (value === undefined) return null
  const text = value === null ? '' : textOf(value)
  const type =
    value === null ? 'null' : typeof value === 'object' ? 'nested' : typeof value === 'string' ? 'text' : typeof value
  return { type: type as NonNullable<ItemCell>['type'], text: text.slice(0, 200), isCut: text.length > 200 }
}

function meets(item: FakeItem, { field, operator, value }: ItemCondition): boolean {
  const text = item[field] == null ? '' : textOf(item[field])
  const lower = value.toLowerCase()
  if (operator === 'empty') return text === ''
  if (operator === 'not empty') return text !== ''
  if (operator === 'is') return text === value
  if (operator === 'is not') return text !== value
  if (operator === 'contains') return text.toLowerCase().includes(lower)
  if (operator === 'starts with') return text.toLowerCase().startsWith(lower)
  return text !== '' && (operator === 'greater' ? Number(text) > Number(value) : Number(text) < Number(value))
}

export function createFakeItems({ jobOf, itemsEngine }: FakeWorld) {
  const os = implement(contract)
  const exported = new Map<string, string>()
  const itemsOf = (id: string): { job: Job; items: { index: number; item: FakeItem }[] } => {
    const job = jobOf(id)
    if (job.startedAtMs === null || (job.items ?? 0) === 0) {
      const yet = job.state === 'ended' ? '' : ' yet'
      const text = `Job ${id} has no items${yet} that can be read: its run wrote none, or its node keeps none.`
      throw new ScrapdeckError('ITEMS_NOT_FOUND', text)
    }
    return { job, items: Array.from({ length: job.items! }, (_, index) => ({ index, item: itemAt(index) })) }
  }
  const requireDuckdb = () => {
    if (itemsEngine === 'duckdb') return
    throw new ScrapdeckError('ITEMS_NEED_DUCKDB', 'This needs DuckDB, which is not available here.')
  }
  const select = (items: { index: number; item: FakeItem }[], filter: ItemCondition[]) =>
    items.filter(({ item }) => filter.every((condition) => meets(item, condition)))

  return {
    describe: os.items.describe.handler(({ input }) => {
      const { job, items } = itemsOf(input.jobId)
      return {
        attemptNumber: 1,
        from: job.nodeId === 'local' ? ('local' as const) : ('node' as const),
        nodeId: job.nodeId,
        format: 'jsonl' as const,
        sizeBytes: items.length * 312,
        copiedBytes: items.length * 312,
        mayGrow: job.state !== 'ended',
        columns: [...COLUMNS],
        hasMoreFields: false,
        items: items.length,
        unreadable: 0,
        endsInside: false,
        engine: itemsEngine,
        engineProblem: itemsEngine === 'duckdb' ? null : 'The desktop app does not load DuckDB'
      }
    }),
    page: os.items.page.handler(({ input }) => {
      const { sort, columns = COLUMNS.map(({ name }) => name), offset, limit } = input
      const chosen = select(itemsOf(input.jobId).items, input.filter)
      if (sort !== undefined) {
        requireDuckdb()
        const rank = (value: unknown) => (typeof value === 'number' ? value : Number.POSITIVE_INFINITY)
        const sign = sort.descending ? -1 : 1
        chosen.sort((one, other) => {
          const [a, b] = [one.item[sort.field], other.item[sort.field]]
          if (a == null || b == null) return Number(a == null) - Number(b == null)
          return sign * (rank(a) - rank(b) || textOf(a).localeCompare(textOf(b)))
        })
      }
      const rows = chosen
        .slice(offset, offset + limit)
        .map(({ index, item }) => ({ index, cells: columns.map((name) => cellOf(item[name])) }))
      return { columns, rows, nextOffset: offset + limit < chosen.length ? offset + limit : null }
    }),
    read: os.items.read.handler(({ input: { jobId, index } }) => {
      const found = itemsOf(jobId).items[index]
      if (found === undefined) throw new ScrapdeckError('ITEMS_NOT_FOUND', `Job ${jobId} has no item ${index}.`)
      return { index, text: JSON.stringify(found.item, null, 2), isCut: false, isReadable: true }
    }),
    fieldStatistics: os.items.fieldStatistics.handler(({ input: { jobId, field } }) => {
      requireDuckdb()
      const { items } = itemsOf(jobId)
      const texts = items.flatMap(({ item }) => (item[field] == null ? [] : [textOf(item[field])]))
      const numbers = texts.map(Number).filter(Number.isFinite)
      const counts = Map.groupBy(texts, (text) => text)
      const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
      const lengths = texts.map(({ length }) => length)
      return {
        field,
        items: items.length,
        unreadable: 0,
        filled: texts.length,
        distinct: counts.size,
        numbers:
          numbers.length === 0
            ? null
            : { count: numbers.length, min: Math.min(...numbers), max: Math.max(...numbers), mean: mean(numbers) },
        length:
          texts.length === 0 ? null : { min: Math.min(...lengths), max: Math.max(...lengths), mean: mean(lengths) },
        top: [...counts]
          .map(([value, { length: count }]) => ({ value, count }))
          .sort((one, other) => other.count - one.count)
          .slice(0, 20)
      }
    }),
    diff: os.items.diff.handler(({ input: { jobId, before, key } }) => {
      requireDuckdb()
      const [one, other] = [itemsOf(before).items.length, itemsOf(jobId).items.length]
      const changed = key === undefined ? null : Math.floor(Math.min(one, other) / 40)
      return {
        before: { jobId: before, items: one, unreadable: 0 },
        after: { jobId, items: other, unreadable: 0 },
        fields: COLUMNS.map(({ name }) => ({
          name,
          before: name === 'in_stock' ? null : one,
          after: name === 'price' ? Math.floor(other * 0.92) : other
        })),
        added: Math.max(0, other - one),
        removed: Math.max(0, one - other),
        changed,
        same: Math.min(one, other) - (changed ?? 0),
        repeatedKeys: key === undefined ? null : 0,
        examples: { added: ['Oak rug'], removed: ['Brass kettle'], changed: changed === null ? [] : ['Linen armchair'] }
      }
    }),
    export: os.items.export.handler(async function* ({ input: { jobId, format, filter } }) {
      if (format === 'parquet') requireDuckdb()
      const items = select(itemsOf(jobId).items, filter).map(({ item }) => item)
      yield { share: 0, file: null }
      const id = (exported.size + 1).toString(16).padStart(32, '0')
      const text = write(items, format)
      exported.set(id, text)
      yield {
        share: 1,
        file: { id, name: `items-${jobId}.${format}`, sizeBytes: text.length, items: items.length }
      }
    }),
    readExport: os.items.readExport.handler(({ input: { id, offset } }) => {
      const text = exported.get(id)
      if (text === undefined) throw new ScrapdeckError('NOT_FOUND', 'This export no longer exists. Export again.')
      return { offset, nextOffset: null, base64: btoa(String.fromCharCode(...new TextEncoder().encode(text))) }
    })
  }
}

function write(items: FakeItem[], format: ItemsFormat): string {
  if (format === 'json') return JSON.stringify(items)
  if (format === 'csv') return `name,price\n${items.map(({ name, price }) => `${name},${price ?? ''}`).join('\n')}\n`
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}
