export class Heap<Item> {
  readonly #items: Item[]
  readonly #goesBefore: (one: Item, other: Item) => boolean

  constructor(items: Item[], goesBefore: (one: Item, other: Item) => boolean) {
    this.#items = items
    this.#goesBefore = goesBefore
    for (let index = (items.length >> 1) - 1; index >= 0; index -= 1) this.#sink(index)
  }

  get size(): number {
    return this.#items.length
  }

  first(): Item | undefined {
    return this.#items[0]
  }

  push(item: Item): void {
    const items = this.#items
    let index = items.push(item) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#goesBefore(items[index]!, items[parent]!)) return
      this.#swap(index, parent)
      index = parent
    }
  }

  removeFirst(): Item | undefined {
    const first = this.#items[0]
    const last = this.#items.pop()
    if (this.#items.length > 0) {
      this.#items[0] = last!
      this.#sink(0)
    }
    return first
  }

  /** Call this after the first item has changed and may belong further down. */
  sinkFirst(): void {
    this.#sink(0)
  }

  #sink(start: number): void {
    const items = this.#items
    let index = start
    for (;;) {
      const left = 2 * index + 1
      if (left >= items.length) return
      const right = left + 1
      const child = right < items.length && this.#goesBefore(items[right]!, items[left]!) ? right : left
      if (!this.#goesBefore(items[child]!, items[index]!)) return
      this.#swap(index, child)
      index = child
    }
  }

  #swap(one: number, other: number): void {
    const item = this.#items[one]!
    this.#items[one] = this.#items[other]!
    this.#items[other] = item
  }
}
