/** Single values that belong to no noun, stored as JSON. Anything but a scalar must be a noun. */
const SETTINGS = {
  paused: 'boolean',
  /** The local node's slots in the configuration file, when it was last read. */
  'local.configuredSlots': 'number',
  /** Among several engines on one database, the engine whose local node has, or had, the runs. */
  'local.engine': 'string',
  /** Also written beside shared blobs, so that no other store claims them and deletes blobs that it does not know. */
  'blobs.owner': 'string',
  /** `MARK PATH` of the last shared blob directory: another mark means another directory. */
  'blobs.directory': 'string',
  /** Ids of the keys that seal stored files, newest first; `plain`: some may not be sealed (encryption-keys.ts). */
  'encryption.keys': 'string',
  'encryption.sealedAtMs': 'number',
  /** Random; distinguishes this database's answers in a shared cache. */
  'cache.identity': 'number',
  'audit.syslogSeq': 'number',
  /** All earlier sessions of users and the owner are invalid, also on engines that list them. */
  'sessions.sinceMs': 'number',
  /** Encrypted; signs the links with which pods fetch eggs. */
  'kubernetes.linkKey': 'string'
} as const

interface Types {
  boolean: boolean
  number: number
  string: string
}

export type SettingKey = keyof typeof SETTINGS
export type SettingValue<Key extends SettingKey> = Types[(typeof SETTINGS)[Key]]

/** Throws if the value is not of the setting's type. */
export function checkSetting<Key extends SettingKey>(key: Key, value: unknown): SettingValue<Key> {
  if (typeof value !== SETTINGS[key]) throw new TypeError(`The setting ${key} is not a ${SETTINGS[key]}`)
  return value as SettingValue<Key>
}
