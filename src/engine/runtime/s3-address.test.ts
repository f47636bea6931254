import { describe, expect, test } from 'vitest'
import { encryptionHeaders, parseS3Address, s3Url } from './s3-address.ts'

describe('the address of blobs on S3', () => {
  test.each([
    ['s3://crawls', 'eu-west-1', 'https://crawls.s3.eu-west-1.amazonaws.com/eggs/x'],
    ['s3://crawls/a/b/?region=eu-west-1', 'eu-west-1', 'https://crawls.s3.eu-west-1.amazonaws.com/a/b/eggs/x'],
    ['s3://crawls/a?endpoint=https://s3.example:9000', 'x', 'https://s3.example:9000/crawls/a/eggs/x'],
    ['s3://crawls?endpoint=http://[::1]:9000/', 'x', 'http://[::1]:9000/crawls/eggs/x'],
    ['s3://crawls?endpoint=https://r2.example&style=virtual', 'auto', 'https://crawls.r2.example/eggs/x'],
    ['s3://my.crawls', 'us-east-1', 'https://s3.us-east-1.amazonaws.com/my.crawls/eggs/x'],
    ['s3://crawls', 'cn-north-1', 'https://crawls.s3.cn-north-1.amazonaws.com.cn/eggs/x']
  ])('%s, in the region %s', (text, region, url) => {
    const address = parseS3Address(text)
    expect(s3Url(address, region, `${address.prefix}eggs/x`).href).toBe(url)
  })

  test.each([
    ['s3://', 'is not the name of a bucket'],
    ['https://crawls', 'is not an S3 address'],
    ['s3://UPPER/x', 'is not the name of a bucket'],
    ['s3://key:secret@crawls/x', 'must not contain credentials'],
    ['s3://crawls/../x', 'prefix'],
    ['s3://crawls/a//b', 'prefix'],
    [`s3://crawls/${'a'.repeat(500)}`, 'prefix'],
    ['s3://crawls?endpoint=ftp://x', 'not an http or https URL'],
    ['s3://crawls?endpoint=https://a:b@x', 'must not contain credentials'],
    ['s3://crawls?endpoint=https://x/path', 'consists only of scheme, host and port'],
    ['s3://crawls?secret=x', 'no parameter "secret"'],
    ['s3://crawls?region=eu_west', 'not the name of a region'],
    ['s3://crawls?style=other', 'style is path or virtual'],
    ['s3://crawls?sse=des', 'sse is one of AES256'],
    ['s3://crawls?sse_key=mine', 'sse is one of AES256'],
    ['s3://crawls?sse=AES256&sse_key=mine', 'sse_key is the id or ARN'],
    ['s3://crawls?sse=aws:kms&sse_key=a%0Ab', 'sse_key is the id or ARN']
  ])('%s is refused', (text, why) => {
    expect(() => parseS3Address(text)).toThrow(why)
  })

  test('requests encryption by the server with headers', () => {
    const headers = (query: string) => encryptionHeaders(parseS3Address(`s3://crawls${query}`))
    expect(headers('')).toEqual({})
    expect(headers('?sse=AES256')).toEqual({ 'x-amz-server-side-encryption': 'AES256' })
    const arn = 'arn:aws:kms:eu-west-1:123:key/1234-abcd'
    expect(headers(`?sse=aws:kms&sse_key=${arn}`)).toEqual({
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': arn
    })
  })
})
