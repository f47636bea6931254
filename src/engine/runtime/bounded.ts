/** Keeps the `max` entries that were set last. Do not set keys while iterating over the map, or the loop never ends. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly max: number

  constructor(max: number) {
    super()
    this.max = max
  }

  override set(key: K, value: V): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.max) this.delete(this.keys().next().value!)
    return this
  }
}

/** Keeps the `max` values that were added last. */
export class BoundedSet<T> extends Set<T> {
  readonly max: number

  constructor(max: number) {
    super()
    this.max = max
  }

  override add(value: T): this {
    this.delete(value)
    super.add(value)
    if (this.size > this.max) this.delete(this.values().next().value!)
    return this
  }
}
