const B='http://127.0.0.1:18787',b=s=>'Basic '+Buffer.from(s).toString('base64')
const O=b('boss:owner-very-long-pass-words'),K=b('kim:tandem river quartz lamp')
const post=(p,a,body)=>fetch(B+p,{method:'POST',headers:{authorization:a,'content-type':'application/json'},body:JSON.stringify(body)})
for(let i=0;i<0;i++){
 const r=await(await post('/api/v1/jobs/bulk',K,{jobs:Array.from({length:10000},()=>({project:'shop',spider:'x'}))})).json()
 if(!r.ids){console.log(JSON.stringify(r).slice(0,300));break}
 await(await post('/api/v1/jobs/cancel',K,{ids:r.ids,force:true})).text()
}
const probe=async(n=5)=>{const t=[];for(let i=0;i<n;i++){const a=performance.now();const r=await fetch(B+'/api/v1/jobs?limit=1',{headers:{authorization:O}});await r.text();t.push(Math.round(performance.now()-a));await new Promise(r=>setTimeout(r,250))}return t.join(' ')}
console.log('before',await probe())
const run=async(auth,label,n)=>{
 const stops=[];let ok=0,bad={};let figs=0
 for(let i=0;i<n;i++){const c=new AbortController();stops.push(c);fetch(B+'/api/v1/events',{headers:{authorization:auth},signal:c.signal}).then(async r=>{if(r.status!==200){bad[r.status]=(bad[r.status]??0)+1;return};ok++;for await(const x of r.body){figs+=(Buffer.from(x).toString().match(/"figures"/g)??[]).length}}).catch(()=>{})}
 await new Promise(r=>setTimeout(r,5000))
 console.log(label,'open',ok,JSON.stringify(bad),'figures',figs,'latencies',await probe(5))
 for(const c of stops)c.abort()
 await new Promise(r=>setTimeout(r,3000))
}
await run(O,'owner x30',30)
for(const n of [5,30,60]) await run(K,'kim x'+n,n)
