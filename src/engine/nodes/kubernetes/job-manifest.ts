import { createHash } from 'node:crypto'
import type { KubernetesSettings, PodSettings } from '../../../shared/contract/index.ts'
import type { ScheduleRequest } from '../node-client.ts'

/** The label of this node's Jobs and pods. Node ids are unique across all installations of Scrapdeck. */
export const NODE_LABEL = 'scrapdeck.dev/node'
/** The annotation with the project, spider and jobid of a run. Labels cannot contain arbitrary text. */
export const RUN_ANNOTATION = 'scrapdeck.dev/run'
/** The finalizer that keeps an ended pod and its log until the log is archived, even if the Job is deleted. */
export const FINALIZER = 'scrapdeck.dev/archive'
export const MAIN_CONTAINER = 'spider'
export const INIT_CONTAINER = 'egg'

const DIRECTORY = '/scrapdeck'

export interface ManifestParts {
  nodeId: string
  settings: KubernetesSettings
  request: ScheduleRequest
  /** null: the image contains the project. */
  egg: { url: string; sha256: string } | null
}

/**
 * The name of a run's Job. It depends only on the run, so a repeated request cannot start the run twice. A jobid can be
 * too long for a Job name, so a shortened jobid keeps the name readable and a hash makes it unique.
 */
export function jobNameOf({ project, jobid }: Pick<ScheduleRequest, 'project' | 'jobid'>): string {
  const hash = createHash('sha256').update(`${project}\n${jobid}`).digest('hex').slice(0, 20)
  const readable = jobid
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 32)
    .replace(/^-+|-+$/g, '')
  return readable === '' ? `run-${hash}` : `run-${readable}-${hash}`
}

export function podSettingsOf({ pod, projects }: KubernetesSettings, project: string): PodSettings {
  return { ...pod, ...(Object.hasOwn(projects, project) ? projects[project] : {}) }
}

/** `longestBytes`: the size of the longest variable. `secret` null: the run has no secret values. */
export function manifestsOf(parts: ManifestParts): { job: Manifest; secret: Manifest | null; longestBytes: number } {
  const { nodeId, settings, request, egg } = parts
  const { project, spider, jobid, version } = request
  const pod = podSettingsOf(settings, project)
  const name = jobNameOf(request)
  const { plain, secrets } = split(request)
  const run = { spider, settingsModule: pod.settingsModule ?? null, ...plain }
  const metadata = {
    labels: { [NODE_LABEL]: nodeId, 'app.kubernetes.io/managed-by': 'scrapdeck' },
    annotations: { [RUN_ANNOTATION]: JSON.stringify({ project, spider, jobid, version, hasSecret: secrets !== null }) }
  }
  const volume = { name: 'scrapdeck', mountPath: DIRECTORY }
  const resources = {
    requests: { ...(pod.cpu && { cpu: pod.cpu }), ...(pod.memory && { memory: pod.memory }) },
    ...(pod.memory && { limits: { memory: pod.memory } })
  }
  const common = {
    image: (pod.image ?? '').replaceAll('{version}', version.replace(/[^\w.-]/g, '_')),
    securityContext: { allowPrivilegeEscalation: false },
    resources
  }
  const inDirectory = { name: 'SCRAPDECK_DIRECTORY', value: DIRECTORY }
  const spec = {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: settings.graceSeconds,
    automountServiceAccountToken: pod.serviceAccount !== undefined,
    ...(pod.serviceAccount && { serviceAccountName: pod.serviceAccount }),
    ...(pod.pullSecrets && { imagePullSecrets: pod.pullSecrets.map((one) => ({ name: one })) }),
    volumes: [{ name: volume.name, emptyDir: {} }],
    ...(egg !== null && {
      initContainers: [
        {
          ...common,
          name: INIT_CONTAINER,
          command: ['python3', '-c', FETCH_EGG],
          env: [
            inDirectory,
            { name: 'SCRAPDECK_EGG_URL', value: egg.url },
            { name: 'SCRAPDECK_EGG_SHA256', value: egg.sha256 }
          ],
          volumeMounts: [volume]
        }
      ]
    }),
    containers: [
      {
        ...common,
        name: MAIN_CONTAINER,
        command: ['python3', '-c', RUN_SPIDER],
        env: [
          { name: 'PYTHONUNBUFFERED', value: '1' },
          inDirectory,
          { name: 'SCRAPDECK_RUN', value: withoutReferences(JSON.stringify(run)) },
          ...(secrets === null
            ? []
            : [{ name: 'SCRAPDECK_SECRETS', valueFrom: { secretKeyRef: { name, key: 'values' } } }])
        ],
        ...(pod.envSecrets && { envFrom: pod.envSecrets.map((one) => ({ secretRef: { name: one } })) }),
        volumeMounts: [volume]
      }
    ]
  }
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, ...metadata },
    spec: {
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      template: { metadata: { ...metadata, finalizers: [FINALIZER] }, spec }
    }
  }
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: metadata.labels },
    immutable: true,
    stringData: { values: JSON.stringify(secrets) }
  }
  const longestBytes = Math.max(...[run, secrets].map((values) => Buffer.byteLength(JSON.stringify(values))))
  return { job, secret: secrets === null ? null : secret, longestBytes }
}

export interface Manifest {
  kind: string
  metadata: { name: string }
}

type Values = Pick<ScheduleRequest, 'settings' | 'args'> & { env: Record<string, string> }

function split(request: ScheduleRequest): { plain: Values; secrets: Values | null } {
  const { settings, secretNames, jobid, version, isVersionAsked } = request
  const args = { _job: jobid, ...request.args, ...(isVersionAsked ? { _version: version } : {}) }
  const all: Values = { settings, args, env: request.env ?? {} }
  const names = new Set(secretNames)
  const part = (isSecret: boolean): Values => {
    const pick = (values: Record<string, string>) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name) === isSecret))
    return { settings: pick(all.settings), args: pick(all.args), env: pick(all.env) }
  }
  const secrets = part(true)
  const hasSecrets = Object.values(secrets).some((values) => Object.keys(values).length > 0)
  return { plain: part(false), secrets: hasSecrets ? secrets : null }
}

/** Kubernetes expands `$(NAME)` in variables and turns `$$` into `$`. */
function withoutReferences(text: string): string {
  return text.replaceAll('$', '$$$$')
}

/**
 * The two Python programs of a pod. They are as short as possible because every Job contains them and every list
 * repeats them. The image supplies Python 3.8 or later and Scrapy.
 */

/** Init container: fetches and verifies the egg. Retries for several minutes while the engine does not respond. */
const FETCH_EGG = `import hashlib,os,sys,time,urllib.error,urllib.request
path=os.path.join(os.environ["SCRAPDECK_DIRECTORY"],"project.egg")
problem=None
for wait in (1,2,4,8,15,30,30,30,30,0):
 try:
  digest=hashlib.sha256()
  with urllib.request.urlopen(os.environ["SCRAPDECK_EGG_URL"],timeout=60) as answer,open(path+".part","wb") as file:
   for piece in iter(lambda:answer.read(65536),b""):
    digest.update(piece)
    file.write(piece)
  if digest.hexdigest()!=os.environ["SCRAPDECK_EGG_SHA256"]:
   sys.exit("Scrapdeck sent another egg than the one of this run")
  os.replace(path+".part",path)
  sys.exit(0)
 except urllib.error.HTTPError as error:
  problem=error
  if error.code in (403,404):
   break
 except OSError as error:
  problem=error
 time.sleep(wait)
sys.exit("The egg cannot be fetched from Scrapdeck: %s"%problem)
`

/** Main container: runs the spider, logs to stderr and masks secret values. */
const RUN_SPIDER = `import json,os,sys
run=json.loads(os.environ.pop("SCRAPDECK_RUN"))
hidden=json.loads(os.environ.pop("SCRAPDECK_SECRETS","{}"))
for name in ("settings","args","env"):
 run[name].update(hidden.get(name,{}))
directory=os.environ.pop("SCRAPDECK_DIRECTORY")
os.environ.update(run["env"])
values=sorted({v for part in hidden.values() for v in part.values() if len(v)>3},key=len,reverse=True)
if values:
 import logging
 plain=logging.Handler.format
 def masked(self,record):
  text=plain(self,record)
  for value in values:
   text=text.replace(value,"\\u2022"*6)
  return text
 logging.Handler.format=masked
if run["settingsModule"]:
 sys.path.insert(0,os.getcwd())
 os.environ["SCRAPY_SETTINGS_MODULE"]=run["settingsModule"]
else:
 import re,zipfile
 egg=os.path.join(directory,"project.egg")
 sys.path.insert(0,egg)
 with zipfile.ZipFile(egg) as archive:
  names=archive.namelist()
  tops=[n.split("/")[0] for n in names if re.match(r"[^/]+\\.(dist|egg)-info/",n,re.I)]
  top="EGG-INFO" if "EGG-INFO/PKG-INFO" in names else tops[0]
  text=archive.read(top+"/entry_points.txt").decode()
 section=None
 for line in map(str.strip,text.splitlines()):
  if line[:1]=="[":
   section=line[1:-1].strip()
  elif section=="scrapy" and line.split("=")[0].strip()=="settings":
   os.environ["SCRAPY_SETTINGS_MODULE"]=re.split(r"[:\\[]",line.split("=",1)[1])[0].strip()
class Plain(str):
 def __getitem__(self,index):
  return "." if index==0 else super().__getitem__(index)
word=lambda text:Plain(text) if text.startswith("-") else text
argv=["scrapy","crawl",word(run["spider"])]
for flag,part in (("-s","settings"),("-a","args")):
 for name,value in run[part].items():
  argv+=[flag,word(name+"="+value)]
from scrapy.cmdline import execute
execute(argv)
`
