import { expect, test } from 'vitest'
import { pullingSetup } from './pulling-setup.ts'

test('plain HTTP to another machine needs explicit consent, and nothing else does', () => {
  const configurationFor = (address: string) => pullingSetup({ address, token: 'sdn_x' }).configuration
  expect(configurationFor('https://deck.example')).toContain('url = https://deck.example/\ntoken_file')
  expect(configurationFor('http://deck.example:8080/base')).toContain('url = http://deck.example:8080/base/')
  const isAllowed = (address: string) => configurationFor(address).includes('allow_http = on')
  expect(['http://deck.example', 'http://127.0.0.1.example:1'].map(isAllowed)).toEqual([true, true])
  expect(['https://deck.example', 'http://127.0.0.1:6800', 'http://localhost'].map(isAllowed)).toEqual([
    false,
    false,
    false
  ])
})

test('the token is only in the commands', () => {
  const { commands, configuration } = pullingSetup({ address: 'https://deck.example', token: 'sdn_x' })
  expect(commands).toContain("echo 'sdn_x'")
  expect(configuration).not.toContain('sdn_x')
})
