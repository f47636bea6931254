import type { OptionReader } from './option-reader.ts'
import { readNetworks } from './read-access-options.ts'
import type { ServeOptions } from './serve-options.ts'

const DEFAULT_PREFIX = 'scrapdeck'
/** A metric's name in Prometheus' data model, without colons, which are for rules. */
const PREFIX = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/

/** Whether and how /metrics is served. Names and values as in asynchronous Scrapyds' section [metrics]. */
export function readMetricsOptions(options: OptionReader): Pick<ServeOptions, 'metrics'> {
  const prefix = options.pick('scrapdeck', 'metrics_prefix') ?? options.pick('metrics', 'namespace')
  const enabled = options.pick('metrics', 'enabled')
  const from = options.pick('scrapdeck', 'metrics_from')
  const metrics = {
    prefix: prefix?.text ?? DEFAULT_PREFIX,
    isServed: enabled === null || options.isOn(enabled, 'enabled'),
    openTo: readNetworks(
      options,
      from,
      'metrics_from takes addresses and networks, such as "127.0.0.1 10.1.0.0/16"',
      'All addresses would let anybody read the names of projects, spiders and nodes.'
    )
  }
  if (!PREFIX.test(metrics.prefix)) {
    options.refuse(prefix!, `a prefix of metrics has letters, digits and _, not "${metrics.prefix}".`)
  }
  options.list('scrapdeck', 'metrics_prefix', metrics.prefix, prefix)
  options.list('scrapdeck', 'metrics_from', metrics.openTo.join(' '), from)
  options.list('metrics', 'enabled', metrics.isServed ? 'on' : 'off', enabled)
  return { metrics }
}
