import { z } from 'zod'

/** Single values that belong to no noun, kept as JSON and parsed by schema. More than a scalar is a noun. */
export const SETTINGS = {
  /** Nothing is sent until somebody resumes. */
  paused: z.boolean(),
  /** The slots of the local node that the configuration file named last. */
  'local.configuredSlots': z.number().int()
}

export type SettingKey = keyof typeof SETTINGS
export type SettingValue<Key extends SettingKey> = z.infer<(typeof SETTINGS)[Key]>
