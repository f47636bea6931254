import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Makes metrics whose names begin with `prefix` and `_`, in a registry of their own. */
export class NamedMetrics {
  protected readonly registry = new Registry()
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  protected gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name: this.#named(name), help, labelNames, registers: [this.registry] })
  }

  protected counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name: this.#named(name), help, labelNames, registers: [this.registry] })
  }

  protected histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name: this.#named(name), help, buckets, registers: [this.registry] })
  }

  #named(name: string): string {
    return `${this.#prefix}_${name}`
  }
}
