/** Single values that belong to no noun, stored as JSON. Values that are not scalars must be nouns. */
const SETTINGS = {
  paused: 'boolean',
  /** The local node's slots in the configuration file when it was last read. */
  'local.configuredSlots': 'number',
  /** If several engines share the database: the engine whose local node has runs or was the last to have any. */
  'local.engine': 'string',
  /** Also written beside shared blobs, so that no other store claims them and deletes blobs that it does not know. */
  'blobs.owner': 'string',
  /** `MARK PATH` of the last shared blob directory. A different mark means a different directory. */
  'blobs.directory': 'string',
  /** Ids of the keys that encrypt stored files, newest first. `plain`: some files may be unencrypted. */
  'encryption.keys': 'string',
  'encryption.sealedAtMs': 'number',
  /** Random. Separates this database's responses from others in a shared cache. */
  'cache.identity': 'number',
  'audit.syslogSeq': 'number',
  /** Sessions that started earlier are invalid, including the owner's, even if an engine still lists them. */
  'sessions.sinceMs': 'number',
  /** Encrypted. Signs the links from which pods fetch eggs. */
  'kubernetes.linkKey': 'string'
} as const

interface Types {
  boolean: boolean
  number: number
  string: string
}

export type SettingKey = keyof typeof SETTINGS
export type SettingValue<Key extends SettingKey> = Types[(typeof SETTINGS)[Key]]

export function checkSetting<Key extends SettingKey>(key: Key, value: unknown): SettingValue<Key> {
  if (typeof value !== SETTINGS[key]) throw new TypeError(`The setting ${key} is not a ${SETTINGS[key]}`)
  return value as SettingValue<Key>
}
