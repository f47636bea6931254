import type { Environment, StartMode, UsageSample } from '../../shared/contract/index.ts'
import { aProjectName } from '../../shared/testing/ids.ts'
import { say, writtenAs, written } from '../../shared/texts/message.ts'

export const WARM: StartMode = { mode: 'warm', ...written(say('start.warm')) }
export const COLD: StartMode = { mode: 'cold', ...written(say('start.cold')) }

const SAMPLE_EVERY_MS = 2000
const SAMPLES_MAX = 900

export function fakeUsage(jobId: string, startedAtMs: number, untilMs: number): UsageSample[] {
  const phase = Number.parseInt(jobId.slice(-6), 16) % 97
  const count = Math.min(SAMPLES_MAX, Math.max(1, Math.floor((untilMs - startedAtMs) / SAMPLE_EVERY_MS)))
  return Array.from({ length: count }, (_, index) => {
    const atMs = untilMs - (count - 1 - index) * SAMPLE_EVERY_MS
    const second = Math.floor((atMs - startedAtMs) / 1000)
    const climb = 70e6 + 90e6 * (1 - Math.exp(-second / 240)) + ((second + phase * 7) % 420) * 1.1e5
    const burst = 0.32 + 0.22 * Math.sin((second + phase * 3) / 37) + 0.12 * Math.sin((second + phase) / 5)
    return {
      atMs,
      memoryBytes: Math.round(climb),
      cpuShare: Math.max(0.01, second < 6 ? 0.95 : burst),
      processes: 1 + (phase % 3 === 0 ? 2 : 0)
    }
  })
}

const NO_SHAPELY = say('build.no_packages', { why: 'No matching distribution found for shapely==2.9' })

/** The main environment, one in use, one that failed, and an unused one. */
export function fakeEnvironments(nowMs: number): Environment[] {
  const made = { state: 'ready', progress: null, problem: null, hasLog: true } as const
  return [
    {
      ...made,
      id: 'main',
      kind: 'main',
      path: '.venv/bin/python',
      version: '3.13.2',
      scrapyVersion: '2.13.3',
      projects: [aProjectName('prices'), aProjectName('jobs')],
      start: WARM,
      madeAtMs: nowMs - 12 * 86_400_000
    },
    {
      ...made,
      id: '7be1f0c2a94d',
      kind: 'requirements',
      path: 'environments/7be1f0c2a94d/bin/python',
      version: '3.13.2',
      scrapyVersion: '2.13.3',
      projects: [aProjectName('news')],
      start: { mode: 'warming', ...written(say('start.warming')) },
      madeAtMs: nowMs - 3 * 86_400_000
    },
    {
      id: 'c05d2e8817ab',
      kind: 'requirements',
      state: 'failed',
      path: null,
      version: null,
      scrapyVersion: null,
      projects: [aProjectName('maps')],
      start: COLD,
      ...writtenAs('problem', say('build.failed', { why: NO_SHAPELY, isServing: false })),
      progress: null,
      hasLog: true,
      madeAtMs: null
    },
    {
      ...made,
      id: '19ac44de0b73',
      kind: 'interpreter',
      path: '/opt/python3.11/bin/python3',
      version: '3.11.9',
      scrapyVersion: '2.11.2',
      projects: [],
      start: { mode: 'cold', ...written(say('start.first')) },
      hasLog: false,
      madeAtMs: nowMs - 40 * 86_400_000
    }
  ]
}

export const BUILD_LOG = `$ python3.13 -m venv environments/7be1f0c2a94d
$ environments/7be1f0c2a94d/bin/python -m pip install -r requirements.txt
Collecting scrapy==2.13.3
  Downloading scrapy-2.13.3-py3-none-any.whl (321 kB)
Collecting itemloaders>=1.0.1
  Downloading itemloaders-1.3.2-py3-none-any.whl (12 kB)
Collecting twisted>=21.7.0
  Downloading twisted-25.5.0-py3-none-any.whl (3.2 MB)
Collecting lxml>=4.6.4
  Downloading lxml-6.0.2-cp313-cp313-manylinux_2_28_x86_64.whl (5.2 MB)
Collecting feedparser==6.0.12
  Downloading feedparser-6.0.12-py3-none-any.whl (81 kB)
Installing collected packages: twisted, lxml, itemloaders, feedparser, scrapy
Successfully installed feedparser-6.0.12 itemloaders-1.3.2 lxml-6.0.2 scrapy-2.13.3 twisted-25.5.0
$ environments/7be1f0c2a94d/bin/python -c "import scrapy"
Scrapy 2.13.3 on Python 3.13.2
`
