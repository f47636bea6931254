import { expect, test } from 'vitest'
import { isolatedEnvironment, childEnvironment, environmentOfBuild } from './child-environment.ts'

test('spiders inherit our environment except variables of Scrapdeck and Electron, and those that choose another project', () => {
  const own = {
    PATH: '/bin',
    HTTP_PROXY: 'http://proxy',
    SCRAPDECK_PASSWORD: 'secret',
    SCRAPYD_USERNAME: 'us',
    SCRAPYD_PASSWORD: 'secret',
    scrapyd_password: 'secret on Windows',
    SCRAPYD_EGGS_DIR: 'eggs',
    ELECTRON_RUN_AS_NODE: '1',
    SCRAPY_SETTINGS_MODULE: 'other.settings',
    SCRAPY_PROJECT: 'other',
    SCRAPY_CHECK: '1',
    EMPTY: undefined
  }
  expect(childEnvironment(own)).toEqual({
    PATH: '/bin',
    HTTP_PROXY: 'http://proxy',
    SCRAPYD_EGGS_DIR: 'eggs',
    SCRAPY_CHECK: '1',
    PYTHONIOENCODING: 'UTF-8'
  })
})

test('an isolated spider inherits only what a crawl needs', () => {
  const own = {
    PATH: '/bin',
    TZ: 'UTC',
    https_proxy: 'http://p:1',
    AWS_SECRET_ACCESS_KEY: 'k',
    HOME: '/root',
    PIP_INDEX_URL: 'u'
  }
  const shared = { PATH: '/bin', TZ: 'UTC', https_proxy: 'http://p:1', PYTHONIOENCODING: 'UTF-8' }
  expect(isolatedEnvironment(own)).toEqual({ ...shared, HOME: '/' })
  expect(environmentOfBuild(own, '/b')).toEqual({ ...shared, HOME: '/b', PIP_INDEX_URL: 'u', PIP_NO_CACHE_DIR: '1' })
})
