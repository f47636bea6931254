import { z } from 'zod'

/** Single values that belong to no noun, stored as JSON and parsed by schema. Anything but a scalar is a noun. */
export const SETTINGS = {
  /** Nothing is sent until dispatch is resumed. */
  paused: z.boolean(),
  /** The local node's slots in the last configuration file read. */
  'local.configuredSlots': z.number().int()
}

export type SettingKey = keyof typeof SETTINGS
export type SettingValue<Key extends SettingKey> = z.infer<(typeof SETTINGS)[Key]>
