import { z } from 'zod'

const DnsName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'Use the name of a Kubernetes object: lower-case letters, digits, - and .')
const Quantity = z
  .string()
  .max(40)
  .regex(/^\d+(\.\d+)?(m|k|Ki|[MGTPE]i?)?$/, 'Write a quantity of Kubernetes, such as 500m or 512Mi')

/** Pod settings. The node's settings apply to fields that a project does not set. */
export const PodSettings = z.object({
  /** The image must contain Python as `python3`, with Scrapy. */
  image: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[^\s]+$/, 'An image reference contains no spaces')
    .optional(),
  /** The project's settings module, if the image contains the project's code. If set, no egg is fetched. */
  settingsModule: z
    .string()
    .max(200)
    .regex(/^[A-Za-z_][\w.]*$/, 'Write the name of a Python module')
    .optional(),
  cpu: Quantity.optional(),
  memory: Quantity.optional(),
  serviceAccount: DnsName.optional(),
  /** Secrets whose entries become environment variables of the spider. */
  envSecrets: z.array(DnsName).max(20).optional(),
  pullSecrets: z.array(DnsName).max(20).optional()
})
export type PodSettings = z.infer<typeof PodSettings>

const FilePath = z
  .string()
  .min(1)
  .max(4_000)
  .refine((path) => path.startsWith('/') && !path.includes('\0'), 'Write an absolute path')

/** The settings of a Kubernetes node. They contain no secrets. */
export const KubernetesSettings = z.object({
  /** Read every 30 s, because Kubernetes replaces these tokens; null: the token that was entered as the password. */
  tokenFile: FilePath.nullable().default(null),
  /**
   * The CA of the API server, read together with the token; null: the node's certificate, otherwise the system's CAs.
   */
  caFile: FilePath.nullable().default(null),
  /** The address at which pods reach this Scrapdeck to fetch eggs; null: every image contains its project. */
  engineUrl: z
    .string()
    .max(2_000)
    .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, 'Write an address with http:// or https://')
    .nullable()
    .default(null),
  graceSeconds: z.number().int().min(1).max(3_600).default(30),
  /** The ResourceQuota that limits concurrent pods if the number of slots is not set. */
  quota: DnsName.nullable().default(null),
  pod: PodSettings.default({}),
  projects: z
    .record(z.string().min(1).max(200), PodSettings)
    .refine((projects) => Object.keys(projects).length <= 1_000, 'At most 1,000 projects')
    .default({})
})
export type KubernetesSettings = z.infer<typeof KubernetesSettings>
