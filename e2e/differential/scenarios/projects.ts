import { archive, brokenEgg, damagedEgg, oddEggs, reporterEgg, talkingEgg } from '../eggs.ts'
import { get, post, postForm, postMultipart, type Request } from '../http.ts'
import type { Scenario } from './scenario.ts'

function addVersion(project: string, version: string, egg: Buffer): Request {
  return postMultipart('addversion.json', [
    ['project', project],
    ['version', version],
    ['egg', egg]
  ])
}

const versionsOf = (project: string) => get(`/listversions.json?project=${encodeURIComponent(project)}`)
const spidersOf = (project: string, more = '') => get(`/listspiders.json?project=${encodeURIComponent(project)}${more}`)

function percentEncoded(bytes: Buffer): string {
  return [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

const uploads: Scenario = {
  name: 'the ways to send an egg',
  isShort: true,
  async run(pair) {
    const egg = await reporterEgg(['extra'])
    await pair.ask(get('/listprojects.json'))
    await pair.ask(addVersion('shop', '1', egg))
    await pair.ask(get('/listprojects.json'))
    await pair.ask(postForm('addversion.json', `project=shop&version=2&egg=${percentEncoded(egg)}`))
    await pair.ask(
      postMultipart('addversion.json', [
        ['egg', egg],
        ['version', '3'],
        ['project', 'shop']
      ])
    )
    await pair.ask({ ...addVersion('ignored', '4', egg), path: '/addversion.json?project=query&version=9' })
    await pair.ask(addVersion('shop', '1', await reporterEgg()))
    await pair.ask(versionsOf('shop'))
    await pair.ask(spidersOf('shop'))
    await pair.ask(spidersOf('shop', '&_version=1'))
    await pair.ask(spidersOf('shop', '&version=1'))
    await pair.ask(spidersOf('shop', '&_version='))
    await pair.ask(spidersOf('shop', '&_version=%ff'))
    await pair.ask(spidersOf('shop', '&_version=9'))
    const incomplete: Record<string, string>[] = [
      { project: 'shop' },
      { project: 'shop', version: '5' },
      { version: '5' },
      {},
      { egg: 'x' }
    ]
    for (const fields of incomplete) {
      await pair.ask(post('addversion.json', fields))
    }
    await pair.ask(postForm('addversion.json', 'project=%ff&version=1&egg=x'))
    await pair.ask(postForm('addversion.json', 'project=shop&version=%ff&egg=x'))
    await pair.ask(addVersion('shop', '6', Buffer.from('this is no zip')))
    await pair.ask(addVersion('shop', '6', Buffer.alloc(0)))
    await pair.ask(post('addversion.json', { project: 'shop', version: '6', egg: 'egg.egg' }))
    await pair.ask(versionsOf('shop'))
    await pair.ask(get('/daemonstatus.json'))
    await pair.ask(get('/'))
  }
}

const deleting: Scenario = {
  name: 'deleting versions and projects',
  async run(pair) {
    const egg = await reporterEgg()
    for (const version of ['1', '2', '1.0.1']) await pair.ask(addVersion('shop', version, egg))
    const forms: Record<string, string>[] = [
      {},
      { project: 'shop' },
      { version: '1' },
      { project: 'shop', version: '9' },
      { project: 'none', version: '1' },
      { project: 'shop', version: '1.0.1' },
      { project: 'shop', version: '1' },
      { project: 'shop', version: '1' }
    ]
    for (const fields of forms) await pair.ask(post('delversion.json', fields))
    await pair.ask(versionsOf('shop'))
    await pair.ask(post('delversion.json', { project: 'shop', version: '2' }))
    await pair.ask(get('/listprojects.json'))
    await pair.ask(versionsOf('shop'))
    await pair.ask(spidersOf('shop'))
    await pair.ask(post('delproject.json', { project: 'shop' }))
    await pair.ask(post('delproject.json', {}))
    await pair.ask(postForm('delproject.json', 'project=%ff'))
    await pair.ask(addVersion('shop', '3', egg))
    await pair.ask(post('delproject.json', { project: 'shop' }))
    await pair.ask(post('delproject.json', { project: 'shop' }))
    await pair.ask(get('/listprojects.json'))
    await pair.ask(get('/'))
  }
}

const TRAVERSALS = ['../p', 'a/b', '..', '/etc', 'a/../b', '..%2Fp', '\0', 'a\0b', './p', 'a\\b', 'p/', '/']

const traversal: Scenario = {
  name: 'project names that are paths',
  async run(pair) {
    const egg = await reporterEgg()
    for (const project of TRAVERSALS) {
      const field = { project }
      const query = encodeURIComponent(project)
      await pair.ask(get(`/listversions.json?project=${query}`))
      await pair.ask(get(`/listspiders.json?project=${query}`))
      await pair.ask(get(`/listjobs.json?project=${query}`))
      await pair.ask(get(`/status.json?job=x&project=${query}`))
      await pair.ask(post('schedule.json', { ...field, spider: 'x' }))
      await pair.ask(post('cancel.json', { ...field, job: 'x' }))
      await pair.ask(post('delversion.json', { ...field, version: '1' }))
      await pair.ask(post('delproject.json', field))
      if (!['p/', './p'].includes(project)) await pair.ask(addVersion(project, '1', egg))
    }
    await pair.ask(get('/listprojects.json'))
  }
}

const NAMES = [
  'with space',
  'per%cent',
  'ünï',
  '☃',
  'a*b',
  '[x]',
  "quo'te",
  'd"q',
  '<b>',
  'a&b;c=d',
  '-x',
  '_',
  'A',
  'a',
  'a.b',
  '.hidden'
]

const names: Scenario = {
  name: 'project and version names of all kinds',
  async run(pair) {
    const egg = await reporterEgg()
    for (const name of NAMES) {
      await pair.ask(addVersion(name, '1', egg))
      await pair.ask(versionsOf(name))
      await pair.ask(spidersOf(name))
      await pair.ask(get(`/listjobs.json?project=${encodeURIComponent(name)}`))
    }
    await pair.ask(get('/listprojects.json'))
    await pair.ask(get('/'))
    for (const name of NAMES) {
      await pair.ask(addVersion('versions', name, egg))
      await pair.ask(versionsOf('versions'))
      await pair.ask(spidersOf('versions', `&_version=${encodeURIComponent(name)}`))
    }
    for (const name of NAMES) await pair.ask(post('delversion.json', { project: 'versions', version: name }))
    for (const name of NAMES) await pair.ask(post('delproject.json', { project: name }))
  }
}

/** Lists of versions. Each is deployed as one project to compare the order and which version is the latest. */
const SPELLINGS: string[][] = [
  ['1', '2', '10', '9'],
  ['1.0', '1.10', '1.9', '2.0'],
  ['10', '1_10', '1_9', '9'],
  ['v1', 'v10', 'v9', '2'],
  ['1a1', '1b1', '1rc1', '1', '1.dev1', '1-1', '1post1', '1_r5'],
  ['r10', 'r9', 'r100'],
  ['1287453519', '1287453520', '987'],
  ['master', 'a1b2c3', 'deadbee', '1234567'],
  ['2018-01-01T00_00_00', '2017-12-31T23_59_59'],
  ['1.0', '1_0', '1-0', '1+0'],
  ['0', '00', '000', '0_0'],
  ['1e5', '1!2', '1', '2'],
  ['ABC', 'abc', 'Abc', '_abc', '-abc'],
  ['1_rc_1', '1_beta', '1_alpha_2', '1_preview', '1_dev', '1.post.2']
]

const versionOrder: Scenario = {
  name: 'the order of versions',
  async run(pair) {
    for (const [index, versions] of SPELLINGS.entries()) {
      const project = `order${index}`
      for (const version of versions) {
        await pair.ask(addVersion(project, version, await reporterEgg([`only_${version.replace(/\W/g, '_')}`])))
        await pair.ask(versionsOf(project))
      }
      // Without a version, the response lists the latest version's spiders. The spider's name identifies the
      // version.
      await pair.ask(spidersOf(project))
      for (const version of versions) await pair.ask(spidersOf(project, `&_version=${encodeURIComponent(version)}`))
    }
  }
}

const shortOrder: Scenario = {
  name: 'the order of a few versions',
  isShort: true,
  async run(pair) {
    for (const version of ['9', '10', '1rc1']) {
      await pair.ask(addVersion('order', version, await reporterEgg([`only_${version}`])))
      await pair.ask(versionsOf('order'))
      await pair.ask(spidersOf('order'))
    }
  }
}

const wheels: Scenario = {
  name: 'wheels and eggs of uncommon forms',
  isShort: true,
  async run(pair) {
    for (const [project, egg] of Object.entries(await oddEggs())) {
      await pair.ask(addVersion(project, '1', egg))
      await pair.ask(versionsOf(project))
      await pair.ask(spidersOf(project))
    }
  }
}

const branchVersions: Scenario = {
  name: 'versions that are named like branches and folders',
  isShort: true,
  async run(pair) {
    const egg = await reporterEgg()
    for (const version of ['r5-feature/x', 'a\\b', '..', '.']) {
      await pair.ask(addVersion('branches', version, egg))
      await pair.ask(versionsOf('branches'))
      await pair.ask(spidersOf('branches', `&_version=${encodeURIComponent(version)}`))
    }
    await pair.ask(spidersOf('branches', '&_version=r5-feature_x'))
    await pair.ask(post('delversion.json', { project: 'branches', version: 'r5-feature/x' }))
    await pair.ask(versionsOf('branches'))
  }
}

const badEggs: Scenario = {
  name: 'eggs that Scrapyd stores and cannot use',
  async run(pair) {
    const eggs: Record<string, Buffer> = {
      'no metadata': await archive({ 'a.py': '' }),
      'no entry point': await archive({ 'EGG-INFO/PKG-INFO': '' }),
      'no settings entry': await archive({ 'EGG-INFO/PKG-INFO': '', 'EGG-INFO/entry_points.txt': '[scrapy]\n' }),
      'no such module': await archive({
        'EGG-INFO/PKG-INFO': '',
        'EGG-INFO/entry_points.txt': '[scrapy]\nsettings = gone.settings\n'
      }),
      'failing settings': await brokenEgg(),
      'no file at all': await archive({}),
      'text before the zip': Buffer.concat([Buffer.from('#!/bin/sh\n'), await reporterEgg()]),
      'text after the zip': Buffer.concat([await reporterEgg(), Buffer.from('trailing text')]),
      'damaged metadata': await damagedEgg('EGG-INFO/PKG-INFO'),
      'half a zip': (await reporterEgg()).subarray(200),
      'only the end record': Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)])
    }
    for (const [name, egg] of Object.entries(eggs)) {
      const project = name.replaceAll(' ', '-')
      await pair.ask(addVersion(project, '1', egg))
      await pair.ask(get('/listprojects.json'))
      await pair.ask(versionsOf(project))
      await pair.ask(spidersOf(project))
      await pair.ask(post('schedule.json', { project, spider: 'report' }))
      await pair.ask(post('delversion.json', { project, version: '1' }))
      await pair.ask(post('delproject.json', { project }))
    }
    await pair.ask(addVersion('talking', '1', await talkingEgg()))
    await pair.ask(spidersOf('talking'))
    await pair.ask(addVersion('empty-version', '', await reporterEgg()))
    await pair.ask(versionsOf('empty-version'))
    await pair.ask(spidersOf('empty-version'))
    await pair.ask(get('/listprojects.json'))
  }
}

const emptyNames: Scenario = {
  name: 'an empty project name, which in Scrapyd means all eggs',
  needsOwnServers: true,
  async run(pair) {
    await pair.ask(addVersion('shop', '1', await reporterEgg()))
    for (const project of ['', '.']) {
      await pair.ask(versionsOf(project))
      await pair.ask(spidersOf(project))
      await pair.ask(get(`/listjobs.json?project=${project}`))
      await pair.ask(get(`/status.json?job=x&project=${project}`))
      await pair.ask(post('schedule.json', { project, spider: 'report' }))
      await pair.ask(post('cancel.json', { project, job: 'x' }))
      await pair.ask(post('delversion.json', { project, version: '1' }))
    }
    await pair.ask(addVersion('', '1', await reporterEgg()))
    await pair.ask(addVersion('.', '1', await reporterEgg()))
    await pair.ask(get('/listprojects.json'))
    await pair.ask(post('delproject.json', { project: '' }))
    await pair.ask(get('/listprojects.json'))
    await pair.ask(post('delproject.json', { project: '.' }))
  }
}

export const projectScenarios: Scenario[] = [
  uploads,
  deleting,
  shortOrder,
  traversal,
  names,
  versionOrder,
  wheels,
  branchVersions,
  badEggs,
  emptyNames
]
