/** Single values that belong to no noun, stored as JSON. Anything but a scalar is a noun. */
interface Settings {
  /** Nothing is sent until dispatch is resumed. */
  paused: boolean
  /** The local node's slots in the last configuration file read. */
  'local.configuredSlots': number
}

export type SettingKey = keyof Settings
export type SettingValue<Key extends SettingKey> = Settings[Key]
